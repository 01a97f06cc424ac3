//! The store of an arena: its own, or one shared with others.
#![forbid(unsafe_code)]

use std::ops::Deref;
use std::sync::Arc;

use super::store::Store;
use crate::settings::FrameArenaSettings;

/// The store of an arena.
pub(super) enum StoreOf {
    /// The store of a `FrameArenas`, shared by all its arenas.
    Many(Arc<Store>),
    /// The store of one standalone arena. It is a list of one element, because `Arc` and `Box` cannot report
    /// a failed allocation on stable Rust.
    One(Vec<Store>),
}

impl StoreOf {
    /// Makes a store for one arena. Returns `None` if the global allocator refuses.
    pub(super) fn try_one(settings: &FrameArenaSettings) -> Option<Self> {
        let mut store = Vec::new();
        store.try_reserve_exact(1).ok()?;
        store.push(Store::new(settings, usize::MAX));
        Some(Self::One(store))
    }
}

impl Deref for StoreOf {
    type Target = Store;

    #[inline]
    fn deref(&self) -> &Store {
        match self {
            Self::Many(store) => store,
            Self::One(store) => &store[0],
        }
    }
}
