//! A batch: the elements that one worker adds, in its own arena.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use std::alloc::Layout;
use std::cell::Cell;
use std::fmt;
use std::iter::successors;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// The first segment of a batch, in bytes; each further one is twice as long, up to the last size.
const FIRST_BYTES: usize = 256;
const LAST_BYTES: usize = 32 << 10;

/// Adds elements to a [`FrameCollector`](super::FrameCollector), from one thread.
///
/// It is as small as a reference and has no destructor, which is what makes it fast in
/// `for_each_init`: Bevy passes it from item to item by value. What it has pushed belongs to the
/// collector, whatever becomes of the batch.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let even = arenas.collector();
/// let mut batch = even.batch();
/// for n in (0..10).filter(|n| n % 2 == 0) {
///     batch.push(n);
/// }
/// let even = even.share();
/// assert_eq!(arenas[even], [0, 2, 4, 6, 8]);
/// ```
// Neither `Send` nor `Sync`, by the cells: its header and arena belong to one thread.
pub struct Batch<'c, T> {
    header: &'c Header<T>,
}

// Elements count once they are written whole: a panic leaves nothing half-made.
impl<T> UnwindSafe for Batch<'_, T> {}
impl<T> RefUnwindSafe for Batch<'_, T> {}

impl<'c, T> Batch<'c, T> {
    pub(super) fn new(header: &'c Header<T>) -> Self {
        Self { header }
    }

    /// Adds an element.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the element is dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// let mut batch = collector.batch();
    /// batch.push(1);
    /// batch.push(2);
    /// assert_eq!(arenas[collector.share()], [1, 2]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        self.header.push(value);
    }

    /// Adds an element.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the element is dropped then.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), ArenaError> {
        self.header.try_push(value)
    }
}

impl<T> Extend<T> for Batch<'_, T> {
    /// # Panics
    /// If the arena is out of memory or over a limit; what was added before stays.
    #[track_caller]
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let mut values = values.into_iter();
        loop {
            self.header.fill(&mut values);
            let Some(value) = values.next() else { return };
            self.header.push(value);
        }
    }
}

impl<T> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// What a batch is, in the arena of its worker. It is used by that worker's thread alone, until
/// the collector is borrowed by nobody else; only `next`, `arena` and `kind` are read before.
pub(super) struct Header<T> {
    /// Where the next element goes. Of zero-sized elements it is their number, as an address.
    end: Cell<*mut T>,
    /// Where the last segment ends.
    limit: Cell<*mut T>,
    first: Cell<Link<T>>,
    last: Cell<Link<T>>,
    pub(super) arena: NonNull<FrameArena>,
    /// The batch that was registered before this one; set before this one is found.
    pub(super) next: Cell<*mut Header<T>>,
    pub(super) kind: Kind,
}

/// What a batch was made by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// `batch_at`: its elements come in the order of these numbers, before all others.
    At(usize),
    /// `batch`.
    Any,
    /// The collector's own `push`.
    Direct,
}

/// A batch with elements, of a collector that is borrowed exclusively during `'c`: nobody adds to it meanwhile.
pub(super) struct Part<'c, T> {
    batch: &'c Header<T>,
    pub(super) first: &'c T,
    /// The last element of the first segment.
    pub(super) last: &'c T,
    /// The sorted run that it belongs to, and its place among all parts.
    pub(super) run: (usize, usize),
}

impl<'c, T> Part<'c, T> {
    /// Returns the batch, if it has elements.
    ///
    /// # Safety
    /// The collector of the batch must be borrowed exclusively during `'c`.
    pub(super) unsafe fn new(batch: &'c Header<T>) -> Option<Self> {
        let segment = batch.slices().next()?;
        // SAFETY: the elements were written, and nobody changes, moves or drops them during `'c`.
        let segment = unsafe { segment.as_ref() };
        let (first, last) = (segment.first()?, segment.last()?);
        let run = (0, 0);
        Some(Self {
            batch,
            first,
            last,
            run,
        })
    }

    /// Returns the elements, in the order they were pushed, one slice for each segment.
    pub(super) fn slices(&self) -> impl Iterator<Item = &'c [T]> + use<'c, T> {
        // SAFETY: as in `new`, by whose contract there is this part.
        self.batch.slices().map(|slice| unsafe { slice.as_ref() })
    }

    pub(super) fn kind(&self) -> Kind {
        self.batch.kind
    }
}

type Link<T> = Option<NonNull<Segment<T>>>;

/// A part of a batch; its elements lie behind it. They stay where they are: a batch grows by
/// another segment, whatever else its worker allocates meanwhile.
struct Segment<T> {
    next: Cell<Link<T>>,
    /// Behind the last element; set when the batch moves on to another segment.
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

    // It takes the element along, so that the fast path has nothing to save across a call.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn push_slow(&self, value: T) {
        match self.try_push(value) {
            Ok(()) => {}
            Err(error) => fail(error),
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.end.get() == self.limit.get()
    }

    /// # Safety
    /// The batch is not full.
    #[inline(always)]
    unsafe fn put(&self, value: T) {
        let end = self.end.get();
        if size_of::<T>() == 0 {
            mem::forget(value);
            self.end.set(end.wrapping_byte_add(1));
        } else {
            // SAFETY: below the limit there is room for an element of the last segment, which
            // nobody else writes to.
            unsafe { end.write(value) };
            // SAFETY: as above, so the sum is at most the limit.
            self.end.set(unsafe { end.add(1) });
        }
    }

    /// Writes elements for as long as the last segment has room. Its end is kept in a register meanwhile.
    #[inline]
    fn fill(&self, values: &mut impl Iterator<Item = T>) {
        /// Stored when it is dropped, also when an iterator panics.
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
            // SAFETY: below the limit there is room for an element of the last segment. Nobody else writes to it,
            // or moves the end meanwhile: the batch is borrowed exclusively.
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
        let (segment, len) = self.try_make_segment()?;
        let start = Segment::start(segment);
        // Read only now: the global allocator may have pushed something meanwhile.
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
        Ok(())
    }

    /// Makes a segment, and returns how many elements it has room for.
    fn try_make_segment(&self) -> Result<(NonNull<Segment<T>>, usize), ArenaError> {
        // SAFETY:
        // - the arena is in place while the collector, and with it the arenas, are borrowed;
        // - this is the thread that owns it: a batch is not `Send`, and the collector's own `push`
        //   looks for the calling thread's.
        let arena = unsafe { self.arena.as_ref() };
        let len = self.next_len();
        let made = Segment::try_new(arena, len).map(|segment| (segment, len));
        match made {
            // Near a limit, a single element may still fit.
            Err(_) if len > 1 => Ok((Segment::try_new(arena, 1)?, 1)),
            made => made,
        }
    }

    fn next_len(&self) -> usize {
        let last_bytes = self.last.get().map_or(0, |last| {
            self.limit.get().addr() - Segment::start(last).addr()
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
        let segments = successors(self.first.get(), |segment| {
            // SAFETY: segments stay in place until the arenas are recycled.
            unsafe { segment.as_ref() }.next.get()
        });
        let slices = segments.map(move |segment| {
            let end = if Some(segment) == last {
                self.end.get()
            } else {
                // SAFETY: as above.
                unsafe { segment.as_ref() }.end.get()
            };
            let start = Segment::start(segment);
            let len = (end.addr() - start.addr()) / size_of::<T>().max(1);
            // SAFETY: it lies behind a segment, so it is not null.
            let start = unsafe { NonNull::new_unchecked(start) };
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
        let (layout, offset) = Layout::new::<Self>()
            .extend(array_layout::<T>(len)?)
            .map_err(|_| too_long::<T>(len))?;
        debug_assert_eq!(offset, Self::OFFSET);
        let segment = arena.try_alloc_layout(layout)?.cast::<Self>();
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
    fn start(segment: NonNull<Self>) -> *mut T {
        // SAFETY: a segment and its elements are one allocation of the arena, where the elements
        // start at this offset.
        unsafe { segment.as_ptr().byte_add(Self::OFFSET) }.cast()
    }
}

fn array_layout<T>(len: usize) -> Result<Layout, ArenaError> {
    Layout::array::<T>(len).map_err(|_| too_long::<T>(len))
}

#[cold]
pub(super) fn too_long<T>(len: usize) -> ArenaError {
    ArenaError::TooLong {
        len,
        element_bytes: size_of::<T>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
