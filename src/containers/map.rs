//! A hash map in an arena.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::Index;

use foldhash::fast::FixedState;
use hashbrown::hash_map::{Entry, HashMap};
use hashbrown::{TryReserveError, hash_map};

use super::or_fail;
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A hash map in an arena: for look-ups that a system builds and uses.
///
/// It is hashbrown's map, with the hash function that Bevy's maps use, from a fixed seed: the order
/// of the elements is arbitrary, but the same in every run. Another one goes in with
/// [`map_with_hasher`](FrameArena::map_with_hasher), such as Bevy's `FixedHasher` or `EntityHash`.
///
/// It drops its elements at the end of its scope. It grows into new memory, and what it leaves
/// behind stays unused until the frame is recycled: give it its capacity where that is known.
/// Unlike hashbrown's own, it panics with the text of the [`ArenaError`] where the arena refuses,
/// or returns it from the `try_` twin, and never aborts the process. That is why it does not lend
/// the map inside, and has no method to shrink.
///
/// A map can't be shared: it keeps the borrow of its arena, which a handle must not. Share what is
/// looked up as a sorted list, and search it with `binary_search_by_key`:
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
/// assert_eq!(damage[&7], 12);
///
/// let mut sorted = arena.collect(damage);
/// sorted.sort_unstable();
/// let handle = sorted.share();
/// let found = arenas[handle].binary_search_by_key(&3, |&(entity, _)| entity);
/// assert_eq!(found, Ok(0));
/// ```
pub struct FrameMap<'a, K, V, S = FixedState> {
    map: HashMap<K, V, S, &'a FrameArena>,
}

impl<'a, K, V, S> FrameMap<'a, K, V, S> {
    /// Returns the arena.
    pub fn arena(&self) -> &'a FrameArena {
        self.map.allocator()
    }

    /// Returns how many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns how many elements there is room for before the map grows.
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Returns all keys with their values, in arbitrary order.
    pub fn iter(&self) -> hash_map::Iter<'_, K, V> {
        self.map.iter()
    }

    /// Returns all keys with their values, in arbitrary order.
    pub fn iter_mut(&mut self) -> hash_map::IterMut<'_, K, V> {
        self.map.iter_mut()
    }

    /// Returns all keys, in arbitrary order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.map.keys()
    }

    /// Returns all values, in arbitrary order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.map.values()
    }

    /// Returns all values, in arbitrary order.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.map.values_mut()
    }

    /// Removes all elements, keeps the memory, and returns the elements.
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = (K, V)> {
        self.map.drain()
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.map.retain(keep);
    }

    /// Drops all elements, and keeps the memory.
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl<'a, K: Eq + Hash, V, S: BuildHasher> FrameMap<'a, K, V, S> {
    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
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
    #[inline]
    #[track_caller]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S, &'a FrameArena> {
        self.reserve(1);
        self.map.entry(key)
    }

    /// Returns the value of a key.
    #[inline]
    pub fn get<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    /// Returns the value of a key.
    #[inline]
    pub fn get_mut<Q: ?Sized + Eq + Hash>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.map.get_mut(key)
    }

    /// Returns whether the key has a value.
    #[inline]
    pub fn contains_key<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key)
    }

    /// Removes a key and returns its value.
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
pub(super) fn why<T>(
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

impl<K: Eq + Hash, V, S: BuildHasher> Extend<(K, V)> for FrameMap<'_, K, V, S> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

impl<'a, K, V, S> IntoIterator for FrameMap<'a, K, V, S> {
    type Item = (K, V);
    type IntoIter = hash_map::IntoIter<K, V, &'a FrameArena>;

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
