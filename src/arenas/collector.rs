//! `FrameCollector`: many workers add elements, and one list comes out.
#![expect(
    unsafe_code,
    reason = "links the batches of all workers by raw pointers"
)]

mod batch;
mod cell_map;
mod cells;
mod gather;
mod share;

use std::cell::Cell;
use std::fmt;
use std::iter::successors;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use self::batch::Batch;
use self::batch::{Kind, Segment};
pub use self::cell_map::CellMap;
pub use self::cells::Cells;
use self::gather::Elements;
pub use self::share::GatherInto;
use super::FrameArenas;
use super::linked::Linked;
use crate::containers::or_fail;
use crate::error::ArenaError;
use crate::panics::FirstPanic;

/// Makes one list of the elements that many workers add. Use it to collect from a `par_iter`.
///
/// Each worker adds to a [`batch`](Self::batch) in its own arena, without a lock.
/// [`share`](Self::share) makes one contiguous list of all batches. All memory comes from the arenas. If a
/// closure panics, the elements added so far are dropped with the collector. Elements without a size take memory
/// as well: one byte each, or more if they are aligned to more.
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
///     // The order does not depend on which worker was faster.
///     commands.insert_resource(Visible(visible.share_sorted()));
/// }
/// ```
///
/// [`share_cells`](Self::share_cells) puts the elements into the cells of a grid, and
/// [`share_cell_map`](Self::share_cell_map) makes one list for each key. For the changes since the last frame, see
/// [`TwoFrames`](crate::TwoFrames).
///
/// A batch stays on its thread. The collector cannot be read or shared while a batch is in use:
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
/// # Panics
/// Each method panics with the text of the [`ArenaError`] if memory is refused. Elements that the method takes are
/// dropped first. [`try_share`](Self::try_share) and [`try_share_cells`](Self::try_share_cells) return the
/// error instead.
#[doc(alias = "parallel")]
#[doc(alias = "par_iter")]
pub struct FrameCollector<'a, T: Send> {
    arenas: &'a FrameArenas,
    id: CollectorId,
    /// All batches.
    registered: Linked<Segment<T>>,
    /// Not `Send`: the collector belongs to the thread that waits for the workers, and the list is made in
    /// that thread's arena.
    _stays: PhantomData<*mut T>,
}

// SAFETY: through `&FrameCollector`, a thread
// - registers batches, in an atomic list;
// - pushes to its own batches; the elements move to the thread that shares or drops the collector,
//   which `T: Send` allows. No `&T` is returned, so `T: Sync` is not needed;
// - uses `FrameArenas`, which is `Sync`.
unsafe impl<T: Send> Sync for FrameCollector<'_, T> {}

// An element is counted after it is written: a panic leaves no partly written element.
impl<T: Send> UnwindSafe for FrameCollector<'_, T> {}
impl<T: Send> RefUnwindSafe for FrameCollector<'_, T> {}

/// # One list out of many workers
impl FrameArenas {
    /// Returns a collector, to which all workers can add at once. It takes no memory before the first batch
    /// or push.
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
            id: new_id(),
            registered: Linked::new(),
            _stays: PhantomData,
        }
    }
}

impl<'a, T: Send> FrameCollector<'a, T> {
    /// Starts a batch for the calling thread: the way to push many elements, as in
    /// `for_each_init`. A thread may have any number of them.
    #[inline]
    #[track_caller]
    pub fn batch(&self) -> Batch<'_, T> {
        Batch::new(or_fail(self.try_register(Kind::Any)))
    }

    /// Starts a batch with a number. In the list, batches come in the order of their numbers: no key is needed,
    /// and nothing is sorted. Use it for the chunks of a parallel scope, where the order must not depend on
    /// which worker was faster.
    ///
    /// Elements that were pushed without a number come last. A sorted list is sorted regardless of the numbers.
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
        Batch::new(or_fail(self.try_register(Kind::At(order))))
    }

    /// Adds an element without a batch, as in a plain `for_each`. Each call finds the calling thread's batch in
    /// a thread local, so a [`batch`](Self::batch) is faster for many elements.
    #[inline]
    #[track_caller]
    pub fn push(&self, value: T) {
        // SAFETY:
        // - this thread stored the pointer for this collector, whose number is unique: it points to a segment of
        //   this type that belongs to this thread;
        // - it stays in place while the arenas are borrowed.
        let last = last_used(self.id).map(|last| unsafe { &*last.cast::<Segment<T>>() });
        let found = match last {
            Some(last) if !last.is_full() => Ok(last),
            _ => self.try_find_direct(last),
        };
        // SAFETY: it has room.
        unsafe { or_fail(found).put(value) };
    }

    /// Makes a batch in the calling thread's arena and adds it to the list.
    #[cfg_attr(feature = "sites", track_caller)]
    fn try_register(&self, kind: Kind) -> Result<&Segment<T>, ArenaError> {
        let arena = self.arenas.local();
        let new = Segment::try_new(arena, kind, 0);
        let new = new.inspect_err(|error| arena.count_refusal(error))?;
        // Nothing can fail from here on, so each segment in the list is complete.
        let link = |before| new.before.set(before);
        self.registered.add(ptr::from_ref(new).cast_mut(), link);
        Ok(new)
    }

    /// Returns the last segment of the calling thread's batch for `push`. It has room. `last` is the one that the
    /// thread remembers, or none.
    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "sites", track_caller)]
    fn try_find_direct<'s>(
        &'s self,
        last: Option<&'s Segment<T>>,
    ) -> Result<&'s Segment<T>, ArenaError> {
        let own = ptr::from_ref(self.arenas.local());
        // SAFETY: the list is that of this collector, which is borrowed.
        let mut batches = unsafe { batches_from(self.registered.last()) };
        // While the arenas are borrowed, an arena belongs to one thread, and so do its batches.
        let is_own = |it: &&Segment<T>| it.kind == Kind::Direct && ptr::eq(it.arena.as_ptr(), own);
        let mut segment = match last.or_else(|| batches.find(is_own)) {
            Some(batch) => batch.last(),
            None => self.try_register(Kind::Direct)?,
        };
        if segment.is_full() {
            segment = segment.try_grow()?;
        }
        remember(self.id, ptr::from_ref(segment).cast());
        Ok(segment)
    }

    /// Returns the first segment of each batch, the last batch first.
    fn batches(&mut self) -> impl Iterator<Item = &Segment<T>> {
        // SAFETY: the list is that of this collector. `&mut self` gives access to the `Cell`s of all batches.
        unsafe { batches_from(self.registered.last_mut()) }
    }
}

/// Returns the first segment of a batch and of those registered before it.
///
/// # Safety
/// `last` must be from the list of a collector that is borrowed for `'s`. Unless it is borrowed exclusively, only
/// the fields that were set before a segment was registered may be used in segments of other threads.
unsafe fn batches_from<'s, T: 's>(last: *mut Segment<T>) -> impl Iterator<Item = &'s Segment<T>> {
    // SAFETY: each segment was written before it was added to the list, and stays in place while the arenas are
    // borrowed.
    let at = |batch: *mut Segment<T>| unsafe { batch.as_ref() };
    successors(at(last), move |batch| at(batch.before.get()))
}

impl<T: Send> Drop for FrameCollector<'_, T> {
    fn drop(&mut self) {
        let mut panic = FirstPanic::default();
        for mut values in self.batches().flat_map(Segment::slices) {
            // SAFETY: the elements were written, and end here: none has moved elsewhere.
            let values = Elements(unsafe { values.as_mut() });
            panic.catch(|| drop(values));
        }
        panic.resume();
    }
}

impl<T: Send> fmt::Debug for FrameCollector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameCollector").finish_non_exhaustive()
    }
}

/// Identifies a collector: unique in the process, and never reused.
type CollectorId = u64;

/// The number of collectors whose batches a thread remembers; a power of two. Collectors that are made one
/// after the other have consecutive numbers, and so different slots. For a collector that was forgotten, the
/// batch is looked for in its list.
const REMEMBERED: usize = 64;

thread_local! {
    // It has no destructor, so it remains usable while other thread locals are destroyed.
    static BATCHES: [Cell<(CollectorId, *const ())>; REMEMBERED] =
        const { [const { Cell::new((0, ptr::null())) }; REMEMBERED] };
}

fn new_id() -> CollectorId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Uniqueness needs only the atomicity of the update.
    NEXT.fetch_add(1, Relaxed)
}

/// Returns the batch that this thread remembers for a collector, if it does.
#[inline(always)]
fn last_used(id: CollectorId) -> Option<*const ()> {
    let (last_id, segment) = BATCHES.with(|batches| batches[id as usize % REMEMBERED].get());
    (last_id == id).then_some(segment)
}

fn remember(id: CollectorId, segment: *const ()) {
    BATCHES.with(|batches| batches[id as usize % REMEMBERED].set((id, segment)));
}
