//! A hash set in an arena.
#![forbid(unsafe_code)]

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use foldhash::fast::FixedState;
use hashbrown::hash_set::{self, HashSet};

use super::or_fail;
use super::table::{self, TableMemory};
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A hash set in an arena: for "was it seen already".
///
/// It derefs to hashbrown's set, so it has all of its methods. As for [`FrameMap`](crate::FrameMap),
/// the hash function is fixed, it never aborts the process, and it can't be shared.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut seen = arena.set();
/// let first: Vec<u32> = [3, 1, 3].into_iter().filter(|&n| seen.insert(n)).collect();
/// assert_eq!(first, [3, 1]);
///
/// let mut visible = arena.set();
/// visible.extend([1, 2]);
/// assert!(visible.difference(&seen).eq([&2]));
/// ```
pub struct FrameSet<'a, T, S = FixedState> {
    set: HashSet<T, S, TableMemory<'a>>,
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
        self.set.allocator().arena()
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
        // Compared here, because hashbrown's own comparison is out of line.
        if additional <= self.set.capacity() - self.set.len() {
            return Ok(());
        }
        let too_long = ArenaError::TooLong {
            len: additional,
            element_bytes: size_of::<T>(),
        };
        let grow = |set: &mut HashSet<_, _, _>| set.try_reserve(additional);
        table::try_grow(&mut self.set, HashSet::allocator, grow, too_long)
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

    /// Inserts everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements inserted before that stay.
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), ArenaError> {
        let iter = iter.into_iter();
        self.try_reserve(table::expected(iter.size_hint().0, self.is_empty()))?;
        for value in iter {
            self.try_insert(value)?;
        }
        Ok(())
    }
}

/// The methods of hashbrown's set.
impl<'a, T, S> Deref for FrameSet<'a, T, S> {
    type Target = HashSet<T, S, TableMemory<'a>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.set
    }
}

impl<T, S> DerefMut for FrameSet<'_, T, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.set
    }
}

/// Clones into the same arena.
impl<T: Clone + Eq + Hash, S: Clone + BuildHasher> Clone for FrameSet<'_, T, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = self.arena().set_with_hasher(self.hasher().clone());
        clone.reserve(self.capacity());
        clone.set.clone_from(&self.set);
        clone
    }

    fn clone_from(&mut self, source: &Self) {
        self.set.clone_from(&source.set);
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
    type IntoIter = hash_set::IntoIter<T, TableMemory<'a>>;

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
            set: HashSet::with_hasher_in(hasher, TableMemory::new(self)),
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
        let mut set = self.set();
        set.reserve(capacity);
        set
    }
}
