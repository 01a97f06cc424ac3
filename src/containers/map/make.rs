//! Making maps.
#![forbid(unsafe_code)]

use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::hash_map::HashMap;

use super::FrameMap;
use crate::arena::FrameArena;
use crate::containers::or_fail;
use crate::containers::raw::Stays;
use crate::error::ArenaError;

/// # Maps
impl FrameArena {
    /// Creates an empty map. It allocates with its first element.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert_eq!(names.get(&3), Some(&"Ferris"));
    /// ```
    pub fn map<K, V>(&self) -> FrameMap<'_, K, V> {
        self.map_with_hasher(FixedState::default())
    }

    /// Creates an empty map with a hash function of your choice.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// use std::hash::RandomState;
    ///
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map_with_hasher(RandomState::new());
    /// names.insert("from the network", 1);
    /// ```
    pub fn map_with_hasher<K, V, S>(&self, hasher: S) -> FrameMap<'_, K, V, S> {
        FrameMap {
            _stays: Stays::new(),
            map: HashMap::with_hasher_in(hasher, self),
        }
    }

    /// Creates a map with room for `capacity` elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let names = arena.map_with_capacity::<u32, &str>(100);
    /// assert!(names.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn map_with_capacity<K: Eq + Hash, V>(&self, capacity: usize) -> FrameMap<'_, K, V> {
        or_fail(self.try_map_with_capacity(capacity))
    }

    /// Creates a map with room for `capacity` elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    pub fn try_map_with_capacity<K: Eq + Hash, V>(
        &self,
        capacity: usize,
    ) -> Result<FrameMap<'_, K, V>, ArenaError> {
        let mut map = self.map();
        map.try_reserve(capacity)?;
        Ok(map)
    }
}
