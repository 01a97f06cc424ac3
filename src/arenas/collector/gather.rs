//! Moves the elements of all batches into one list. The caller's code that determines their order runs before
//! they move, except for a sort in place.
#![expect(unsafe_code, reason = "moves elements between raw memory")]

use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ops::DerefMut;
use std::ptr::{self, NonNull};
use std::slice;

use super::batch::{Kind, Segment};
use super::{FrameCollector, drop_each};
use crate::arena::{FrameArena, too_long};
use crate::containers::FrameVec;
use crate::error::ArenaError;
use crate::handles::FrameHandle;
use crate::panics::FirstPanic;

/// The most sorted runs that are merged. If there are more, all elements are sorted.
const MERGED_RUNS: usize = 8;

/// Memory into which a collector can move its elements: a `&mut Vec`, a `&mut FrameVec`, or a
/// `&mut [MaybeUninit]` such as a mapped buffer. See [`FrameCollector::gather_into`].
pub trait GatherInto<T>: sealed::Target<T> {}

impl<T, G: sealed::Target<T>> GatherInto<T> for G {}

mod sealed {
    use super::{ArenaError, MaybeUninit};

    pub trait Target<T>: Sized {
        type Filled;

        /// Returns room for `len` elements.
        fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError>;

        /// Takes over the elements.
        ///
        /// # Safety
        /// The last call must have been `try_room(len)`, and all of that room must be initialised.
        unsafe fn filled(self, len: usize) -> Self::Filled;
    }
}

impl<T> sealed::Target<T> for &mut Vec<T> {
    type Filled = ();

    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        self.reserve(len);
        Ok(&mut self.spare_capacity_mut()[..len])
    }

    unsafe fn filled(self, len: usize) {
        let len = self.len() + len;
        // SAFETY: the room for `len` elements behind the length was filled.
        unsafe { self.set_len(len) };
    }
}

impl<T> sealed::Target<T> for &mut FrameVec<'_, T> {
    type Filled = ();

    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        self.try_reserve(len)?;
        Ok(&mut self.spare_capacity_mut()[..len])
    }

    unsafe fn filled(self, len: usize) {
        let len = self.len() + len;
        // SAFETY: the room for `len` elements behind the length was filled.
        unsafe { self.set_len(len) };
    }
}

impl<'r, T> sealed::Target<T> for &'r mut [MaybeUninit<T>] {
    type Filled = &'r mut [T];

    #[track_caller]
    fn try_room(&mut self, len: usize) -> Result<&mut [MaybeUninit<T>], ArenaError> {
        let room = self.len();
        match self.get_mut(..len) {
            Some(slots) => Ok(slots),
            None => panic!("{len} elements were collected, and there is room for {room}"),
        }
    }

    unsafe fn filled(self, len: usize) -> &'r mut [T] {
        // SAFETY: the first `len` slots were filled.
        unsafe { self[..len].assume_init_mut() }
    }
}

impl<T: Send + Sync + 'static> FrameCollector<'_, T> {
    /// Shares all elements, in the order of `compare`. They are shared in place if they lie in one piece of the
    /// calling thread's arena.
    ///
    /// Not in another thread's arena: a handle keeps the memory of the arena that made it, and only the owner of
    /// an arena can make one.
    #[track_caller]
    pub(super) fn try_share_list(
        mut self,
        compare: Option<impl FnMut(&T, &T) -> Ordering>,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        let arena = self.arenas.local();
        let Some(mut values) = self.only_slice_in(arena) else {
            let mut list = arena.vec();
            self.try_gather(&mut list, compare)?;
            return list.try_share();
        };
        let room = arena.try_room_for_drop::<T>()?;
        if let Some(compare) = compare {
            // SAFETY:
            // - the elements were written, and the collector is not used meanwhile;
            // - a sort that panics leaves each of them in place once, for the collector to drop.
            unsafe { values.as_mut() }.sort_unstable_by(compare);
        }
        self.registered.clear();
        // SAFETY:
        // - the room was taken from this arena for `T`;
        // - the elements lie in memory of this arena, and the collector has just forgotten them.
        Ok(unsafe { arena.share_leaked(values, room) })
    }

    /// Returns the elements, if they are one slice in this arena.
    fn only_slice_in(&mut self, arena: &FrameArena) -> Option<NonNull<[T]>> {
        let mut all = self.batches().flat_map(|batch| {
            let is_own = ptr::eq(batch.arena.as_ptr(), arena);
            batch.slices().map(move |slice| (is_own, slice))
        });
        let (is_own, slice) = all.next()?;
        (is_own && all.next().is_none()).then_some(slice)
    }
}

impl<'a, T: Send> FrameCollector<'a, T> {
    /// Moves all elements to `target`, in the order of `compare`. Without `compare`, numbered batches come first,
    /// in the order of their numbers, and then the others in arbitrary order.
    #[track_caller]
    pub(super) fn try_gather<G: GatherInto<T>>(
        mut self,
        mut target: G,
        mut compare: Option<impl FnMut(&T, &T) -> Ordering>,
    ) -> Result<G::Filled, ArenaError> {
        let (len, scratch) = (self.try_len()?, self.arenas.scratch());
        let mut parts = self.try_list(&scratch)?;
        let room = target.try_room(len)?;
        let mut is_reversed = false;
        let merged = match &mut compare {
            None => Some(scratch.vec()),
            Some(compare) => {
                // The first part whose first and last elements differ determines the direction.
                let mut directions = parts.iter().map(|part| compare(part.first(), part.last()));
                is_reversed = directions.find(|it| it.is_ne()) == Some(Ordering::Greater);
                // One closure for both directions would test the direction at each comparison.
                if is_reversed {
                    try_merge(&mut parts, len, &scratch, &mut |a, b| compare(b, a))?
                } else {
                    try_merge(&mut parts, len, &scratch, compare)?
                }
            }
        };
        let mut rest = &mut room[..];
        match merged.as_deref() {
            Some(values @ [_, ..]) => {
                for value in values {
                    // SAFETY: a merge of lists has each of their elements once, whatever `compare` returns, and the
                    // batches are forgotten below.
                    rest = unsafe { move_slice(slice::from_ref(*value), rest) };
                }
            }
            _ => {
                for part in &parts {
                    // SAFETY: sorting the parts has neither lost nor repeated any, and the batches are forgotten below.
                    rest = unsafe { move_slice(part.values, rest) };
                }
            }
        }
        assert!(rest.is_empty(), "there is an element for each slot");
        let is_sorted = merged.is_some();
        drop(merged);
        drop(parts);
        drop(scratch);
        // From here on, their new owner drops the elements.
        self.registered.clear();
        if is_reversed {
            room.reverse();
        }
        if let (false, Some(compare)) = (is_sorted, compare) {
            // SAFETY: all of it was filled.
            let sorted = DropEach(unsafe { room.assume_init_mut() });
            sorted.0.sort_unstable_by(compare);
            mem::forget(sorted);
        }
        // SAFETY: the room was filled.
        Ok(unsafe { target.filled(len) })
    }

    /// Moves all elements into one list, in the order of their cells.
    ///
    /// `assign` is called once for each element and returns its cell. `ends` must be one zero for each cell.
    /// `assign` may append zeros for new cells, and must not change the other entries. Afterwards, each entry is
    /// the end of its cell.
    #[cfg_attr(feature = "sites", track_caller)]
    pub(super) fn try_gather_cells<E: DerefMut<Target = [u32]>>(
        mut self,
        ends: &mut E,
        mut assign: impl FnMut(&T, &mut E) -> Result<usize, ArenaError>,
    ) -> Result<FrameVec<'a, T>, ArenaError> {
        let len = self.try_len()?;
        if u32::try_from(len).is_err() {
            return Err(too_long::<T>(len));
        }
        let (arenas, scratch) = (self.arenas, self.arenas.scratch());
        let parts = self.try_list(&scratch)?;
        let mut cells = scratch.try_vec_with_capacity(len)?;
        let mut rest = &mut cells.spare_capacity_mut()[..len];
        for part in &parts {
            let (slots, others) = rest.split_at_mut(part.values.len());
            rest = others;
            for (value, slot) in part.values.iter().zip(slots) {
                let cell = assign(value, ends)?;
                ends[cell] += 1;
                slot.write(cell as u32);
            }
        }
        assert!(rest.is_empty(), "each element has a cell");
        // SAFETY: all of them were written.
        unsafe { cells.set_len(len) };
        let mut sum = 0;
        for count in ends.iter_mut() {
            // From here on, the entry is the index of the cell's next element. After the last element it is the
            // end of the cell.
            sum += mem::replace(count, sum);
        }
        assert_eq!(sum as usize, len, "each element was counted once");
        let mut list = arenas.local().try_vec_with_capacity(len)?;
        let room = &mut list.spare_capacity_mut()[..len];
        let (mut rest, ends) = (&cells[..], &mut **ends);
        for part in &parts {
            let (cells, others) = rest.split_at(part.values.len());
            rest = others;
            for (value, cell) in part.values.iter().zip(cells) {
                let next = &mut ends[*cell as usize];
                // SAFETY: each element moves once, and the batches are forgotten below. Nothing panics before
                // that: each slot was counted, so its index is in bounds.
                room[*next as usize].write(unsafe { ptr::read(value) });
                *next += 1;
            }
        }
        drop(cells);
        drop(parts);
        // From here on, their new owner drops the elements.
        self.registered.clear();
        // SAFETY: each cell has one slot for each element, and all slots together are the room.
        unsafe { list.set_len(len) };
        Ok(list)
    }

    /// Returns the number of elements.
    pub(super) fn try_len(&mut self) -> Result<usize, ArenaError> {
        let mut lens = self.batches().flat_map(Segment::slices).map(NonNull::len);
        let len = lens.try_fold(0, usize::checked_add);
        len.ok_or_else(|| too_long::<T>(usize::MAX))
    }

    /// Lists the segments of all batches, in the order of the batches' numbers.
    fn try_list<'s>(
        &'s mut self,
        scratch: &'s FrameArena,
    ) -> Result<FrameVec<'s, Part<'s, T>>, ArenaError> {
        let mut parts = scratch.vec();
        for batch in self.batches() {
            for values in batch.slices() {
                // SAFETY: the elements were written. The collector is borrowed exclusively during `'s`, so they are
                // not changed, moved or dropped meanwhile.
                let values = unsafe { values.as_ref() };
                let place = (0, parts.len());
                let kind = batch.kind;
                parts.try_push(Part {
                    values,
                    kind,
                    place,
                })?;
            }
        }
        if parts.iter().any(|part| matches!(part.kind, Kind::At(_))) {
            parts.sort_unstable_by_key(|part| (part.kind, part.place));
        }
        Ok(parts)
    }
}

/// Elements in one piece: a segment of a batch. It is not empty.
struct Part<'c, T> {
    values: &'c [T],
    kind: Kind,
    /// The sorted run that it belongs to, and its position among all parts.
    place: (usize, usize),
}

impl<'c, T> Part<'c, T> {
    fn first(&self) -> &'c T {
        &self.values[0]
    }

    fn last(&self) -> &'c T {
        &self.values[self.values.len() - 1]
    }
}

/// Orders the parts so that they form few sorted runs, and returns the number of runs. Returns `None` if a part
/// is not sorted, or if there are more than [`MERGED_RUNS`].
fn sort_parts<T>(
    parts: &mut [Part<'_, T>],
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> Option<usize> {
    parts.sort_unstable_by(|a, b| compare(a.first(), b.first()));
    let mut is_sorted = |a: &T, b: &T| compare(a, b).is_le();
    // The last element of each run. A part continues the first run that it can.
    let mut runs = [None; MERGED_RUNS];
    for (index, part) in parts.iter_mut().enumerate() {
        let can_continue = |end: &Option<&T>| end.is_none_or(|end| is_sorted(end, part.first()));
        let run = runs.iter().position(can_continue)?;
        if !part.values.is_sorted_by(&mut is_sorted) {
            return None;
        }
        part.place = (run, index);
        runs[run] = Some(part.last());
    }
    let count = runs.iter().flatten().count();
    if count > 1 {
        parts.sort_unstable_by_key(|part| part.place);
    }
    Some(count)
}

/// Orders the parts so that they form few sorted runs, and merges the runs. Returns references to the elements in
/// order, or an empty list if they are in order one part after the other. Returns `None` if a part is not sorted, or
/// if there are too many runs.
///
/// The batches of a `par_iter` are usually parts of one sorted or reversed list, e.g. of entities in the order
/// of a query. Ordered by their first elements, they form that list again. With several archetypes, each
/// archetype is a sorted run.
fn try_merge<'s, T>(
    parts: &mut [Part<'s, T>],
    len: usize,
    scratch: &'s FrameArena,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> Result<Option<FrameVec<'s, &'s T>>, ArenaError> {
    match sort_parts(parts, compare) {
        None => return Ok(None),
        Some(0 | 1) => return Ok(Some(scratch.vec())),
        Some(_) => {}
    }
    let mut merged = scratch.try_vec_with_capacity::<&T>(len)?;
    let mut others = scratch.try_vec_with_capacity::<&T>(len)?;
    for run in parts.chunk_by(|a, b| a.place.0 == b.place.0) {
        mem::swap(&mut merged, &mut others);
        merged.clear();
        let mut rest = &others[..];
        for value in run.iter().flat_map(|part| part.values) {
            while let [other, after @ ..] = rest
                && compare(value, other).is_ge()
            {
                merged.push(*other);
                rest = after;
            }
            merged.push(value);
        }
        merged.extend_from_slice(rest);
    }
    Ok(Some(merged))
}

/// Copies the elements to the first slots, and returns the other slots.
///
/// # Safety
/// Before the elements are used or dropped, the caller must forget them or the copies.
#[inline]
unsafe fn move_slice<'r, T>(
    values: &[T],
    slots: &'r mut [MaybeUninit<T>],
) -> &'r mut [MaybeUninit<T>] {
    let (slots, others) = slots.split_at_mut(values.len());
    let (from, to) = (values.as_ptr().cast(), slots.as_mut_ptr());
    // SAFETY: there are as many slots as values, and the target's memory does not overlap the collector's.
    unsafe { ptr::copy_nonoverlapping(from, to, slots.len()) };
    others
}

/// Drops the elements if a comparison panics, even if destructors panic as well.
struct DropEach<'r, T>(&'r mut [T]);

impl<T> Drop for DropEach<'_, T> {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        // SAFETY: the elements are valid, and are not used again: the target does not take them over.
        unsafe { drop_each(NonNull::from(&mut *self.0), &mut panic) };
        panic.resume();
    }
}
