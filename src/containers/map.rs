//! A hash map in an arena.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::{Deref, DerefMut, Index};

use foldhash::fast::FixedState;
use hashbrown::hash_map::{self, Entry, HashMap};

use super::or_fail;
use super::table::{self, TableMemory};
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A hash map in an arena: for look-ups that a system builds and uses.
///
/// It derefs to hashbrown's map, so it has all of its methods. The hash function is the one that
/// Bevy's maps use, from a fixed seed: the order of the elements is arbitrary, but the same in every
/// run. [`map_with_hasher`](FrameArena::map_with_hasher) takes another one, such as Bevy's
/// `FixedHasher` or `EntityHash`.
///
/// It drops its elements at the end of its scope. It grows into new memory, and its old memory stays
/// unused until the frame is recycled: give it its capacity where that is known. Unlike hashbrown's
/// own, it panics with the text of the [`ArenaError`] where the arena refuses, and never aborts the
/// process. The methods listed here panic at the caller's line; the `try_` twins return the error.
///
/// A map can't be shared: it keeps the borrow of its arena, which a handle must not. Share its
/// contents as a sorted list, and search that with `binary_search_by_key`:
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
pub struct FrameMap<'a, K, V, S = FixedState> {
    map: HashMap<K, V, S, TableMemory<'a>>,
}

impl<'a, K, V, S> FrameMap<'a, K, V, S> {
    /// Returns the arena.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let names = arena.map::<u32, &str>();
    /// assert!(std::ptr::eq(names.arena(), &arena));
    /// ```
    pub fn arena(&self) -> &'a FrameArena {
        self.map.allocator().arena()
    }

    /// Takes the map apart and returns its keys, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.into_keys().eq([3]));
    /// ```
    pub fn into_keys(self) -> hash_map::IntoKeys<K, V, TableMemory<'a>> {
        self.map.into_keys()
    }

    /// Takes the map apart and returns its values, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.into_values().eq(["Ferris"]));
    /// ```
    pub fn into_values(self) -> hash_map::IntoValues<K, V, TableMemory<'a>> {
        self.map.into_values()
    }
}

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
        // Compared here, because hashbrown's own comparison is out of line.
        if additional <= self.map.capacity() - self.map.len() {
            return Ok(());
        }
        let too_long = ArenaError::TooLong {
            len: additional,
            element_bytes: size_of::<(K, V)>(),
        };
        let grow = |map: &mut HashMap<_, _, _, _>| map.try_reserve(additional);
        table::try_grow(&mut self.map, HashMap::allocator, grow, too_long)
    }

    /// Inserts a value, and returns the previous value of the key.
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

    /// Inserts a value, and returns the previous value of the key.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; key and value are dropped then.
    #[inline]
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, ArenaError> {
        self.try_reserve(1)?;
        Ok(self.map.insert(key, value))
    }

    /// Returns the entry of a key, to look at it and to fill it: `*map.entry(key).or_insert(0) += 1`.
    ///
    /// # Panics
    /// If the key is new, and the arena is out of memory or over a limit; see [`ArenaError`].
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
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S, TableMemory<'a>> {
        if self.map.capacity() == self.map.len() && !self.map.contains_key(&key) {
            self.reserve(1);
        }
        self.map.entry(key)
    }

    /// Inserts everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements inserted before that stay.
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = (K, V)>) -> Result<(), ArenaError> {
        let iter = iter.into_iter();
        self.try_reserve(table::expected(iter.size_hint().0, self.is_empty()))?;
        for (key, value) in iter {
            self.try_insert(key, value)?;
        }
        Ok(())
    }
}

/// The methods of hashbrown's map.
impl<'a, K, V, S> Deref for FrameMap<'a, K, V, S> {
    type Target = HashMap<K, V, S, TableMemory<'a>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.map
    }
}

impl<K, V, S> DerefMut for FrameMap<'_, K, V, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.map
    }
}

/// Clones into the same arena.
impl<K: Clone + Eq + Hash, V: Clone, S: Clone + BuildHasher> Clone for FrameMap<'_, K, V, S> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = self.arena().map_with_hasher(self.hasher().clone());
        clone.reserve(self.capacity());
        clone.map.clone_from(&self.map);
        clone
    }

    fn clone_from(&mut self, source: &Self) {
        self.map.clone_from(&source.map);
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> Extend<(K, V)> for FrameMap<'_, K, V, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

impl<'a, K, V, S> IntoIterator for FrameMap<'a, K, V, S> {
    type Item = (K, V);
    type IntoIter = hash_map::IntoIter<K, V, TableMemory<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.map.into_iter()
    }
}

impl<'m, K, V, S> IntoIterator for &'m FrameMap<'_, K, V, S> {
    type Item = (&'m K, &'m V);
    type IntoIter = hash_map::Iter<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.map.iter()
    }
}

impl<'m, K, V, S> IntoIterator for &'m mut FrameMap<'_, K, V, S> {
    type Item = (&'m K, &'m mut V);
    type IntoIter = hash_map::IterMut<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.map.iter_mut()
    }
}

impl<K, V, Q, S> Index<&Q> for FrameMap<'_, K, V, S>
where
    K: Eq + Hash + Borrow<Q>,
    Q: ?Sized + Eq + Hash,
    S: BuildHasher,
{
    type Output = V;

    #[track_caller]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the map has no such key")
    }
}

impl<K: Eq + Hash, V: PartialEq, S: BuildHasher> PartialEq for FrameMap<'_, K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<K: Eq + Hash, V: Eq, S: BuildHasher> Eq for FrameMap<'_, K, V, S> {}

impl<K: fmt::Debug, V: fmt::Debug, S> fmt::Debug for FrameMap<'_, K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.map.fmt(f)
    }
}

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
            map: HashMap::with_hasher_in(hasher, TableMemory::new(self)),
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
        let mut map = self.map();
        map.reserve(capacity);
        map
    }
}
