//! Moves the elements of all batches into one list. The caller's code that determines their order runs before
//! they move, except for a sort in place.
#![expect(unsafe_code, reason = "moves elements between raw memory")]

use std::array;
use std::cmp::Ordering;
use std::mem::{self, MaybeUninit};
use std::ops::DerefMut;
use std::ptr::{self, NonNull};

use super::batch::Segment;
use super::{FrameCollector, GatherInto};
use crate::arena::{FrameArena, too_long};
use crate::containers::FrameVec;
use crate::error::ArenaError;
use crate::handles::FrameHandle;
use crate::panics::FirstPanic;

/// The most sorted runs that are merged. If there are more, all elements are sorted.
const MERGED_RUNS: usize = 8;

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
        let (len, scratch) = (self.len(), self.arenas.scratch());
        let mut parts = self.try_take(&scratch)?;
        let mut merged = scratch.vec();
        let is_sorted = match &mut compare {
            Some(compare) => try_sort_parts(&mut parts, len, &mut merged, compare)?,
            None => true,
        };
        let room = target.try_room(len)?;
        if merged.is_empty() {
            drop(merged);
            let rest = parts.into_iter().fold(&mut room[..], Elements::move_to);
            assert!(rest.is_empty(), "there is an element for each slot");
        } else {
            assert_eq!(merged.len(), len, "there is an element for each slot");
            for (slot, value) in room.iter_mut().zip(&merged) {
                // SAFETY: a merge has each element once, whatever `compare` returns, and the parts are
                // forgotten below.
                slot.write(unsafe { ptr::read(*value) });
            }
            drop(merged);
            parts.into_iter().for_each(Elements::forget);
        }
        // SAFETY: all of it was filled.
        let filled = Elements(unsafe { room.assume_init_mut() });
        if let (false, Some(compare)) = (is_sorted, compare) {
            filled.0.sort_unstable_by(compare);
        }
        filled.forget();
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
        let len = self.len();
        if u32::try_from(len).is_err() {
            return Err(too_long::<T>(len));
        }
        let (arenas, scratch) = (self.arenas, self.arenas.scratch());
        let parts = self.try_take(&scratch)?;
        let mut cells = scratch.try_vec_with_capacity(len)?;
        let mut rest = &mut cells.spare_capacity_mut()[..len];
        for part in &parts {
            let (slots, others) = rest.split_at_mut(part.0.len());
            rest = others;
            for (value, slot) in part.0.iter().zip(slots) {
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
            let (cells, others) = rest.split_at(part.0.len());
            rest = others;
            for (value, cell) in part.0.iter().zip(cells) {
                let next = &mut ends[*cell as usize];
                // SAFETY: each element moves once, and the parts are forgotten below. Nothing panics before
                // that: each slot was counted, so its index is in bounds.
                room[*next as usize].write(unsafe { ptr::read(value) });
                *next += 1;
            }
        }
        parts.into_iter().for_each(Elements::forget);
        // SAFETY: each cell has one slot for each element, and all slots together are the room.
        unsafe { list.set_len(len) };
        Ok(list)
    }

    /// Returns the number of elements.
    pub(super) fn len(&mut self) -> usize {
        let slices = self.batches().flat_map(Segment::slices);
        slices.map(NonNull::len).sum()
    }

    /// Takes the elements out of all batches, in the order of the batches' numbers.
    fn try_take<'s>(
        mut self,
        scratch: &'s FrameArena,
    ) -> Result<FrameVec<'s, Elements<'a, T>>, ArenaError> {
        let mut batches = scratch.try_collect(self.batches())?;
        batches.sort_unstable_by_key(|batch| batch.kind);
        let slices = || batches.iter().flat_map(|batch| batch.slices());
        let mut parts = scratch.try_vec_with_capacity(slices().count())?;
        for mut values in slices() {
            // SAFETY: the elements were written, and stay in place while the arenas are borrowed. Nothing panics
            // before the collector forgets them.
            parts.push(Elements(unsafe { values.as_mut() }));
        }
        drop(batches);
        // From here on, the parts drop the elements.
        self.registered.clear();
        Ok(parts)
    }
}

/// Elements in one piece, which are dropped with it, even if a destructor panics. It is not empty, unless it was
/// forgotten.
pub(super) struct Elements<'a, T>(pub(super) &'a mut [T]);

impl<T> Elements<'_, T> {
    /// Moves the elements to the first slots, and returns the other slots.
    #[inline]
    fn move_to(slots: &mut [MaybeUninit<T>], this: Self) -> &mut [MaybeUninit<T>] {
        let (slots, others) = slots.split_at_mut(this.0.len());
        let from = this.0.as_ptr().cast();
        // SAFETY: there are as many slots as elements, and two exclusive borrows do not overlap.
        unsafe { ptr::copy_nonoverlapping(from, slots.as_mut_ptr(), slots.len()) };
        this.forget();
        others
    }

    /// Gives up the elements without dropping them.
    #[inline]
    fn forget(mut self) {
        self.0 = &mut [];
    }

    fn first(&self) -> &T {
        &self.0[0]
    }

    fn last(&self) -> &T {
        &self.0[self.0.len() - 1]
    }
}

impl<T> Drop for Elements<'_, T> {
    fn drop(&mut self) {
        if !mem::needs_drop::<T>() {
            return;
        }
        let mut panic = FirstPanic::default();
        for value in &mut *self.0 {
            // SAFETY: this value owns the elements, and each is visited once.
            panic.catch(|| unsafe { ptr::drop_in_place(value) });
        }
        panic.resume();
    }
}

/// Orders the parts so that all elements are in order, one part after the other. If that is not possible, writes
/// references to the elements to `merged`, in order. Returns `false` if a part is not sorted, or if the parts are
/// more than [`MERGED_RUNS`] runs.
///
/// The batches of a `par_iter` are usually parts of one sorted or reversed list, e.g. of entities in the order
/// of a query. Ordered by their first elements, they form that list again. With several archetypes, each
/// archetype is a sorted run, and the runs are merged.
fn try_sort_parts<'p, T>(
    parts: &'p mut [Elements<'_, T>],
    len: usize,
    merged: &mut FrameVec<'_, &'p T>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> Result<bool, ArenaError> {
    for part in &mut *parts {
        if compare(part.first(), part.last()).is_gt() {
            part.0.reverse();
        }
        if !part.0.is_sorted_by(|a, b| compare(a, b).is_le()) {
            return Ok(false);
        }
    }
    parts.sort_unstable_by(|a, b| compare(a.first(), b.first()));
    let scratch = merged.arena();
    let mut runs: [FrameVec<&Elements<T>>; MERGED_RUNS] = array::from_fn(|_| scratch.vec());
    for part in &*parts {
        // A part continues the first run that it can.
        let mut can_continue = |run: &FrameVec<&Elements<T>>| {
            let end = run.last();
            end.is_none_or(|end| compare(end.last(), part.first()).is_le())
        };
        let Some(run) = runs.iter_mut().find(|run| can_continue(run)) else {
            return Ok(false);
        };
        run.try_push(part)?;
    }
    if runs[1].is_empty() {
        return Ok(true);
    }
    merged.try_reserve(len)?;
    for run in &runs {
        // From the end, so that nothing is in the way: behind `old`, there is a slot for each element of the run
        // that is left.
        let mut old = merged.len();
        merged.extend(run.iter().flat_map(|part| &*part.0));
        let mut end = merged.len();
        for value in run.iter().rev().flat_map(|part| part.0.iter().rev()) {
            while old > 0 && compare(merged[old - 1], value).is_gt() {
                (old, end) = (old - 1, end - 1);
                merged[end] = merged[old];
            }
            end -= 1;
            merged[end] = value;
        }
    }
    Ok(true)
}
