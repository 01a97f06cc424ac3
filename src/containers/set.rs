//! A hash set in an arena.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::hash_set::{self, HashSet};

use super::map::look_up::why;
use super::or_fail;
use super::raw::Stays;
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A hash set in an arena: for "was it seen already".
///
/// As for [`FrameMap`](crate::FrameMap): hashbrown's, with a fixed hash function; it never aborts
/// the process, and can't be shared.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut seen = arena.set();
/// let first: Vec<u32> = [3, 1, 3].into_iter().filter(|&n| seen.insert(n)).collect();
/// assert_eq!(first, [3, 1]);
/// ```
pub struct FrameSet<'a, T, S = FixedState> {
    _stays: Stays<T>,
    set: HashSet<T, S, &'a FrameArena>,
}

impl<'a, T, S> FrameSet<'a, T, S> {
    /// Returns the arena.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let seen = arena.set::<u32>();
    /// assert!(std::ptr::eq(seen.arena(), &arena));
    /// ```
    pub fn arena(&self) -> &'a FrameArena {
        self.set.allocator()
    }

    /// Returns how many elements there are.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert_eq!(seen.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Returns whether there are no elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(!seen.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Returns how many elements there is room for before the set grows.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(seen.capacity() >= 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.set.capacity()
    }

    /// Returns all elements, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(seen.iter().eq([&3]));
    /// ```
    pub fn iter(&self) -> hash_set::Iter<'_, T> {
        self.set.iter()
    }

    /// Removes all elements, keeps the memory, and returns the elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(seen.drain().eq([3]));
    /// assert!(seen.is_empty());
    /// ```
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = T> {
        self.set.drain()
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// seen.retain(|n| *n > 3);
    /// assert!(seen.is_empty());
    /// ```
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.set.retain(keep);
    }

    /// Drops all elements, and keeps the memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// seen.clear();
    /// assert!(seen.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.set.clear();
    }
}

impl<T: Eq + Hash, S: BuildHasher> FrameSet<'_, T, S> {
    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// seen.reserve(100);
    /// assert!(seen.capacity() > 100);
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
        while additional > self.set.capacity() - self.set.len() {
            match self.set.try_reserve(additional) {
                Ok(()) => break,
                Err(refusal) => {
                    why::<T>(refusal, self.arena(), self.len().saturating_add(additional))?;
                }
            }
        }
        Ok(())
    }

    /// Inserts an element, and returns whether it is new.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// assert!(seen.insert(3));
    /// assert!(!seen.insert(3));
    /// ```
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> bool {
        self.reserve(1);
        self.set.insert(value)
    }

    /// Inserts an element, and returns whether it is new.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the element is dropped then.
    #[inline]
    pub fn try_insert(&mut self, value: T) -> Result<bool, ArenaError> {
        self.try_reserve(1)?;
        Ok(self.set.insert(value))
    }

    /// Returns whether the element is there.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(seen.contains(&3));
    /// ```
    #[inline]
    pub fn contains<Q: ?Sized + Eq + Hash>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.contains(value)
    }

    /// Returns the element that is equal to this one.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.set();
    /// names.insert(String::from("Ferris"));
    /// assert_eq!(names.get("Ferris").map(String::len), Some(6));
    /// ```
    #[inline]
    pub fn get<Q: ?Sized + Eq + Hash>(&self, value: &Q) -> Option<&T>
    where
        T: Borrow<Q>,
    {
        self.set.get(value)
    }

    /// Removes an element, and returns whether it was there.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// seen.insert(3);
    /// assert!(seen.remove(&3));
    /// assert!(!seen.remove(&3));
    /// ```
    #[inline]
    pub fn remove<Q: ?Sized + Eq + Hash>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.set.remove(value)
    }

    /// Inserts everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was inserted before that stays.
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), ArenaError> {
        let iter = iter.into_iter();
        let known = iter.size_hint().0;
        self.try_reserve(if self.is_empty() {
            known
        } else {
            known.div_ceil(2)
        })?;
        for value in iter {
            self.try_insert(value)?;
        }
        Ok(())
    }
}

impl<T: Eq + Hash, S: BuildHasher> Extend<T> for FrameSet<'_, T, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

impl<'a, T, S> IntoIterator for FrameSet<'a, T, S> {
    type Item = T;
    type IntoIter = hash_set::IntoIter<T, &'a FrameArena>;

    fn into_iter(self) -> Self::IntoIter {
        self.set.into_iter()
    }
}

impl<'s, T, S> IntoIterator for &'s FrameSet<'_, T, S> {
    type Item = &'s T;
    type IntoIter = hash_set::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.set.iter()
    }
}

impl<T: Eq + Hash, S: BuildHasher> PartialEq for FrameSet<'_, T, S> {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl<T: Eq + Hash, S: BuildHasher> Eq for FrameSet<'_, T, S> {}

impl<T: fmt::Debug, S> fmt::Debug for FrameSet<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}

/// # Sets
impl FrameArena {
    /// Creates an empty set. It allocates with its first element.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut seen = arena.set();
    /// assert!(seen.insert(3));
    /// assert!(!seen.insert(3));
    /// ```
    pub fn set<T>(&self) -> FrameSet<'_, T> {
        self.set_with_hasher(FixedState::default())
    }

    /// Creates an empty set with a hash function of your choice.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// use std::hash::RandomState;
    ///
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.set_with_hasher(RandomState::new());
    /// names.insert("from the network");
    /// ```
    pub fn set_with_hasher<T, S>(&self, hasher: S) -> FrameSet<'_, T, S> {
        FrameSet {
            _stays: Stays::new(),
            set: HashSet::with_hasher_in(hasher, self),
        }
    }

    /// Creates a set with room for `capacity` elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// assert!(arena.set_with_capacity::<u32>(100).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn set_with_capacity<T: Eq + Hash>(&self, capacity: usize) -> FrameSet<'_, T> {
        or_fail(self.try_set_with_capacity(capacity))
    }

    /// Creates a set with room for `capacity` elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    pub fn try_set_with_capacity<T: Eq + Hash>(
        &self,
        capacity: usize,
    ) -> Result<FrameSet<'_, T>, ArenaError> {
        let mut set = self.set();
        set.try_reserve(capacity)?;
        Ok(set)
    }
}
