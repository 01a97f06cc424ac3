//! `FrameCollector`: many workers add elements, and one list comes out.
#![expect(
    unsafe_code,
    reason = "links the batches of all workers by raw pointers"
)]

mod batch;
mod cell_map;
mod cells;
mod direct;
mod gather;
mod share;

use std::alloc::Layout;
use std::fmt;
use std::iter::successors;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub use self::batch::Batch;
use self::batch::{Header, Kind, Part};
pub use self::cell_map::CellMap;
pub use self::cells::{Cells, CellsError};
use self::direct::CollectorId;
pub use self::gather::GatherInto;
use super::FrameArenas;
use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};
use crate::panics::FirstPanic;

/// Makes one list of what many workers find. Use it to collect from a `par_iter`.
///
/// Each worker adds to a [`batch`](Self::batch) in its own arena, without waiting for anybody;
/// [`share`](Self::share) makes one contiguous list of all of them. Nothing comes from the global
/// allocator, and what a closure had added before it panicked is dropped with the collector.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::prelude::*;
///
/// #[derive(Component)]
/// struct Distance(f32);
///
/// #[derive(Resource)]
/// struct Visible(FrameHandle<[Entity]>);
///
/// fn cull(arenas: Res<FrameArenas>, objects: Query<(Entity, &Distance)>, mut commands: Commands) {
///     let visible = arenas.collector();
///     objects.par_iter().for_each_init(|| visible.batch(), |batch, (entity, distance)| {
///         if distance.0 < 100.0 {
///             batch.push(entity);
///         }
///     });
///     // The same list each time, whichever worker was first.
///     commands.insert_resource(Visible(visible.share_sorted()));
/// }
/// ```
///
/// [`share_cells`](Self::share_cells) makes the cells of a grid, or one list for each key of any kind. What has
/// changed since the last frame: see [`TwoFrames`](crate::TwoFrames).
///
/// It can't be read or shared while somebody may still push:
///
/// ```compile_fail,E0505
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let collector = arenas.collector();
/// let mut batch = collector.batch();
/// let list = collector.share();
/// batch.push(1);
/// ```
///
/// and a batch stays on its thread:
///
/// ```compile_fail,E0277
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let collector = arenas.collector();
/// let mut batch = collector.batch();
/// std::thread::scope(|scope| {
///     scope.spawn(move || batch.push(1));
/// });
/// ```
#[doc(alias = "parallel")]
#[doc(alias = "par_iter")]
pub struct FrameCollector<'a, T: Send> {
    arenas: &'a FrameArenas,
    id: CollectorId,
    /// The batch that was registered last.
    head: AtomicPtr<Header<T>>,
    /// Not `Send`: it is meant for the scope that waits for the workers, and a list of theirs is
    /// made where that scope is.
    _stays: PhantomData<*mut T>,
}

// SAFETY: through `&FrameCollector`, a thread
// - registers batches, in an atomic list;
// - pushes to batches of its own; that moves elements to whoever shares or drops the collector,
//   which is what `T: Send` allows. No `&T` is given out, so `T: Sync` is not needed;
// - uses `FrameArenas`, which is `Sync`.
unsafe impl<T: Send> Sync for FrameCollector<'_, T> {}

// Elements count once they are written whole: a panic leaves nothing half-made.
impl<T: Send> UnwindSafe for FrameCollector<'_, T> {}
impl<T: Send> RefUnwindSafe for FrameCollector<'_, T> {}

/// # One list out of many workers
impl FrameArenas {
    /// Returns a collector, to which all workers can add at once. It costs nothing before that.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let squares = arenas.collector();
    /// std::thread::scope(|scope| {
    ///     for n in 0..4 {
    ///         let squares = &squares;
    ///         scope.spawn(move || squares.push(n * n));
    ///     }
    /// });
    /// let squares = squares.share_sorted();
    /// assert_eq!(arenas[squares], [0, 1, 4, 9]);
    /// ```
    pub fn collector<T: Send>(&self) -> FrameCollector<'_, T> {
        FrameCollector {
            arenas: self,
            id: direct::new_id(),
            head: AtomicPtr::new(ptr::null_mut()),
            _stays: PhantomData,
        }
    }
}

impl<'a, T: Send> FrameCollector<'a, T> {
    /// Starts a batch for the calling thread: the way to push many elements, as in
    /// `for_each_init`. A thread may have any number of them.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let mut collector = arenas.collector();
    /// collector.batch().extend([1, 2, 3]);
    /// assert_eq!(collector.len(), 3);
    /// ```
    #[inline]
    #[track_caller]
    pub fn batch(&self) -> Batch<'_, T> {
        match self.try_batch() {
            Ok(batch) => batch,
            Err(error) => fail(error),
        }
    }

    /// Starts a batch for the calling thread.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn try_batch(&self) -> Result<Batch<'_, T>, ArenaError> {
        Ok(Batch::new(self.try_register(Kind::Any)?))
    }

    /// Starts a batch whose elements come out at a place that you choose: those of all batches are put in the
    /// order of their numbers, without a key and without a sort. Use it for the chunks of a parallel scope,
    /// where the order must not depend on which worker was faster.
    ///
    /// Elements that were pushed without a number come last. Sorted lists are sorted, whatever the numbers.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let squares = arenas.collector();
    /// std::thread::scope(|scope| {
    ///     for (index, chunk) in [[1, 2], [3, 4], [5, 6]].into_iter().enumerate() {
    ///         let squares = &squares;
    ///         scope.spawn(move || squares.batch_at(index).extend(chunk.map(|n| n * n)));
    ///     }
    /// });
    /// assert_eq!(arenas[squares.share()], [1, 4, 9, 16, 25, 36]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn batch_at(&self, order: usize) -> Batch<'_, T> {
        match self.try_batch_at(order) {
            Ok(batch) => batch,
            Err(error) => fail(error),
        }
    }

    /// Starts a batch whose elements come out at a place that you choose.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn try_batch_at(&self, order: usize) -> Result<Batch<'_, T>, ArenaError> {
        Ok(Batch::new(self.try_register(Kind::At(order))?))
    }

    /// Adds an element without a batch, as in a plain `for_each`. It finds the calling thread's
    /// batch in a thread local; where there are many to add, a [`batch`](Self::batch) is faster.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; the element is dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let collector = arenas.collector();
    /// collector.push("a");
    /// collector.push("b");
    /// assert_eq!(arenas[collector.share()], ["a", "b"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&self, value: T) {
        match self.try_direct() {
            Ok(header) => header.push(value),
            Err(error) => fail(error),
        }
    }

    /// Adds an element without a batch.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the element is dropped then.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    pub fn try_push(&self, value: T) -> Result<(), ArenaError> {
        self.try_direct()?.try_push(value)
    }

    /// Returns the number of elements that were pushed.
    ///
    /// # Panics
    /// If there are more zero-sized elements than `usize::MAX`.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let mut collector = arenas.collector();
    /// collector.push(1);
    /// collector.batch().extend([2, 3]);
    /// assert_eq!(collector.len(), 3);
    /// ```
    #[track_caller]
    pub fn len(&mut self) -> usize {
        self.try_len()
            .expect("there are at most `usize::MAX` elements")
    }

    /// Returns whether nothing was pushed.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let mut collector = arenas.collector::<u32>();
    /// assert!(collector.is_empty());
    /// ```
    pub fn is_empty(&mut self) -> bool {
        self.iter().next().is_none()
    }

    /// Reads all elements: those of a batch in their order, the batches in any.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let arenas = FrameArenas::default();
    /// let mut collector = arenas.collector();
    /// collector.batch().extend([1, 2, 3]);
    /// assert_eq!(collector.iter().sum::<i32>(), 6);
    /// ```
    pub fn iter(&mut self) -> impl Iterator<Item = &T> {
        self.parts().flat_map(|part| part.slices()).flatten()
    }

    /// Makes a header in the calling thread's arena and adds it to the list.
    #[cfg_attr(feature = "sites", track_caller)]
    fn try_register(&self, kind: Kind) -> Result<&Header<T>, ArenaError> {
        let arena = self.arenas.local();
        let memory = arena.try_alloc_layout(Layout::new::<Header<T>>())?;
        let header = memory.cast::<Header<T>>();
        // SAFETY: the memory was just taken for it.
        unsafe { header.write(Header::new(arena, kind)) };
        // SAFETY: it was just written, and stays in place while the arenas are borrowed.
        let new = unsafe { header.as_ref() };
        // From here to the end, nothing can fail: what is in the list is complete.
        let mut head = self.head.load(Relaxed);
        loop {
            new.next.set(head);
            // Release: another thread's `push` may look at the header on its way through the list.
            let registered =
                self.head
                    .compare_exchange_weak(head, header.as_ptr(), Release, Relaxed);
            match registered {
                Ok(_) => return Ok(new),
                Err(other) => head = other,
            }
        }
    }

    /// Returns the calling thread's batch for `push`.
    #[inline]
    #[cfg_attr(feature = "sites", track_caller)]
    fn try_direct(&self) -> Result<&Header<T>, ArenaError> {
        match direct::last_used(self.id) {
            // SAFETY: this thread remembered it for this collector, whose number nobody else has:
            // - so it is a header of this type, and one of this thread's own;
            // - it stays in place while the arenas are borrowed.
            Some(header) => Ok(unsafe { &*header.cast::<Header<T>>() }),
            None => self.try_find_direct(),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "sites", track_caller)]
    fn try_find_direct(&self) -> Result<&Header<T>, ArenaError> {
        let own = ptr::from_ref::<FrameArena>(self.arenas.local());
        // An arena belongs to one thread for as long as the arenas are borrowed, and so do the
        // batches in it.
        // SAFETY: the collector is borrowed, and with it the arenas.
        let mut headers = unsafe { headers(self.head.load(Acquire)) };
        let found = headers
            .find(|header| header.kind == Kind::Direct && ptr::eq(header.arena.as_ptr(), own));
        let header = match found {
            Some(header) => header,
            None => self.try_register(Kind::Direct)?,
        };
        direct::remember(self.id, ptr::from_ref(header).cast());
        Ok(header)
    }

    /// Returns all batches, the last one first.
    fn batches(&mut self) -> impl Iterator<Item = &Header<T>> {
        // SAFETY: as above. That `&mut self` is asked for makes the cells of all batches ours.
        unsafe { headers(*self.head.get_mut()) }
    }

    /// Returns the batches with elements, the last one first.
    fn parts(&mut self) -> impl Iterator<Item = Part<'_, T>> {
        // SAFETY: the collector is borrowed exclusively.
        self.batches()
            .filter_map(|batch| unsafe { Part::new(batch) })
    }
}

impl<T: Send> Drop for FrameCollector<'_, T> {
    fn drop(&mut self) {
        if !needs_drop::<T>() {
            return;
        }
        let mut panic = FirstPanic::default();
        for values in self.batches().flat_map(Header::slices) {
            // SAFETY: the elements were written, and end here: nobody has moved them elsewhere.
            unsafe { drop_each(values, &mut panic) };
        }
        panic.resume();
    }
}

impl<T: Send> fmt::Debug for FrameCollector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameCollector").finish_non_exhaustive()
    }
}

/// Returns the batches of a list.
///
/// # Safety
/// `head` is that of a collector whose arenas are borrowed during `'h`.
unsafe fn headers<'h, T: 'h>(head: *mut Header<T>) -> impl Iterator<Item = &'h Header<T>> {
    // SAFETY: what is in the list was written before, and stays in place while the arenas are
    // borrowed.
    let at = |header: *mut Header<T>| unsafe { header.as_ref() };
    successors(at(head), move |header| at(header.next.get()))
}

/// Drops each element, also when one of them panics.
///
/// # Safety
/// The elements are valid, and nobody uses them again.
unsafe fn drop_each<T>(values: NonNull<[T]>, panic: &mut FirstPanic) {
    if !needs_drop::<T>() {
        return;
    }
    for index in 0..values.len() {
        // SAFETY: the index is in bounds.
        let value = unsafe { values.cast::<T>().add(index) };
        // SAFETY: the caller promises a valid element, and each index comes once.
        panic.catch(|| unsafe { value.drop_in_place() });
    }
}
