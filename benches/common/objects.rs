//! Containers whose objects are named by keys.

use bevy_frame_arena::{Pool, PoolKey};
use slab::Slab;
use slotmap::{DefaultKey, SlotMap};

pub(crate) type Object = [u64; 8];

pub(crate) const OBJECTS: u64 = 1000;

/// A container whose objects are named by keys.
pub(crate) trait Objects: Default {
    const NAME: &'static str;
    type Key: Copy;

    fn insert(&mut self, object: Object) -> Self::Key;
    fn remove(&mut self, key: Self::Key) -> Option<Object>;
    fn get(&self, key: Self::Key) -> Option<&Object>;
    fn sum(&self) -> u64;
}

impl Objects for Pool<Object> {
    const NAME: &'static str = "ours";
    type Key = PoolKey<Object>;

    #[inline(always)]
    fn insert(&mut self, object: Object) -> Self::Key {
        self.insert(object)
    }

    #[inline(always)]
    fn remove(&mut self, key: Self::Key) -> Option<Object> {
        self.remove(key)
    }

    #[inline(always)]
    fn get(&self, key: Self::Key) -> Option<&Object> {
        self.get(key)
    }

    #[inline(always)]
    fn sum(&self) -> u64 {
        self.iter().map(|(_, object)| object[0]).sum()
    }
}

impl Objects for SlotMap<DefaultKey, Object> {
    const NAME: &'static str = "slotmap";
    type Key = DefaultKey;

    #[inline(always)]
    fn insert(&mut self, object: Object) -> Self::Key {
        self.insert(object)
    }

    #[inline(always)]
    fn remove(&mut self, key: Self::Key) -> Option<Object> {
        self.remove(key)
    }

    #[inline(always)]
    fn get(&self, key: Self::Key) -> Option<&Object> {
        self.get(key)
    }

    #[inline(always)]
    fn sum(&self) -> u64 {
        self.values().map(|object| object[0]).sum()
    }
}

impl Objects for thunderdome::Arena<Object> {
    const NAME: &'static str = "thunderdome";
    type Key = thunderdome::Index;

    #[inline(always)]
    fn insert(&mut self, object: Object) -> Self::Key {
        self.insert(object)
    }

    #[inline(always)]
    fn remove(&mut self, key: Self::Key) -> Option<Object> {
        self.remove(key)
    }

    #[inline(always)]
    fn get(&self, key: Self::Key) -> Option<&Object> {
        self.get(key)
    }

    #[inline(always)]
    fn sum(&self) -> u64 {
        self.iter().map(|(_, object)| object[0]).sum()
    }
}

impl Objects for Slab<Object> {
    const NAME: &'static str = "slab (stale keys resolve)";
    type Key = usize;

    #[inline(always)]
    fn insert(&mut self, object: Object) -> Self::Key {
        self.insert(object)
    }

    #[inline(always)]
    fn remove(&mut self, key: Self::Key) -> Option<Object> {
        self.try_remove(key)
    }

    #[inline(always)]
    fn get(&self, key: Self::Key) -> Option<&Object> {
        self.get(key)
    }

    #[inline(always)]
    fn sum(&self) -> u64 {
        self.iter().map(|(_, object)| object[0]).sum()
    }
}
