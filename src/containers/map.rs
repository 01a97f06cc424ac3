//! A hash map in an arena.
#![forbid(unsafe_code)]

pub(super) mod look_up;
mod make;

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::Index;

use foldhash::fast::FixedState;
use hashbrown::hash_map::{self, HashMap};

use super::or_fail;
use super::raw::Stays;
use crate::arena::FrameArena;

/// A hash map in an arena: for look-ups that a system builds and uses.
///
/// It is hashbrown's map, with the hash function that Bevy's maps use, from a fixed seed: the order
/// of the elements is arbitrary, but the same in every run. Another one goes in with
/// [`map_with_hasher`](FrameArena::map_with_hasher), such as Bevy's `FixedHasher` or `EntityHash`.
///
/// It drops its elements at the end of its scope. It grows into new memory, and what it leaves
/// behind stays unused until the frame is recycled: give it its capacity where that is known.
/// Unlike hashbrown's own, it panics with the text of the [`ArenaError`](crate::ArenaError) where the arena refuses,
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
    _stays: Stays<(K, V)>,
    map: HashMap<K, V, S, &'a FrameArena>,
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
        self.map.allocator()
    }

    /// Returns how many elements there are.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert_eq!(names.len(), 1);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether there are no elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(!names.is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns how many elements there is room for before the map grows.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.capacity() >= 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }

    /// Returns all keys with their values, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.iter().eq([(&3, &"Ferris")]));
    /// ```
    pub fn iter(&self) -> hash_map::Iter<'_, K, V> {
        self.map.iter()
    }

    /// Returns all keys with their values, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// for (_, name) in names.iter_mut() {
    ///     *name = "Corro";
    /// }
    /// assert_eq!(names[&3], "Corro");
    /// ```
    pub fn iter_mut(&mut self) -> hash_map::IterMut<'_, K, V> {
        self.map.iter_mut()
    }

    /// Returns all keys, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.keys().eq([&3]));
    /// ```
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.map.keys()
    }

    /// Returns all values, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.values().eq([&"Ferris"]));
    /// ```
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.map.values()
    }

    /// Returns all values, in arbitrary order.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// names.values_mut().for_each(|name| *name = "Corro");
    /// assert_eq!(names[&3], "Corro");
    /// ```
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.map.values_mut()
    }

    /// Removes all elements, keeps the memory, and returns the elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// assert!(names.drain().eq([(3, "Ferris")]));
    /// assert!(names.is_empty());
    /// ```
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = (K, V)> {
        self.map.drain()
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// names.retain(|id, _| *id > 3);
    /// assert!(names.is_empty());
    /// ```
    pub fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool) {
        self.map.retain(keep);
    }

    /// Drops all elements, and keeps the memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut names = arena.map();
    /// names.insert(3, "Ferris");
    /// names.clear();
    /// assert!(names.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.map.clear();
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
