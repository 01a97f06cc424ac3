//! A batch: the elements that one worker adds, in its own arena.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::iter::successors;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

use crate::arena::{FrameArena, OnOneThread, Purpose, too_long};
use crate::containers::or_fail;
use crate::error::ArenaError;

/// The size of a batch's first segment. Each further segment is twice as long, up to `LAST_BYTES`, unless an
/// iterator is known to need more.
const FIRST_BYTES: usize = 256;
const LAST_BYTES: usize = 32 << 10;

/// Adds elements to a [`FrameCollector`](super::FrameCollector), from one thread.
///
/// It has the size of a reference and no destructor. That makes it fast in `for_each_init`, where Bevy
/// passes it from item to item by value. Its elements belong to the collector, also after the batch is
/// dropped.
// Neither `Send` nor `Sync`: its header and arena belong to one thread.
pub struct Batch<'c, T> {
    header: OnOneThread<&'c Header<T>>,
}

// An element is counted after it is written: a panic leaves no partly written element.
impl<T> UnwindSafe for Batch<'_, T> {}
impl<T> RefUnwindSafe for Batch<'_, T> {}

impl<'c, T> Batch<'c, T> {
    pub(super) fn new(header: &'c Header<T>) -> Self {
        Self {
            header: OnOneThread::new(header),
        }
    }

    /// Adds an element.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the element is dropped first.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        self.header.0.push(value);
    }

    /// Adds an element, or returns an error and drops it.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), ArenaError> {
        self.header.0.try_push(value)
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
        let header = self.header.0;
        header.reserve(values.len());
        let (first, others) = values.split_at(values.len().min(header.room().unwrap_or(0)));
        let end = header.end.get();
        // SAFETY: there is room for these elements, and nobody else can read or write it.
        unsafe { ptr::copy_nonoverlapping(first.as_ptr(), end, first.len()) };
        // SAFETY: as above, so the sum is at most the limit.
        header.end.set(unsafe { end.add(first.len()) });
        others.iter().for_each(|value| header.push(*value));
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
        let (header, mut values) = (self.header.0, values.into_iter());
        let (least, most) = values.size_hint();
        if most == Some(least) {
            header.reserve(least);
        }
        loop {
            header.fill(&mut values);
            let Some(value) = values.next() else { return };
            header.push(value);
        }
    }
}

impl<T> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// The data of a batch, in the arena of its worker. Only that worker's thread uses it until the collector is
/// borrowed exclusively; other threads may read `next`, `arena` and `kind` before that.
pub(super) struct Header<T> {
    /// Where the next element goes. For zero-sized elements, it is their number as an address.
    end: Cell<*mut T>,
    /// Where the last segment ends.
    limit: Cell<*mut T>,
    first: Cell<Link<T>>,
    last: Cell<Link<T>>,
    pub(super) arena: NonNull<FrameArena>,
    /// The batch that was registered before this one; set before other threads can find this one.
    pub(super) next: Cell<*mut Header<T>>,
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

type Link<T> = Option<NonNull<Segment<T>>>;

/// A part of a batch. Its elements lie behind it and never move: a batch grows by adding a segment, whatever
/// else its worker allocates meanwhile.
struct Segment<T> {
    next: Cell<Link<T>>,
    /// The address behind the last element; set when the batch moves on to another segment.
    end: Cell<*mut T>,
}

impl<T> Header<T> {
    /// The header of an empty batch of the thread that owns `arena`.
    pub(super) fn new(arena: &FrameArena, kind: Kind) -> Self {
        let limit = if size_of::<T>() == 0 { usize::MAX } else { 0 };
        Self {
            end: Cell::new(ptr::null_mut()),
            limit: Cell::new(ptr::without_provenance_mut(limit)),
            first: Cell::new(None),
            last: Cell::new(None),
            arena: NonNull::from(arena),
            next: Cell::new(ptr::null_mut()),
            kind,
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn push(&self, value: T) {
        if self.is_full() {
            return self.push_slow(value);
        }
        // SAFETY: there is room.
        unsafe { self.put(value) };
    }

    #[inline]
    pub(super) fn try_push(&self, value: T) -> Result<(), ArenaError> {
        if self.is_full() {
            self.try_grow()?;
        }
        // SAFETY: there is room: `try_grow` made some.
        unsafe { self.put(value) };
        Ok(())
    }

    // Takes the element by value, so that the fast path saves nothing across a call.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn push_slow(&self, value: T) {
        or_fail(self.try_push(value));
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.end.get() == self.limit.get()
    }

    /// # Safety
    /// The batch must not be full.
    #[inline(always)]
    unsafe fn put(&self, value: T) {
        let end = self.end.get();
        if size_of::<T>() == 0 {
            mem::forget(value);
            self.end.set(end.wrapping_byte_add(1));
        } else {
            // SAFETY: below the limit, the last segment has room for an element, and nothing else
            // writes to it.
            unsafe { end.write(value) };
            // SAFETY: as above, so the sum is at most the limit.
            self.end.set(unsafe { end.add(1) });
        }
    }

    /// Returns how many elements fit into the last segment, unless they are zero-sized.
    fn room(&self) -> Option<usize> {
        let bytes = self.limit.get().addr() - self.end.get().addr();
        bytes.checked_div(size_of::<T>())
    }

    /// Makes room for `len` elements in one segment, if there is memory. If they do not fit into the last one, it
    /// stays as it is.
    fn reserve(&self, len: usize) {
        if self.room().is_some_and(|room| room < len) {
            // Not less than usual: otherwise short iterators would get a segment each.
            let len = len.max(self.next_len());
            // If it is refused, the elements are pushed one by one.
            if let Ok(segment) = Segment::try_new(self.arena(), len) {
                self.add(segment, len);
            }
        }
    }

    /// Writes elements for as long as the last segment has room. Its end is kept in a register meanwhile.
    #[inline]
    fn fill(&self, values: &mut impl Iterator<Item = T>) {
        /// Stores the end when it is dropped, even if the iterator panics.
        struct End<'h, T>(&'h Header<T>, *mut T);
        impl<T> Drop for End<'_, T> {
            fn drop(&mut self) {
                self.0.end.set(self.1);
            }
        }
        if size_of::<T>() == 0 {
            return;
        }
        let limit = self.limit.get();
        let mut end = End(self, self.end.get());
        while end.1 != limit {
            let Some(value) = values.next() else { return };
            // SAFETY: below the limit, the last segment has room for an element. The batch is borrowed
            // exclusively, so nothing else writes to the slot or moves the end.
            unsafe { end.1.write(value) };
            // SAFETY: as above, so the sum is at most the limit.
            end.1 = unsafe { end.1.add(1) };
        }
    }

    /// Makes room for one more element.
    #[cold]
    #[inline(never)]
    fn try_grow(&self) -> Result<(), ArenaError> {
        if size_of::<T>() == 0 {
            return Err(too_long::<T>(usize::MAX));
        }
        let (arena, len) = (self.arena(), self.next_len());
        match Segment::try_new(arena, len) {
            Ok(segment) => self.add(segment, len),
            // Near a limit, a single element may still fit.
            Err(_) => {
                let segment = Segment::try_new(arena, 1);
                let segment = segment.inspect_err(|error| arena.count_refusal(error))?;
                self.add(segment, 1);
            }
        }
        Ok(())
    }

    /// Adds a segment with room for `len` elements.
    fn add(&self, segment: NonNull<Segment<T>>, len: usize) {
        let start = Segment::start(segment).as_ptr();
        // Read only now: a user's global allocator may have pushed to this batch meanwhile.
        match self.last.get() {
            Some(last) => {
                // SAFETY: segments stay in place until the arenas are recycled.
                let last = unsafe { last.as_ref() };
                last.end.set(self.end.get());
                last.next.set(Some(segment));
            }
            None => self.first.set(Some(segment)),
        }
        self.last.set(Some(segment));
        self.end.set(start);
        // SAFETY: the segment was made for `len` elements.
        self.limit.set(unsafe { start.add(len) });
    }

    fn arena(&self) -> &FrameArena {
        // SAFETY:
        // - the arena is in place while the collector, and with it the arenas, are borrowed;
        // - this is the thread that owns it: a batch is not `Send`, and the collector's own `push`
        //   finds the calling thread's batch.
        unsafe { self.arena.as_ref() }
    }

    fn next_len(&self) -> usize {
        let last_bytes = self.last.get().map_or(0, |last| {
            self.limit.get().addr() - Segment::start(last).addr().get()
        });
        let bytes = (2 * last_bytes).clamp(FIRST_BYTES, LAST_BYTES);
        (bytes / size_of::<T>()).max(1)
    }

    /// Returns the elements, in the order they were pushed, one slice for each segment.
    pub(super) fn slices(&self) -> impl Iterator<Item = NonNull<[T]>> {
        let zero_sized = (size_of::<T>() == 0).then(|| {
            NonNull::slice_from_raw_parts(NonNull::<T>::dangling(), self.end.get().addr())
        });
        let last = self.last.get();
        // SAFETY: segments stay in place until the arenas are recycled.
        let at = |segment: NonNull<Segment<T>>| (segment, unsafe { segment.as_ref() });
        let segments = successors(self.first.get().map(at), move |(_, segment)| {
            segment.next.get().map(at)
        });
        let slices = segments.map(move |(segment, head)| {
            let end = if Some(segment) == last {
                &self.end
            } else {
                &head.end
            };
            let start = Segment::start(segment);
            let len = (end.get().addr() - start.addr().get()) / size_of::<T>().max(1);
            NonNull::slice_from_raw_parts(start, len)
        });
        let is_filled = |slice: &NonNull<[T]>| !slice.is_empty();
        zero_sized.into_iter().chain(slices).filter(is_filled)
    }
}

impl<T> Segment<T> {
    /// Where the elements start.
    const OFFSET: usize = size_of::<Self>().next_multiple_of(align_of::<T>());

    fn try_new(arena: &FrameArena, len: usize) -> Result<NonNull<Self>, ArenaError> {
        let elements = Layout::array::<T>(len);
        let layout = elements.and_then(|elements| Layout::new::<Self>().extend(elements));
        let (layout, offset) = layout.map_err(|_| too_long::<T>(len))?;
        debug_assert_eq!(offset, Self::OFFSET);
        let segment = arena.try_alloc_uncounted(layout, Purpose::Fixed)?;
        let segment = segment.cast::<Self>();
        let empty = Self {
            next: Cell::new(None),
            end: Cell::new(ptr::null_mut()),
        };
        // SAFETY: the memory was just taken for it.
        unsafe { segment.write(empty) };
        Ok(segment)
    }

    /// The pointer is made from one that may access all of the segment, not from a reference.
    #[inline]
    fn start(segment: NonNull<Self>) -> NonNull<T> {
        // SAFETY: a segment and its elements are one allocation of the arena, where the elements
        // start at this offset.
        unsafe { segment.byte_add(Self::OFFSET) }.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arenas::FrameArenas;

    #[test]
    fn more_zero_sized_elements_than_a_number_can_count_are_refused() {
        let arena = FrameArena::new(128);
        let header = Header::<()>::new(&arena, Kind::Any);
        header.end.set(ptr::without_provenance_mut(usize::MAX - 1));
        assert_eq!(header.try_push(()), Ok(()));
        assert_eq!(header.try_push(()), Err(too_long::<()>(usize::MAX)));
        assert_eq!(header.slices().map(NonNull::len).sum::<usize>(), usize::MAX);
    }

    #[test]
    fn more_elements_than_the_ends_of_cells_can_count_are_refused() {
        let arenas = FrameArenas::default();
        let len = u32::MAX as usize + 1;
        let full = || {
            let collector = arenas.collector::<()>();
            let header = collector.try_register(Kind::Any).expect("there is memory");
            header.end.set(ptr::without_provenance_mut(len));
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
        let header = Header::new(&arena, Kind::Any);
        (0..100).for_each(|n| Batch::new(&header).extend([n, n + 1_u64]));
        assert!(header.slices().map(NonNull::len).eq([32, 64, 104]));
        Batch::new(&header).extend(0..1000);
        assert!(header.slices().map(NonNull::len).eq([32, 64, 104, 1000]));
    }

    #[test]
    fn segments_grow_up_to_a_size_and_hold_at_least_one_element() {
        let arena = FrameArena::new(1 << 20);
        let header = Header::<u64>::new(&arena, Kind::Any);
        (0..12_500).for_each(|n| header.push(n));
        let lens: Vec<_> = header.slices().map(NonNull::len).collect();
        assert_eq!(lens[..4], [32, 64, 128, 256]);
        assert_eq!(lens[8], LAST_BYTES / 8);
        let header = Header::<[u8; 2 * LAST_BYTES]>::new(&arena, Kind::Any);
        header.push([1; 2 * LAST_BYTES]);
        header.push([2; 2 * LAST_BYTES]);
        assert!(header.slices().map(NonNull::len).eq([1, 1]));
    }
}
