//! A batch: the elements that one worker adds, in its own arena.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::iter::successors;
use std::mem::MaybeUninit;
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
        let (first, others) = values.split_at(values.len().min(segment.room()));
        let end = segment.end.get();
        // SAFETY: there is room for these elements, and nothing else reads or writes it.
        unsafe { ptr::copy_nonoverlapping(first.as_ptr(), end.as_ptr(), first.len()) };
        // SAFETY: as above, so the sum is at most the limit.
        segment
            .end
            .set(unsafe { end.byte_add(first.len() * Segment::<T>::STRIDE) });
        others.iter().for_each(|value| self.push(*value));
    }

    /// Makes room for `len` elements in one segment, if there is memory. If they do not fit into the last one, it
    /// stays as it is.
    fn reserve(&mut self, len: usize) {
        let segment = self.segment.0;
        if segment.room() < len {
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
        if !self.segment.0.fill(&mut values) {
            self.extend_by_rest(values);
        }
    }
}

impl<T> Batch<'_, T> {
    /// Adds the rest of an iterator that has more elements than the last segment has room. Out of line, so that
    /// the compiler inlines the iterator into the loop that fills the segment.
    #[cold]
    #[track_caller]
    fn extend_by_rest(&mut self, mut values: impl Iterator<Item = T>) {
        // An iterator that has ended is not asked again: it may go on, wait or panic.
        while let Some(value) = values.next() {
            self.push(value);
            if self.segment.0.fill(&mut values) {
                return;
            }
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
/// Only that worker's thread uses it until the collector is borrowed exclusively. It stays in place while the arenas are borrowed.
pub(super) struct Segment<T> {
    start: NonNull<T>,
    /// Where the next element goes.
    end: Cell<NonNull<T>>,
    limit: NonNull<T>,
    /// The next segment of the batch.
    next: Cell<Option<NonNull<Segment<T>>>>,
    pub(super) arena: NonNull<FrameArena>,
    /// The first segment of the batch that was registered before this one; set before other threads can find this
    /// one.
    pub(super) before: Cell<*mut Segment<T>>,
    pub(super) kind: Kind,
}

/// The method that made a batch, in the order in which elements are gathered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `batch_at`, with its number.
    At(usize),
    /// `batch`.
    Any,
    /// The collector's own `push`.
    Direct,
}

impl<T> Segment<T> {
    /// The distance of elements in bytes. Zero-sized ones take memory too, so that their number follows from
    /// addresses like any other.
    const STRIDE: usize = if size_of::<T>() == 0 {
        align_of::<T>()
    } else {
        size_of::<T>()
    };

    /// Makes a segment with room for `len` elements in an arena of the calling thread. A refusal is not counted.
    pub(super) fn try_new(arena: &FrameArena, kind: Kind, len: usize) -> Result<&Self, ArenaError> {
        let bytes = len.saturating_mul(Self::STRIDE);
        let elements = Layout::from_size_align(bytes, align_of::<T>());
        let layout = elements.and_then(|elements| Layout::new::<Self>().extend(elements));
        let (layout, offset) = layout.map_err(|_| too_long::<T>(len))?;
        let memory = arena.try_alloc_uncounted(layout, Purpose::Fixed)?;
        // SAFETY: a segment and its elements are one allocation, where the elements start at this offset.
        let start = unsafe { memory.add(offset) }.cast::<T>();
        // SAFETY: the allocation has this many bytes there.
        let limit = unsafe { start.byte_add(bytes) };
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
        // SAFETY: below the limit, there is room for an element, and nothing else writes to it.
        unsafe { end.write(value) };
        // SAFETY: as above, so the sum is at most the limit.
        self.end.set(unsafe { end.byte_add(Self::STRIDE) });
    }

    /// Returns how many more elements fit.
    fn room(&self) -> usize {
        Self::between(self.end.get(), self.limit)
    }

    /// Returns the number of elements between two addresses.
    fn between(start: NonNull<T>, end: NonNull<T>) -> usize {
        (end.addr().get() - start.addr().get()) / Self::STRIDE
    }

    /// Writes elements for as long as there is room, and returns whether the iterator has ended. The end of the
    /// elements is kept in a register meanwhile.
    #[inline]
    fn fill(&self, values: &mut impl Iterator<Item = T>) -> bool {
        /// Stores the end when it is dropped, even if the iterator panics.
        struct End<'h, T>(&'h Segment<T>, NonNull<T>);
        impl<T> Drop for End<'_, T> {
            fn drop(&mut self) {
                self.0.end.set(self.1);
            }
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
            end.1 = unsafe { end.1.byte_add(Self::STRIDE) };
        }
        false
    }

    /// Adds a segment with room for at least one element.
    #[cold]
    #[inline(never)]
    pub(super) fn try_grow(&self) -> Result<&Self, ArenaError> {
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
        // - this is the thread that owns it: a batch is not `Send`, and a thread remembers only batches that it
        //   made.
        unsafe { self.arena.as_ref() }
    }

    fn next_len(&self) -> usize {
        let len = 2 * Self::between(self.start, self.limit);
        let [first, last] = [FIRST_BYTES, LAST_BYTES].map(|bytes| (bytes / Self::STRIDE).max(1));
        len.clamp(first, last)
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
            let len = Self::between(it.start, it.end.get());
            NonNull::slice_from_raw_parts(it.start, len)
        });
        slices.filter(|slice| !slice.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::arenas::FrameArenas;

    fn first_of<T>(arena: &FrameArena) -> &Segment<T> {
        Segment::try_new(arena, Kind::Any, 0).expect("there is memory")
    }

    #[test]
    fn more_elements_than_the_ends_of_cells_can_count_are_refused() {
        let arenas = FrameArenas::default();
        let len = u32::MAX as usize + 1;
        let full = || {
            let collector = arenas.collector::<()>();
            let first = collector.try_register(Kind::Any).expect("there is memory");
            let end = first.start.as_ptr().wrapping_byte_add(len);
            first
                .end
                .set(NonNull::new(end).expect("not the end of memory"));
            collector
        };
        let refused = |(): &()| -> usize { panic!("no element is looked at") };
        for way in [0, 1] {
            let panic = catch_unwind(AssertUnwindSafe(|| match way {
                0 => _ = full().share_cells(1, refused),
                _ => _ = full().share_cell_map(refused),
            }));
            let panic = panic.expect_err("too many");
            let expected = too_long::<()>(len).to_string();
            assert_eq!(panic.downcast_ref(), Some(&expected));
        }
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
