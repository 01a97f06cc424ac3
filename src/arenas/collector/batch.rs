//! A batch: the elements that one worker adds, in its own arena.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::iter::successors;
use std::mem::{self, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

use crate::arena::{FrameArena, OnOneThread, Purpose, too_long};
use crate::containers::or_fail;
use crate::error::ArenaError;

/// The size of a batch's first segment that has room. Each further segment is twice as long, up to `LAST_BYTES`, unless
/// an iterator is known to need more.
const FIRST_BYTES: usize = 256;
const LAST_BYTES: usize = 32 << 10;

/// Adds elements to a [`FrameCollector`](super::FrameCollector), from one thread.
///
/// It has the size of a reference and no destructor. That makes it fast in `for_each_init`, where Bevy
/// passes it from item to item by value. Its elements belong to the collector, also after the batch is
/// dropped.
// Neither `Send` nor `Sync`: its segments and arena belong to one thread.
pub struct Batch<'c, T> {
    /// The last segment.
    segment: OnOneThread<&'c Segment<T>>,
}

// An element is counted after it is written: a panic leaves no partly written element.
impl<T> UnwindSafe for Batch<'_, T> {}
impl<T> RefUnwindSafe for Batch<'_, T> {}

impl<'c, T> Batch<'c, T> {
    pub(super) fn new(segment: &'c Segment<T>) -> Self {
        Self {
            segment: OnOneThread::new(segment),
        }
    }

    /// Adds an element.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the element is dropped first.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        let segment = self.segment.0;
        if segment.is_full() {
            *self = Self::new(segment.push_slow(value));
            return;
        }
        // SAFETY: there is room.
        unsafe { segment.put(value) };
    }

    /// Adds an element, or returns an error and drops it.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), ArenaError> {
        if self.segment.0.is_full() {
            *self = Self::new(self.segment.0.try_grow()?);
        }
        // SAFETY: there is room: `try_grow` made some.
        unsafe { self.segment.0.put(value) };
        Ok(())
    }

    /// Adds copies of the elements of a slice: with one `memcpy`, if there is memory for all of them in one piece.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; elements added before that stay.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.batch().extend_from_slice(&[3, 1, 2]);
    /// assert_eq!(arenas[collector.share_sorted()], [1, 2, 3]);
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        self.reserve(values.len());
        let segment = self.segment.0;
        let (first, others) = values.split_at(values.len().min(segment.room().unwrap_or(0)));
        // The end of zero-sized elements is a number, not an aligned address.
        if size_of::<T>() != 0 {
            let end = segment.end.get();
            // SAFETY: there is room for these elements, and nothing else reads or writes it.
            unsafe { ptr::copy_nonoverlapping(first.as_ptr(), end, first.len()) };
            // SAFETY: as above, so the sum is at most the limit.
            segment.end.set(unsafe { end.add(first.len()) });
        }
        others.iter().for_each(|value| self.push(*value));
    }

    /// Makes room for `len` elements in one segment, if there is memory. If they do not fit into the last one, it
    /// stays as it is.
    fn reserve(&mut self, len: usize) {
        let segment = self.segment.0;
        if segment.room().is_some_and(|room| room < len) {
            // Not less than usual: otherwise short iterators would get a segment each. If it is refused, the
            // elements are pushed one by one.
            if let Ok(next) = segment.try_add(len.max(segment.next_len())) {
                *self = Self::new(next);
            }
        }
    }
}

impl<T> Extend<T> for Batch<'_, T> {
    /// The elements of an iterator with an exact size hint lie in one piece, if there is memory.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; elements added before that stay.
    #[track_caller]
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let mut values = values.into_iter();
        let (least, most) = values.size_hint();
        if most == Some(least) {
            self.reserve(least);
        }
        // An iterator that has ended is not asked again: it may go on, wait or panic.
        while !self.segment.0.fill(&mut values) {
            let Some(value) = values.next() else { return };
            self.push(value);
        }
    }
}

impl<T> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// A part of a batch, in the arena of its worker. Its elements lie behind it and never move: a batch grows by
/// adding a segment, whatever else its worker allocates meanwhile.
///
/// Only that worker's thread uses it until the collector is borrowed exclusively; other threads may read `before`,
/// `arena` and `kind` before that. It stays in place while the arenas are borrowed.
pub(super) struct Segment<T> {
    /// Where the elements start: null for zero-sized ones, whose number is the address of the end.
    start: *mut T,
    /// Where the next element goes.
    end: Cell<*mut T>,
    limit: *mut T,
    /// The next segment of the batch.
    next: Cell<Option<NonNull<Segment<T>>>>,
    pub(super) arena: NonNull<FrameArena>,
    /// The first segment of the batch that was registered before this one; set before other threads can find this
    /// one.
    pub(super) before: Cell<*mut Segment<T>>,
    pub(super) kind: Kind,
}

/// The method that made a batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `batch_at`: these batches come first, in the order of their numbers.
    At(usize),
    /// `batch`.
    Any,
    /// The collector's own `push`.
    Direct,
}

impl<T> Segment<T> {
    /// Makes a segment with room for `len` elements in an arena of the calling thread. A refusal is not counted.
    pub(super) fn try_new(arena: &FrameArena, kind: Kind, len: usize) -> Result<&Self, ArenaError> {
        let elements = Layout::array::<T>(len);
        let layout = elements.and_then(|elements| Layout::new::<Self>().extend(elements));
        let (layout, offset) = layout.map_err(|_| too_long::<T>(len))?;
        let memory = arena.try_alloc_uncounted(layout, Purpose::Fixed)?;
        let (start, limit) = if size_of::<T>() == 0 {
            (ptr::null_mut(), ptr::without_provenance_mut(usize::MAX))
        } else {
            // SAFETY: a segment and its elements are one allocation, where the elements start at this offset.
            let start = unsafe { memory.add(offset) }.cast::<T>().as_ptr();
            // SAFETY: the allocation has room for `len` elements there.
            (start, unsafe { start.add(len) })
        };
        let mut segment = memory.cast::<MaybeUninit<Self>>();
        // SAFETY: the memory was just taken for it.
        Ok(unsafe { segment.as_mut() }.write(Self {
            start,
            end: Cell::new(start),
            limit,
            next: Cell::new(None),
            arena: NonNull::from(arena),
            before: Cell::new(ptr::null_mut()),
            kind,
        }))
    }

    // Takes the element by value, so that the fast path saves nothing across a call.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn push_slow(&self, value: T) -> &Self {
        let next = or_fail(self.try_grow());
        // SAFETY: there is room: `try_grow` made some.
        unsafe { next.put(value) };
        next
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.end.get() == self.limit
    }

    /// # Safety
    /// The segment must not be full.
    #[inline(always)]
    pub(super) unsafe fn put(&self, value: T) {
        let end = self.end.get();
        if size_of::<T>() == 0 {
            mem::forget(value);
            self.end.set(end.wrapping_byte_add(1));
        } else {
            // SAFETY: below the limit, there is room for an element, and nothing else writes to it.
            unsafe { end.write(value) };
            // SAFETY: as above, so the sum is at most the limit.
            self.end.set(unsafe { end.add(1) });
        }
    }

    /// Returns how many more elements fit, unless they are zero-sized.
    fn room(&self) -> Option<usize> {
        let bytes = self.limit.addr() - self.end.get().addr();
        bytes.checked_div(size_of::<T>())
    }

    /// Writes elements for as long as there is room, and returns whether the iterator has ended. The end of the
    /// elements is kept in a register meanwhile.
    #[inline]
    fn fill(&self, values: &mut impl Iterator<Item = T>) -> bool {
        /// Stores the end when it is dropped, even if the iterator panics.
        struct End<'h, T>(&'h Segment<T>, *mut T);
        impl<T> Drop for End<'_, T> {
            fn drop(&mut self) {
                self.0.end.set(self.1);
            }
        }
        if size_of::<T>() == 0 {
            return false;
        }
        let mut end = End(self, self.end.get());
        while end.1 != self.limit {
            let Some(value) = values.next() else {
                return true;
            };
            // SAFETY: below the limit, there is room for an element. The batch is borrowed exclusively, so nothing
            // else writes to the slot or moves the end.
            unsafe { end.1.write(value) };
            // SAFETY: as above, so the sum is at most the limit.
            end.1 = unsafe { end.1.add(1) };
        }
        false
    }

    /// Adds a segment with room for at least one element.
    #[cold]
    #[inline(never)]
    pub(super) fn try_grow(&self) -> Result<&Self, ArenaError> {
        if size_of::<T>() == 0 {
            return Err(too_long::<T>(usize::MAX));
        }
        // Near a limit, a single element may still fit.
        let next = self.try_add(self.next_len()).or_else(|_| self.try_add(1));
        next.inspect_err(|error| self.arena().count_refusal(error))
    }

    /// Adds a segment with room for `len` elements.
    fn try_add(&self, len: usize) -> Result<&Self, ArenaError> {
        let new = Self::try_new(self.arena(), self.kind, len)?;
        // Read only now: a user's global allocator may have pushed to this batch meanwhile.
        self.last().next.set(Some(NonNull::from(new)));
        Ok(new)
    }

    /// Returns the last segment of the batch.
    pub(super) fn last(&self) -> &Self {
        self.chain().last().unwrap_or(self)
    }

    fn arena(&self) -> &FrameArena {
        // SAFETY:
        // - the arena is in place while the collector, and with it the arenas, are borrowed;
        // - this is the thread that owns it: a batch is not `Send`, and the collector's own `push`
        //   finds the calling thread's batch.
        unsafe { self.arena.as_ref() }
    }

    fn next_len(&self) -> usize {
        let bytes = self.limit.addr() - self.start.addr();
        let bytes = (2 * bytes).clamp(FIRST_BYTES, LAST_BYTES);
        (bytes / size_of::<T>()).max(1)
    }

    /// Returns this segment and those after it.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        successors(Some(self), |segment| {
            // SAFETY: segments stay in place while the arenas are borrowed.
            segment.next.get().map(|next| unsafe { next.as_ref() })
        })
    }

    /// Returns the elements from this segment on, in the order they were pushed, one slice for each segment that has
    /// any.
    pub(super) fn slices(&self) -> impl Iterator<Item = NonNull<[T]>> {
        let slices = self.chain().map(|it| {
            let start = NonNull::new(it.start).unwrap_or(NonNull::dangling());
            let len = (it.end.get().addr() - it.start.addr()) / size_of::<T>().max(1);
            NonNull::slice_from_raw_parts(start, len)
        });
        slices.filter(|slice| !slice.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arenas::FrameArenas;

    fn first_of<T>(arena: &FrameArena) -> &Segment<T> {
        Segment::try_new(arena, Kind::Any, 0).expect("there is memory")
    }

    #[test]
    fn more_zero_sized_elements_than_a_number_can_count_are_refused() {
        let arena = FrameArena::new(128);
        let first = first_of(&arena);
        first.end.set(ptr::without_provenance_mut(usize::MAX - 1));
        assert_eq!(Batch::new(first).try_push(()), Ok(()));
        assert_eq!(
            Batch::new(first).try_push(()),
            Err(too_long::<()>(usize::MAX))
        );
        assert_eq!(first.slices().map(NonNull::len).sum::<usize>(), usize::MAX);
    }

    #[test]
    fn more_elements_than_the_ends_of_cells_can_count_are_refused() {
        let arenas = FrameArenas::default();
        let len = u32::MAX as usize + 1;
        let full = || {
            let collector = arenas.collector::<()>();
            let first = collector.try_register(Kind::Any).expect("there is memory");
            first.end.set(ptr::without_provenance_mut(len));
            collector
        };
        let refused = |(): &()| -> usize { panic!("no element is looked at") };
        let error = full().try_share_cells(1, refused).expect_err("too many");
        assert_eq!(error, too_long::<()>(len));
        let error = full().try_share_cell_map(refused).expect_err("too many");
        assert_eq!(error, too_long::<()>(len));
    }

    #[test]
    fn short_iterators_of_known_length_go_to_segments_of_the_usual_size() {
        let arena = FrameArena::new(1 << 20);
        let first = first_of(&arena);
        let mut batch = Batch::new(first);
        (0..100).for_each(|n| batch.extend([n, n + 1_u64]));
        assert!(first.slices().map(NonNull::len).eq([32, 64, 104]));
        batch.extend(0..1000);
        assert!(first.slices().map(NonNull::len).eq([32, 64, 104, 1000]));
    }

    #[test]
    fn segments_grow_up_to_a_size_and_hold_at_least_one_element() {
        let arena = FrameArena::new(1 << 20);
        let first = first_of::<u64>(&arena);
        let mut batch = Batch::new(first);
        (0..12_500).for_each(|n| batch.push(n));
        let lens: Vec<_> = first.slices().map(NonNull::len).collect();
        assert_eq!(lens[..4], [32, 64, 128, 256]);
        assert_eq!(lens[8], LAST_BYTES / 8);
        let first = first_of(&arena);
        let mut batch = Batch::new(first);
        batch.push([1_u8; 2 * LAST_BYTES]);
        batch.push([2; 2 * LAST_BYTES]);
        assert!(first.slices().map(NonNull::len).eq([1, 1]));
    }
}
