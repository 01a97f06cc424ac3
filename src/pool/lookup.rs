//! Finding the value of a key.
#![forbid(unsafe_code)]

use std::ops::{Index, IndexMut};

use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec;

use super::block::{Slot, block_slots};
use super::{Pool, PoolKey};

impl<T, A: Allocator + Clone> Pool<T, A> {
    /// Returns the value of a key, or `None` if it is stale.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// assert_eq!(pool.get(key), Some(&7));
    /// assert_eq!(Pool::new().get(key), None);
    /// ```
    #[inline]
    pub fn get(&self, key: PoolKey<T>) -> Option<&T> {
        let index = key.slot as usize;
        let block = self.blocks.get(index / block_slots::<T>())?;
        match block.get(index % block_slots::<T>())? {
            Slot::Taken { stamp, value } if *stamp == key.stamp => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a key to change it, or `None` if it is stale.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// if let Some(value) = pool.get_mut(key) {
    ///     *value += 1;
    /// }
    /// assert_eq!(pool[key], 8);
    /// ```
    #[inline]
    pub fn get_mut(&mut self, key: PoolKey<T>) -> Option<&mut T> {
        match slot_mut(&mut self.blocks, key.slot)? {
            Slot::Taken { stamp, value } if *stamp == key.stamp => Some(value),
            _ => None,
        }
    }

    /// Returns whether the pool has a value of this key.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::Pool;
    ///
    /// let mut pool = Pool::new();
    /// let key = pool.insert(7);
    /// assert!(pool.contains(key));
    /// pool.remove(key);
    /// assert!(!pool.contains(key));
    /// ```
    #[inline]
    pub fn contains(&self, key: PoolKey<T>) -> bool {
        self.get(key).is_some()
    }
}

/// Panics if the key is stale.
impl<T, A: Allocator + Clone> Index<PoolKey<T>> for Pool<T, A> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, key: PoolKey<T>) -> &T {
        match self.get(key) {
            Some(value) => value,
            None => fail_stale(key),
        }
    }
}

/// Panics if the key is stale.
impl<T, A: Allocator + Clone> IndexMut<PoolKey<T>> for Pool<T, A> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, key: PoolKey<T>) -> &mut T {
        match self.get_mut(key) {
            Some(value) => value,
            None => fail_stale(key),
        }
    }
}

#[inline]
pub(super) fn slot_mut<T, A: Allocator>(
    blocks: &mut [Vec<Slot<T>, A>],
    number: u32,
) -> Option<&mut Slot<T>> {
    let index = number as usize;
    let block = blocks.get_mut(index / block_slots::<T>())?;
    block.get_mut(index % block_slots::<T>())
}

#[cold]
#[inline(never)]
#[track_caller]
fn fail_stale<T>(key: PoolKey<T>) -> ! {
    if key.is_unset() {
        panic!("the key was never set: it is `PoolKey::default()`");
    }
    panic!(
        "stale {key:?}: its object was removed, or is in another pool; use `get` where that may be"
    )
}
