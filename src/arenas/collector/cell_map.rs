//! Elements in one list for each key, with keys of any type.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::ops::Index;

use foldhash::fast::FixedState;

use super::FrameCollector;
use super::cells::{Cells, Flat, Within, sort_each};
use crate::containers::{FrameVec, or_fail};
use crate::error::ArenaError;
use crate::handles::FrameHandle;

/// The slots of a new table, which fit into the first-level cache; a power of two.
const FIRST_SLOTS: usize = 8192;

/// The fewest slots for each key. Most keys are then in the first slot, or found to be missing there: a processor
/// that predicts otherwise loses more time than a smaller table saves.
const SLOTS_PER_KEY: usize = 4;

/// Elements in one list for each key: made by [`FrameCollector::share_cell_map`].
///
/// This is a hash map that can be shared. Use it for keys such as the `IVec2` of an endless grid. If the keys are
/// small numbers, [`Cells`] are faster.
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
    keys: Within<[K]>,
    /// The hash table; its length is a power of two. A slot is 0 if it is empty, or the number of a cell plus 1.
    slots: Within<[u32]>,
    cells: Cells<T>,
}

impl<K, T> CellMap<K, T> {
    /// Returns the number of keys. Each has at least one element.
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns each key with its elements. Keys come in the order of their first elements, which depends on
    /// which worker was faster, unless all batches have a number.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &[T])> {
        self.keys.iter().zip(self.cells.iter())
    }
}

impl<K: Hash + Eq, T> CellMap<K, T> {
    /// Returns the elements of a cell and of its neighbours: 3 x 3 cells for keys of two coordinates, 3 x 3 x 3 for
    /// three. Keys may be `IVec2`, `IVec3`, arrays of `i32`, and other types that convert to and from such arrays.
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
        let keys = (0..3_usize.pow(N as u32)).filter_map(move |neighbour| {
            let (mut key, mut rest) = (centre, neighbour);
            for axis in &mut key {
                *axis = axis.checked_add((rest % 3) as i32 - 1)?;
                rest /= 3;
            }
            Some(K::from(key))
        });
        Flat::new(keys.map(|key| &self[&key]))
    }
}

/// Returns the elements of a key. The slice is empty if there are none.
///
/// ```
/// # use bevy_frame_arena::FrameArenas;
/// let arenas = FrameArenas::default();
/// let words = arenas.collector();
/// words.batch().extend(["one", "three", "two"]);
/// let by_first = &arenas[words.share_cell_map(|word| String::from(&word[..1]))];
/// assert_eq!(by_first["t"], ["three", "two"]);
/// assert!(by_first["z"].is_empty());
/// ```
impl<K: Hash + Eq + Borrow<Q>, Q: Hash + Eq + ?Sized, T> Index<&Q> for CellMap<K, T> {
    type Output = [T];

    #[inline]
    fn index(&self, key: &Q) -> &[T] {
        let cell = find(&self.slots, &self.keys, key).ok();
        cell.and_then(|cell| self.cells.get(cell))
            .unwrap_or_default()
    }
}

impl<K: fmt::Debug, T: fmt::Debug> fmt::Debug for CellMap<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// # One list for each key
impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Shares one list for each key. Use it where keys are not small numbers. `key_of` is called once for each
    /// element.
    ///
    /// Within a cell, elements are in no particular order, unless all batches have a number
    /// ([`batch_at`](Self::batch_at)); see also
    /// [`share_cell_map_sorted_by_key`](Self::share_cell_map_sorted_by_key).
    ///
    /// # Panics
    /// If memory is refused, or if `key_of`, or `Hash` or `Eq` of a key, panics. The elements are dropped.
    #[track_caller]
    pub fn share_cell_map<K>(self, key_of: impl FnMut(&T) -> K) -> FrameHandle<CellMap<K, T>>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        or_fail(self.try_share_cell_map(key_of, |_, _| {}))
    }

    /// Shares as [`share_cell_map`](Self::share_cell_map) does, and sorts each list by another key. Use it where
    /// the order must not depend on which worker was faster.
    #[track_caller]
    pub fn share_cell_map_sorted_by_key<K, S: Ord>(
        self,
        key_of: impl FnMut(&T) -> K,
        sort_key: impl FnMut(&T) -> S,
    ) -> FrameHandle<CellMap<K, T>>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        let sort = |list: &mut [T], ends: &[u32]| sort_each(list, ends, sort_key);
        or_fail(self.try_share_cell_map(key_of, sort))
    }

    #[track_caller]
    fn try_share_cell_map<K>(
        mut self,
        mut key_of: impl FnMut(&T) -> K,
        finish: impl FnOnce(&mut [T], &[u32]),
    ) -> Result<FrameHandle<CellMap<K, T>>, ArenaError>
    where
        K: Hash + Eq + Send + Sync + 'static,
    {
        let arenas = self.arenas;
        let (arena, scratch) = (arenas.local(), arenas.scratch());
        let len = self.len();
        let mut slots = scratch.vec();
        slots.try_resize(slots_for(len).min(FIRST_SLOTS), 0_u32)?;
        // With room for all cells of this table, it does not grow beside the keys, which would move both.
        let mut ends = scratch.try_vec_with_capacity(slots.len() / SLOTS_PER_KEY)?;
        let mut keys = scratch.vec();
        let mut list = self.try_gather_cells(&mut ends, |value, ends| {
            let key = key_of(value);
            match find(&slots, &keys, &key) {
                Ok(cell) => Ok(cell),
                Err(slot) => {
                    let cell = keys.len();
                    ends.try_push(0)?;
                    keys.try_push(key)?;
                    slots[slot] = keys.len() as u32;
                    if SLOTS_PER_KEY * keys.len() > slots.len() {
                        // If new keys come as often as so far, the table does not grow again. `max` is for a
                        // product that saturates.
                        let seen = 1 + ends.iter().sum::<u32>() as usize;
                        let expected = keys.len().saturating_mul(len) / seen;
                        try_grow(&mut slots, &keys, expected.max(keys.len()))?;
                    }
                    Ok(cell)
                }
            }
        })?;
        let mut bounds = arena.try_vec_with_capacity(ends.len() + 1)?;
        bounds.push(0);
        bounds.extend_from_slice(&ends);
        finish(&mut list, &bounds);
        let mut shared = arena.try_boxed(CellMap {
            keys: Within(FrameHandle::default()),
            slots: Within(arena.try_share_slice_copy(&slots)?),
            cells: Cells {
                elements: Within(FrameHandle::default()),
                ends: Within(bounds.try_share()?),
            },
        })?;
        let mut own_keys = arena.try_vec_with_capacity(keys.len())?;
        own_keys.append(&mut keys);
        shared.keys = Within(own_keys.try_share()?);
        shared.cells.elements = Within(list.try_share()?);
        shared.try_share()
    }
}

/// Returns the cell of a key, or the slot where it would be.
///
/// An empty slot always exists, so the search ends even if `Hash` or `Eq` of the keys is wrong.
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

/// Returns the number of slots for this many keys, which is a power of two. If that is too large for a number, the
/// result is too large for memory.
fn slots_for(keys: usize) -> usize {
    let slots = keys.max(1).checked_mul(SLOTS_PER_KEY);
    let slots = slots.and_then(usize::checked_next_power_of_two);
    slots.unwrap_or(usize::MAX)
}

/// Replaces the table with a larger one, for `expected` keys, and inserts all keys again.
#[cold]
#[inline(never)]
fn try_grow<K: Hash + Eq>(
    slots: &mut FrameVec<'_, u32>,
    keys: &[K],
    expected: usize,
) -> Result<(), ArenaError> {
    slots.clear();
    slots.try_resize(slots_for(expected), 0)?;
    for (cell, key) in (1..).zip(keys) {
        // A key that lies may be found. Then its cell has no slot.
        if let Err(slot) = find(slots, keys, key) {
            slots[slot] = cell;
        }
    }
    Ok(())
}
