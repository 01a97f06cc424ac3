//! Looking keys up, and filling their places.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::TryReserveError;
use hashbrown::hash_map::Entry;

use super::FrameMap;
use crate::arena::FrameArena;
use crate::containers::or_fail;
use crate::error::ArenaError;

impl<'a, K: Eq + Hash, V, S: BuildHasher> FrameMap<'a, K, V, S> {
    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// names.reserve(100);
    /// assert!(names.capacity() > 100);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        or_fail(self.try_reserve(additional));
    }

    /// Makes room for at least `additional` more elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        // Compared here, because hashbrown's comparison is out of line.
        while additional > self.map.capacity() - self.map.len() {
            match self.map.try_reserve(additional) {
                Ok(()) => break,
                Err(refusal) => {
                    why::<(K, V)>(refusal, self.arena(), self.len().saturating_add(additional))?;
                }
            }
        }
        Ok(())
    }

    /// Inserts a value, and returns the one that the key had.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// assert_eq!(names.insert(3, "Ferris"), None);
    /// assert_eq!(names.insert(3, "Corro"), Some("Ferris"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.reserve(1);
        self.map.insert(key, value)
    }

    /// Inserts a value, and returns the one that the key had.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; key and value are dropped then.
    #[inline]
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, ArenaError> {
        self.try_reserve(1)?;
        Ok(self.map.insert(key, value))
    }

    /// Returns the place of a key, to look at it and to fill it: `*map.entry(key).or_insert(0) += 1`.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut hits = arena.map();
    /// for entity in [7, 3, 7] {
    ///     *hits.entry(entity).or_insert(0) += 1;
    /// }
    /// assert_eq!(hits[&7], 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S, &'a FrameArena> {
        self.reserve(1);
        self.map.entry(key)
    }

    /// Returns the value of a key.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert_eq!(names.get(&3), Some(&"Ferris"));
    /// ```
    #[inline]
    pub fn get<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    /// Returns the value of a key.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// if let Some(name) = names.get_mut(&3) {
    ///     *name = "Corro";
    /// }
    /// assert_eq!(names[&3], "Corro");
    /// ```
    #[inline]
    pub fn get_mut<Q: ?Sized + Eq + Hash>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.map.get_mut(key)
    }

    /// Returns whether the key has a value.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.contains_key(&3));
    /// ```
    #[inline]
    pub fn contains_key<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key)
    }

    /// Removes a key and returns its value.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert_eq!(names.remove(&3), Some("Ferris"));
    /// assert_eq!(names.remove(&3), None);
    /// ```
    #[inline]
    pub fn remove<Q: ?Sized + Eq + Hash>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.map.remove(key)
    }

    /// Inserts everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was inserted before that stays.
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = (K, V)>) -> Result<(), ArenaError> {
        let iter = iter.into_iter();
        // Half of it, if there may be keys that are there: as hashbrown does.
        let known = iter.size_hint().0;
        self.try_reserve(if self.is_empty() {
            known
        } else {
            known.div_ceil(2)
        })?;
        for (key, value) in iter {
            self.try_insert(key, value)?;
        }
        Ok(())
    }
}

/// Returns why the arena refused a table, by asking it once more: hashbrown has no room for the
/// reason. `Ok` if it does not refuse any more, because others gave memory back.
#[cold]
pub(in crate::containers) fn why<T>(
    refusal: TryReserveError,
    arena: &FrameArena,
    len: usize,
) -> Result<(), ArenaError> {
    match refusal {
        TryReserveError::CapacityOverflow => Err(ArenaError::TooLong {
            len,
            element_bytes: size_of::<T>(),
        }),
        TryReserveError::AllocError { layout } => arena.try_alloc_layout(layout).map(drop),
    }
}
