//! Many batches become one list.
#![expect(unsafe_code, reason = "moves elements between raw memory")]

use std::cmp::Ordering;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use super::batch::{Header, array_layout, too_long};
use super::{FrameCollector, drop_each};
use crate::arena::FrameArena;
use crate::containers::FrameVec;
use crate::error::ArenaError;
use crate::panics::FirstPanic;

/// The elements of a collector, side by side in one arena. Dropped, it drops them.
pub(super) struct Gathered<T> {
    values: NonNull<[T]>,
}

impl<T> Gathered<T> {
    /// Gives up the elements: the caller sees to it that they are dropped.
    pub(super) fn leak(self) -> NonNull<[T]> {
        let values = self.values;
        mem::forget(self);
        values
    }

    /// Returns where the elements lie, for who gives them up later.
    pub(super) fn as_ptr(&self) -> NonNull<[T]> {
        self.values
    }
}

impl<T> Deref for Gathered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: all elements were moved here, and nobody else reaches them.
        unsafe { self.values.as_ref() }
    }
}

impl<T> DerefMut for Gathered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { self.values.as_mut() }
    }
}

impl<T> Drop for Gathered<T> {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        // SAFETY: the elements are valid, and end here.
        unsafe { drop_each(self.values, &mut panic) };
        panic.resume();
    }
}

impl<T: Send> FrameCollector<'_, T> {
    /// Moves all elements into `arena`, batch after batch in no particular order.
    pub(super) fn try_gather(mut self, arena: &FrameArena) -> Result<Gathered<T>, ArenaError> {
        let len = self.try_len()?;
        let memory = try_room(arena, len)?;
        let batches = self.batches();
        // SAFETY: there is room for as many elements as the batches have, in fresh memory.
        unsafe { move_to(memory, batches) };
        self.forget_batches();
        Ok(Gathered {
            values: NonNull::slice_from_raw_parts(memory, len),
        })
    }

    /// Moves all elements into `arena`, sorted.
    ///
    /// The batches of a `par_iter` are mostly parts of one list that is sorted, or reversed. Put in
    /// the order of their first elements, they are that list, and the standard library's sort
    /// leaves it, or turns it round, in one pass.
    #[cfg_attr(feature = "sites", track_caller)]
    pub(super) fn try_gather_sorted(
        mut self,
        arena: &FrameArena,
        mut compare: impl FnMut(&T, &T) -> Ordering,
    ) -> Result<Gathered<T>, ArenaError> {
        let len = self.try_len()?;
        let memory = try_room(arena, len)?;
        let scratch = self.arenas.scratch();
        let batches = self.try_list_batches(&scratch)?;
        // The first batch of several elements tells the direction.
        let is_reversed = batches
            .iter()
            .map(|it| compare(it.first, it.last))
            .find(|order| order.is_ne())
            .is_some_and(Ordering::is_gt);
        batches.sort_unstable_by(|a, b| {
            let order = compare(a.first, b.first);
            if is_reversed { order.reverse() } else { order }
        });
        let batches = batches.iter().map(|it| it.batch);
        // SAFETY: as in `try_gather`: each batch that has elements is in the list once, for a sort
        // does not lose any.
        unsafe { move_to(memory, batches) };
        drop(scratch);
        self.forget_batches();
        let mut gathered = Gathered {
            values: NonNull::slice_from_raw_parts(memory, len),
        };
        gathered.sort_unstable_by(compare);
        Ok(gathered)
    }

    /// Moves all elements into a vector.
    pub(super) fn try_fill(mut self, vec: &mut FrameVec<'_, T>) -> Result<(), ArenaError> {
        let len = self.try_len()?;
        let room = vec.spare_capacity_mut();
        assert!(room.len() >= len, "the caller has made room");
        let memory = NonNull::from(room).cast::<T>();
        let batches = self.batches();
        // SAFETY: there is room for as many elements as the batches have.
        unsafe { move_to(memory, batches) };
        self.forget_batches();
        let len = vec.len() + len;
        // SAFETY: as many elements were just moved behind those that were there.
        unsafe { vec.set_len(len) };
        Ok(())
    }

    /// The elements have moved: from now on somebody else drops them.
    fn forget_batches(&mut self) {
        *self.head.get_mut() = ptr::null_mut();
    }

    /// Lists the batches that are not empty, each with its first element, in scratch memory.
    fn try_list_batches<'s>(
        &'s mut self,
        scratch: &'s FrameArena,
    ) -> Result<&'s mut [Filled<'s, T>], ArenaError> {
        let count = self.filled().count();
        let layout = array_layout::<Filled<'_, T>>(count)?;
        let list = scratch.try_alloc_layout(layout)?.cast();
        for (index, entry) in self.filled().enumerate() {
            // SAFETY: there is room for `count`: with `&mut self` nobody adds another meanwhile.
            let place = unsafe { list.add(index) };
            // SAFETY: as above.
            unsafe { place.write(entry) };
        }
        // SAFETY: all are written, in fresh memory that nobody else reaches.
        Ok(unsafe { slice::from_raw_parts_mut(list.as_ptr(), count) })
    }

    /// Returns the batches that have elements, each with its first one.
    fn filled(&mut self) -> impl Iterator<Item = Filled<'_, T>> {
        self.batches().filter_map(|batch| {
            let slice = batch.slices().next()?;
            // SAFETY: with the collector borrowed exclusively, nobody moves, changes or drops the
            // elements.
            let slice = unsafe { slice.as_ref() };
            match slice {
                [first, .., last] => Some(Filled { batch, first, last }),
                [first] => Some(Filled {
                    batch,
                    first,
                    last: first,
                }),
                [] => None,
            }
        })
    }

    pub(super) fn try_len(&mut self) -> Result<usize, ArenaError> {
        let mut lens = self.batches().flat_map(Header::slices).map(NonNull::len);
        lens.try_fold(0_usize, usize::checked_add)
            .ok_or_else(|| too_long::<T>(usize::MAX))
    }
}

/// A batch that is not empty, and the ends of its first segment.
struct Filled<'b, T> {
    batch: &'b Header<T>,
    first: &'b T,
    last: &'b T,
}

fn try_room<T>(arena: &FrameArena, len: usize) -> Result<NonNull<T>, ArenaError> {
    Ok(arena.try_alloc_layout(array_layout::<T>(len)?)?.cast())
}

/// Moves the elements of `batches` to `target`. The caller forgets the batches then.
///
/// # Safety
/// - `batches` have all elements of a collector that is borrowed exclusively, each once;
/// - `target` is aligned and has room for them, and they do not lie there yet.
unsafe fn move_to<'b, T: 'b>(target: NonNull<T>, batches: impl Iterator<Item = &'b Header<T>>) {
    // Nothing in here calls back: each element has one owner, before and after.
    let mut next = target;
    for values in batches.flat_map(Header::slices) {
        let (start, len) = (values.cast::<T>(), values.len());
        // SAFETY: the caller promises the room, and that the two do not overlap.
        unsafe { start.copy_to_nonoverlapping(next, len) };
        // SAFETY: as above.
        next = unsafe { next.add(len) };
    }
}
