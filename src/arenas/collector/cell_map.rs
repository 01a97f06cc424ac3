//! Elements in cells of any key.
#![expect(unsafe_code, reason = "resolves handles that are part of shared data")]

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

use super::FrameCollector;
use super::batch::too_long;
use super::cells::{Cells, sort_each};
use crate::containers::FrameVec;
use crate::error::{ArenaError, fail};
use crate::handles::FrameHandle;

/// The fewest slots of a table; a power of two. At least half of all slots stay empty.
const LEAST_SLOTS: usize = 16;

/// Elements in one list for each key: made by [`FrameCollector::share_cell_map`].
///
/// A hash map that can be shared. Use it where keys are no small numbers, such as the `IVec2` of an endless
/// grid; where they are, [`Cells`] are faster.
///
/// ```
/// use bevy_frame_arena::prelude::*;
/// use bevy_math::IVec2;
///
/// let arenas = FrameArenas::default();
/// let places = arenas.collector();
/// places.batch().extend([(1.5, -0.5), (2.5, 0.5), (9.0, 9.0)]);
/// let cell_of = |place: &(f32, f32)| IVec2::new(place.0.floor() as i32, place.1.floor() as i32);
/// let cells: FrameHandle<CellMap<IVec2, (f32, f32)>> = places.share_cell_map(cell_of);
///
/// let cells = &arenas[cells];
/// assert_eq!(cells[&IVec2::new(1, -1)], [(1.5, -0.5)]);
/// assert_eq!(cells.around(IVec2::new(1, 0)).count(), 2);
/// ```
pub struct CellMap<K, T> {
    /// The key of each cell.
    keys: FrameHandle<[K]>,
    /// As many as a power of two: 0 for none, or the number of a cell and one.
    slots: FrameHandle<[u32]>,
    cells: Cells<T>,
}

impl<K, T> CellMap<K, T> {
    /// Returns the keys, one for each cell. Their order is that of their first elements, which depends on which
    /// worker was faster, unless all batches have a number.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let words = arenas.collector();
    /// words.batch().extend(["one", "three", "two"]);
    /// let by_len = words.share_cell_map(|word| word.len());
    /// assert_eq!(arenas[by_len].keys(), [3, 5]);
    /// ```
    #[inline]
    pub fn keys(&self) -> &[K] {
        // SAFETY:
        // - the collector shared the keys, the slots and then `self` in one arena of one generation;
        // - there is no other way to get a `CellMap`, and none to copy one: whoever borrows it has resolved a
        //   handle of that generation, which stays while it is borrowed.
        unsafe { self.keys.data() }
    }

    #[inline]
    fn slots(&self) -> &[u32] {
        // SAFETY: as above.
        unsafe { self.slots.data() }
    }

    /// Returns the elements, as numbered cells in the order of the keys.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let words = arenas.collector();
    /// words.batch().extend(["one", "three", "two"]);
    /// let by_len = words.share_cell_map(|word| word.len());
    /// assert_eq!(arenas[by_len].cells()[0], ["one", "two"]);
    /// ```
    #[inline]
    pub const fn cells(&self) -> &Cells<T> {
        &self.cells
    }

    /// Returns the number of keys. Each has at least one element.
    #[inline]
    pub fn len(&self) -> usize {
        self.keys().len()
    }

    /// Returns whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns each key with its elements, in the order of [`keys`](Self::keys).
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let words = arenas.collector();
    /// words.batch().extend(["one", "three", "two"]);
    /// let by_len = words.share_cell_map(|word| word.len());
    /// assert!(arenas[by_len].iter().all(|(len, words)| words[0].len() == *len));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&K, &[T])> {
        self.keys().iter().zip(self.cells.iter())
    }
}

impl<K: Hash + Eq, T> CellMap<K, T> {
    /// Returns the elements with a key, none if there are none.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let words = arenas.collector();
    /// words.batch().extend(["one", "three", "two"]);
    /// let by_first = &arenas[words.share_cell_map(|word| String::from(&word[..1]))];
    /// assert_eq!(by_first.get("t"), ["three", "two"]);
    /// assert!(by_first.get("z").is_empty());
    /// ```
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> &[T]
    where
        K: Borrow<Q>,
    {
        match find(self.slots(), self.keys(), key) {
            Ok(cell) => &self.cells[cell],
            Err(_) => &[],
        }
    }

    /// Returns the elements of a cell and of those around it, 3 x 3 for keys of two coordinates, 3 x 3 x 3 for
    /// three: `IVec2`, `IVec3`, arrays of `i32`, and what else converts to and from them.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let cells = arenas.collector();
    /// cells.batch().extend([([0, 0], 'a'), ([1, -1], 'b'), ([2, 0], 'c')]);
    /// let cells = &arenas[cells.share_cell_map(|it| it.0)];
    /// assert!(cells.around([0, 0]).map(|it| it.1).eq(['b', 'a']));
    /// ```
    pub fn around<const N: usize>(&self, centre: K) -> impl Iterator<Item = &T>
    where
        K: From<[i32; N]> + Into<[i32; N]>,
    {
        let centre: [i32; N] = centre.into();
        (0..3_usize.pow(N as u32)).flat_map(move |neighbour| {
            let mut key = centre;
            let mut rest = neighbour;
            for axis in &mut key {
                match axis.checked_add((rest % 3) as i32 - 1) {
                    Some(near) => *axis = near,
                    None => return &[][..],
                }
                rest /= 3;
            }
            self.get(&K::from(key))
        })
    }
}

/// Returns the elements with a key, none if there are none.
impl<K: Hash + Eq + Borrow<Q>, Q: Hash + Eq + ?Sized, T> std::ops::Index<&Q> for CellMap<K, T> {
    type Output = [T];

    #[inline]
    fn index(&self, key: &Q) -> &[T] {
        self.get(key)
    }
}

impl<K: fmt::Debug, T: fmt::Debug> fmt::Debug for CellMap<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// # One list for each key
impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Shares one list for each key. Use it where keys are no small numbers; `key_of` is called once for each
    /// element.
    ///
    /// Within a cell, elements are in no particular order, unless all batches have a number
    /// ([`batch_at`](Self::batch_at)); see also
    /// [`share_cell_map_sorted_by_key`](Self::share_cell_map_sorted_by_key).
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or if `key_of` or a key panics. The elements are dropped
    /// first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let cells = arenas.collector();
    /// cells.batch().extend([("b", 3), ("a", 2), ("b", 1)]);
    /// let cells = &arenas[cells.share_cell_map(|item| item.0)];
    /// assert_eq!(cells["b"], [("b", 3), ("b", 1)]);
    /// ```
    #[track_caller]
    pub fn share_cell_map<K>(self, key_of: impl FnMut(&T) -> K) -> FrameHandle<CellMap<K, T>>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        match self.try_share_cell_map(key_of) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Shares one list for each key.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// # Panics
    /// If `key_of` or a key panics; the elements are dropped first.
    #[track_caller]
    pub fn try_share_cell_map<K>(
        self,
        key_of: impl FnMut(&T) -> K,
    ) -> Result<FrameHandle<CellMap<K, T>>, ArenaError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        self.try_share_cell_map_with(key_of, |_, _| {})
    }

    /// Shares one list for each key, each sorted by another key. Use it where the order must not depend on which
    /// worker was faster.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, or if a closure or a key panics. The elements are dropped
    /// first.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let cells = arenas.collector();
    /// cells.batch().extend([("b", 3), ("a", 2), ("b", 1)]);
    /// let cells = &arenas[cells.share_cell_map_sorted_by_key(|item| item.0, |item| item.1)];
    /// assert_eq!(cells["b"], [("b", 1), ("b", 3)]);
    /// ```
    #[track_caller]
    pub fn share_cell_map_sorted_by_key<K, S: Ord>(
        self,
        key_of: impl FnMut(&T) -> K,
        sort_key: impl FnMut(&T) -> S,
    ) -> FrameHandle<CellMap<K, T>>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        match self.try_share_cell_map_sorted_by_key(key_of, sort_key) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Shares one list for each key, each sorted by another key.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the elements are dropped then.
    ///
    /// # Panics
    /// If a closure or a key panics; the elements are dropped first.
    #[track_caller]
    pub fn try_share_cell_map_sorted_by_key<K, S: Ord>(
        self,
        key_of: impl FnMut(&T) -> K,
        mut sort_key: impl FnMut(&T) -> S,
    ) -> Result<FrameHandle<CellMap<K, T>>, ArenaError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        self.try_share_cell_map_with(key_of, |list, ends| sort_each(list, ends, &mut sort_key))
    }

    #[track_caller]
    fn try_share_cell_map_with<K>(
        mut self,
        mut key_of: impl FnMut(&T) -> K,
        finish: impl FnOnce(&mut [T], &[u32]),
    ) -> Result<FrameHandle<CellMap<K, T>>, ArenaError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        let arenas = self.arenas;
        let (arena, scratch) = (arenas.local(), arenas.scratch());
        // If most elements have a key to themselves, the table grows once.
        let first_slots = self.try_len()?.max(LEAST_SLOTS).checked_next_power_of_two();
        let mut slots = scratch.vec();
        slots.try_resize(first_slots.ok_or(too_long::<T>(usize::MAX))?, 0_u32)?;
        let mut keys = scratch.vec();
        let mut ends = scratch.vec();
        ends.try_push(0)?;
        let mut list = arena.vec();
        self.try_gather_cells(&mut list, &mut ends, |value, ends| {
            let key = key_of(value);
            match find(&slots, &keys, &key) {
                Ok(cell) => Ok::<_, ArenaError>(cell),
                Err(slot) => {
                    let cell = keys.len();
                    ends.try_push(0)?;
                    keys.try_push(key)?;
                    slots[slot] = keys.len() as u32;
                    if 2 * keys.len() > slots.len() {
                        try_grow(&mut slots, &keys)?;
                    }
                    Ok(cell)
                }
            }
        })?;
        finish(&mut list, &ends);
        let ends = arena.try_share_slice_copy(&ends)?;
        let mut shared = arena.try_boxed(CellMap {
            keys: FrameHandle::default(),
            slots: arena.try_share_slice_copy(&slots)?,
            cells: Cells::new(ends),
        })?;
        let mut own_keys = arena.try_vec_with_capacity(keys.len())?;
        own_keys.append(&mut keys);
        shared.keys = own_keys.try_share()?;
        shared.cells.set_elements(list.try_share()?);
        shared.try_share()
    }
}

/// Returns the cell of a key, or the slot where it would be.
///
/// Keys may lie about their hash and whether they are equal: there is always an empty slot, so it ends.
#[inline]
fn find<K: Borrow<Q>, Q: Hash + Eq + ?Sized>(
    slots: &[u32],
    keys: &[K],
    key: &Q,
) -> Result<usize, usize> {
    let mask = slots.len() - 1;
    let mut slot = FixedState::default().hash_one(key) as usize & mask;
    loop {
        match slots[slot] {
            0 => return Err(slot),
            cell if keys[cell as usize - 1].borrow() == key => return Ok(cell as usize - 1),
            _ => slot = (slot + 1) & mask,
        }
    }
}

/// Makes the table larger, and enters all keys anew.
#[cold]
#[inline(never)]
fn try_grow<K: Hash>(slots: &mut FrameVec<'_, u32>, keys: &[K]) -> Result<(), ArenaError> {
    let len = slots.len().checked_mul(2);
    let len = len.ok_or_else(|| too_long::<u32>(slots.len()))?;
    slots.clear();
    slots.try_resize(len, 0)?;
    for (cell, key) in (1..).zip(keys) {
        let mut slot = FixedState::default().hash_one(key) as usize & (len - 1);
        while slots[slot] != 0 {
            slot = (slot + 1) & (len - 1);
        }
        slots[slot] = cell;
    }
    Ok(())
}
