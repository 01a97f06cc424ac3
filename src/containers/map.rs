//! Hash maps and hash sets in an arena.
#![forbid(unsafe_code)]

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut};

use foldhash::fast::FixedState;
use hashbrown::hash_map::{self, Entry, HashMap};
use hashbrown::hash_set::{self, HashSet};

use super::or_fail;
use super::table::{self, TableMemory};
use crate::arena::{FrameArena, too_long};
use crate::error::ArenaError;

/// A hash map in an arena: for look-up tables that a system builds and uses.
///
/// It derefs to hashbrown's map, so it has all methods that borrow one. The hash function is that of Bevy's
/// maps, with a fixed seed: the order of the elements is arbitrary, but the same in every run.
/// [`map_with_hasher`](FrameArena::map_with_hasher) takes another one, such as Bevy's `FixedHasher` or
/// `EntityHash`.
///
/// It drops its elements at the end of its scope. It grows into new memory, and its old memory stays
/// unused until the frame is recycled: reserve its capacity if that is known.
///
/// A map can't be shared, because it borrows its arena. Share its contents as a sorted list, and search
/// that with `binary_search_by_key`:
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let arena = arenas.local();
/// let mut damage = arena.map();
/// for (entity, hit) in [(7, 10), (3, 5), (7, 2)] {
///     *damage.entry(entity).or_insert(0) += hit;
/// }
/// damage.retain(|_, hits| *hits > 4);
/// assert_eq!(damage[&7], 12);
///
/// let mut sorted = arena.collect(damage);
/// sorted.sort_unstable();
/// let handle = sorted.share();
/// let found = arenas[handle].binary_search_by_key(&3, |&(entity, _)| entity);
/// assert_eq!(found, Ok(0));
/// ```
///
/// # Panics
/// Methods that need memory panic with the text of the [`ArenaError`] if the arena is out of memory or over
/// a limit. The methods listed here panic at the caller's line. Unlike a map of hashbrown with another
/// allocator, it never aborts the process. To get the error instead, make room with
/// [`try_reserve`](Self::try_reserve).
#[derive(Clone)]
pub struct FrameMap<'a, K, V, S = FixedState> {
    table: HashMap<K, V, S, TableMemory<'a>>,
}

/// A hash set in an arena: to find out whether something was seen before.
///
/// It derefs to hashbrown's set, so it has all methods that borrow one. As for [`FrameMap`](crate::FrameMap), the
/// hash function is fixed, refused memory is a panic, and the set can't be shared.
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
#[derive(Clone)]
pub struct FrameSet<'a, T, S = FixedState> {
    table: HashSet<T, S, TableMemory<'a>>,
}

/// Implements everything that maps and sets have in common.
macro_rules! hash_table {
    ($name:ident<$key:ident $(, $value:ident)?> of $element:ty, $module:ident::$hashbrown:ident) => {
        impl<$key: Eq + Hash $(, $value)?, S: BuildHasher> $name<'_, $key $(, $value)?, S> {
            /// Makes room for at least `additional` more elements.
            #[inline]
            #[track_caller]
            pub fn reserve(&mut self, additional: usize) {
                or_fail(self.try_reserve(additional));
            }

            /// Makes room as [`reserve`](Self::reserve) does, or returns an error and changes nothing.
            #[inline]
            pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
                // Compared here, because hashbrown's own comparison is out of line.
                if additional <= self.table.capacity() - self.table.len() {
                    return Ok(());
                }
                let too_long = || too_long::<$element>(additional);
                let grow = |table: &mut $hashbrown<_, $($value,)? _, _>| table.try_reserve(additional);
                table::try_grow(&mut self.table, $hashbrown::allocator, grow, too_long)
            }
        }

        /// The methods of hashbrown.
        impl<'a, $key $(, $value)?, S> Deref for $name<'a, $key $(, $value)?, S> {
            type Target = $hashbrown<$key, $($value,)? S, TableMemory<'a>>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                &self.table
            }
        }

        impl<$key $(, $value)?, S> DerefMut for $name<'_, $key $(, $value)?, S> {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.table
            }
        }

        impl<$key: Eq + Hash $(, $value)?, S: BuildHasher> Extend<$element>
            for $name<'_, $key $(, $value)?, S>
        {
            #[track_caller]
            fn extend<I: IntoIterator<Item = $element>>(&mut self, iter: I) {
                let iter = iter.into_iter();
                let known = iter.size_hint().0;
                // As in hashbrown: half of them where keys may repeat.
                self.reserve(if self.is_empty() { known } else { known.div_ceil(2) });
                for element in iter {
                    self.reserve(1);
                    self.table.extend([element]);
                }
            }
        }

        impl<'a, $key $(, $value)?, S> IntoIterator for $name<'a, $key $(, $value)?, S> {
            type Item = <Self::IntoIter as Iterator>::Item;
            type IntoIter = $module::IntoIter<$key, $($value,)? TableMemory<'a>>;

            fn into_iter(self) -> Self::IntoIter {
                self.table.into_iter()
            }
        }

        impl<'t, $key $(, $value)?, S> IntoIterator for &'t $name<'_, $key $(, $value)?, S> {
            type Item = <Self::IntoIter as Iterator>::Item;
            type IntoIter = $module::Iter<'t, $key $(, $value)?>;

            fn into_iter(self) -> Self::IntoIter {
                self.table.iter()
            }
        }

        impl<$key: fmt::Debug, $($value: fmt::Debug,)? S> fmt::Debug
            for $name<'_, $key $(, $value)?, S>
        {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.table.fmt(f)
            }
        }
    };
}

hash_table! { FrameMap<K, V> of (K, V), hash_map::HashMap }
hash_table! { FrameSet<T> of T, hash_set::HashSet }

impl<'a, K: Eq + Hash, V, S: BuildHasher> FrameMap<'a, K, V, S> {
    /// Inserts a value, and returns the previous value of the key.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.reserve(1);
        self.table.insert(key, value)
    }

    /// Returns the entry of a key, to read or fill it: `*map.entry(key).or_insert(0) += 1`. Only a new
    /// key needs memory.
    #[inline]
    #[track_caller]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S, TableMemory<'a>> {
        if self.table.capacity() == self.table.len() && !self.table.contains_key(&key) {
            self.reserve(1);
        }
        self.table.entry(key)
    }
}

impl<T: Eq + Hash, S: BuildHasher> FrameSet<'_, T, S> {
    /// Inserts an element, and returns whether it is new.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, value: T) -> bool {
        self.reserve(1);
        self.table.insert(value)
    }
}

impl<'m, K, V, S> IntoIterator for &'m mut FrameMap<'_, K, V, S> {
    type Item = (&'m K, &'m mut V);
    type IntoIter = hash_map::IterMut<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.table.iter_mut()
    }
}

/// # Maps and sets
impl FrameArena {
    /// Creates an empty map. It allocates with its first element.
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
            table: HashMap::with_hasher_in(hasher, TableMemory::new(self)),
        }
    }

    /// Creates an empty set. It allocates with its first element.
    pub fn set<T>(&self) -> FrameSet<'_, T> {
        self.set_with_hasher(FixedState::default())
    }

    /// Creates an empty set with a hash function of your choice, like
    /// [`map_with_hasher`](Self::map_with_hasher).
    pub fn set_with_hasher<T, S>(&self, hasher: S) -> FrameSet<'_, T, S> {
        FrameSet {
            table: HashSet::with_hasher_in(hasher, TableMemory::new(self)),
        }
    }
}
