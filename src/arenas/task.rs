//! Task arenas: memory that a task owns, and results that are returned without a copy.
#![expect(
    unsafe_code,
    reason = "lets threads read finished arenas, and resolves handles"
)]

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::FrameArenas;
use super::generation::Common;
use super::misses::Outcome;
use super::task_book::Seat;
use crate::arena::FrameArena;
use crate::handles::{FrameHandle, HandleError, resolve_handles};
use crate::stamp;

/// An arena that a task owns. Use it for the temporary data of the task and for its result: a mesh, a path, a
/// flow field.
///
/// It derefs to a [`FrameArena`], whose blocks come from the store and the budget of the
/// [`FrameArenas`] that it was taken from. It may move to any thread and live for any number of periods. It is
/// not `Sync`, so a component or resource cannot hold it: move it into its task, and store the result.
/// [`finish`](Self::finish) turns it into the result. If it is dropped instead, e.g. with a task that is
/// cancelled or panics, its blocks are returned to the store at once, from any thread. After the `FrameArenas`
/// were dropped, they are returned to the global allocator.
///
/// [`worker_limit_bytes`](crate::FrameArenaSettings::worker_limit_bytes) applies to each task arena.
/// A task that is `Send`, as Bevy's are, cannot hold a list or reference of its arena across an `.await`:
/// share the data, and hold the handle.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let arena = arenas.task_arena();
/// let task = std::thread::spawn(move || {
///     let mut squares = arena.vec();
///     squares.extend((0..5_u32).map(|n| n * n));
///     let squares = squares.share();
///     arena.finish(squares)
/// });
/// let squares = task.join().unwrap();
/// assert_eq!(*squares, [0, 1, 4, 9, 16]);
/// ```
// Not `DerefMut`: a caller could replace the arena by another one. The fields drop in this order: the
// blocks are returned before the task is removed from the count.
#[must_use = "dropping it gives its memory back"]
pub struct TaskArena {
    arena: FrameArena,
    seat: Seat,
}

/// A ticket for [task arenas](TaskArena) that are taken inside tasks. Use it where a task is spawned
/// long before it runs, or takes several arenas; otherwise [`FrameArenas::task_arena`] is shorter.
///
/// It is cheap to clone, may be sent to any thread, and remains valid after the `FrameArenas` were dropped.
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let tasks = arenas.tasks();
/// let task = std::thread::spawn(move || {
///     let arena = tasks.arena();
///     let name = arena.share_str("Ferris");
///     arena.finish(name)
/// });
/// drop(arenas);
/// assert_eq!(&*task.join().unwrap(), "Ferris");
/// ```
#[derive(Clone)]
pub struct TaskArenas {
    common: Arc<Common>,
}

/// # Memory for tasks
impl FrameArenas {
    /// Takes an arena for a task. It costs a lock for the figures, and another for each block; both are held for
    /// a few instructions. The list of running tasks grows only if more tasks run at once than ever before.
    ///
    /// # Panics
    /// If the global allocator refuses memory for the list of running tasks.
    #[track_caller]
    pub fn task_arena(&self) -> TaskArena {
        TaskArena::new(&self.common)
    }

    /// Returns a ticket for taking arenas inside tasks: see [`TaskArenas`] for an example.
    pub fn tasks(&self) -> TaskArenas {
        TaskArenas {
            common: Arc::clone(&self.common),
        }
    }

    /// Makes a result part of the current period, and returns an ordinary handle to it, which resolves in this
    /// period and the next. The task's memory is returned when the period is recycled.
    ///
    /// Handles inside the result are unchanged, and do not resolve in these arenas. If the result contains
    /// handles, [`share`](FrameArena::share) the `TaskResult` itself, and read them through its
    /// [`memory`](TaskResult::memory).
    ///
    /// # Panics
    /// If the record of the memory, some 400 bytes, cannot be allocated in this thread's arena; see
    /// [`ArenaError`](crate::ArenaError). The result is dropped first.
    ///
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let mut arenas = FrameArenas::default();
    /// let arena = arenas.task_arena();
    /// let name = arena.share_str("Ferris");
    /// let name = arenas.adopt(arena.finish(name));
    /// arenas.swap();
    /// assert_eq!(&arenas[name], "Ferris");
    /// arenas.swap();
    /// assert_eq!(arenas.get(name), None);
    /// ```
    #[track_caller]
    pub fn adopt<T: ?Sized>(&self, result: TaskResult<T>) -> FrameHandle<T> {
        let TaskResult { handle, memory } = result;
        let memory = self.local().share(memory);
        // SAFETY:
        // - `finish` checked that the handle resolves in this memory, and a finished arena is not reset;
        // - the memory is now a shared value of the current generation, which drops it when it is
        //   recycled or dropped itself, and not before. The handle gets the stamp of that generation.
        unsafe { handle.restamped(memory.stamp()) }
    }
}

impl TaskArenas {
    /// Takes an arena, like [`FrameArenas::task_arena`].
    #[track_caller]
    pub fn arena(&self) -> TaskArena {
        TaskArena::new(&self.common)
    }
}

impl fmt::Debug for TaskArenas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskArenas").finish_non_exhaustive()
    }
}

impl TaskArena {
    #[track_caller]
    fn new(common: &Arc<Common>) -> Self {
        let stamp = stamp::Lone::Task.block();
        // First, because it panics if memory is refused.
        let seat = Seat::new(common, stamp);
        let store = Arc::clone(&common.store);
        Self {
            arena: FrameArena::in_store(&common.settings, store, stamp),
            seat,
        }
    }

    /// Turns the arena into the result, which derefs to the data of `handle`.
    ///
    /// Nothing is copied: the result keeps all memory of the arena, and the other handles of the arena resolve
    /// in the result's [`memory`](TaskResult::memory). So put temporary data into a second task arena, which
    /// the task drops.
    ///
    /// # Panics
    /// If the handle was not made in this arena.
    #[track_caller]
    pub fn finish<T: ?Sized>(self, handle: FrameHandle<T>) -> TaskResult<T> {
        let mut memory = TaskMemory(self);
        memory.0.seat.finish();
        match memory.find(handle) {
            Some(_) => TaskResult { handle, memory },
            None => panic!(
                "`finish` takes a handle that was made in this task arena: {}",
                memory.why_not(handle)
            ),
        }
    }
}

impl Deref for TaskArena {
    type Target = FrameArena;

    #[inline]
    fn deref(&self) -> &FrameArena {
        &self.arena
    }
}

impl fmt::Debug for TaskArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskArena").field(&self.arena).finish()
    }
}

/// The memory of a finished task, in which handles of its arena resolve: see [`TaskResult::memory`].
pub struct TaskMemory(TaskArena);

// SAFETY: the arena is not `Sync`, and no `&FrameArena` leaves this type: the field is private, and the
// type derefs to nothing. Through `&TaskMemory`, threads reach
// - the stamp of the arena, which changes under `&mut` only, and its figures, which any thread may read;
// - the data of handles, which is shared, so immutable, `Send` and `Sync`;
// - the seat, which is `Sync`.
unsafe impl Sync for TaskMemory {}

impl TaskMemory {
    /// Returns the data of a handle. A failed look-up is not counted.
    #[inline]
    fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - the stamp is that of an arena, and never `UNSET`: an unset handle does not match;
        // - the arena is not reset, and it is not dropped while it is borrowed.
        unsafe { handle.resolve(self.0.stamp()) }
    }

    #[track_caller]
    fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.0.seat.common().count_stale_lookup(outcome, why);
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        HandleError::in_lease(handle, self.0.stamp())
    }
}

resolve_handles! {
    /// Returns the data of a handle, if it was made in this memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let arena = arenas.task_arena();
    /// let (one, two) = (arena.share(1), arena.share(2));
    /// let result = arena.finish(one);
    /// assert_eq!(result.memory().get(two), Some(&2));
    /// assert_eq!(result.memory().get(arenas.local().share(3)), None);
    /// ```
    TaskMemory
}

impl fmt::Debug for TaskMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskMemory")
            .field("held_bytes", &self.0.held_bytes())
            .finish_non_exhaustive()
    }
}

/// The result of a task, with the memory that holds it. Store it in a component or resource: it is `Send`,
/// `Sync` and `'static`, and derefs to the data.
///
/// When it is dropped or replaced, on any thread, its shared values are dropped and its blocks are returned. It
/// holds whole blocks (see [`block_bytes`](crate::FrameArenaSettings::block_bytes)), so make many small
/// results in one arena. Wrap it in an [`Arc`] if several readers keep it, and pass it to
/// [`FrameArenas::adopt`] if it is needed for one frame only.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, FrameHandle, TaskResult};
///
/// struct Mesh {
///     positions: FrameHandle<[[f32; 3]]>,
///     indices: FrameHandle<[u32]>,
/// }
///
/// let arenas = FrameArenas::default();
/// let arena = arenas.task_arena();
/// let mesh = arena.share(Mesh {
///     positions: arena.share_slice_copy(&[[0.0; 3]; 3]),
///     indices: arena.share_slice_copy(&[0, 1, 2]),
/// });
/// let mesh: TaskResult<Mesh> = arena.finish(mesh);
/// drop(arenas);
/// assert_eq!(mesh.memory()[mesh.indices], [0, 1, 2]);
/// ```
pub struct TaskResult<T: ?Sized> {
    /// Made in the arena of `memory`.
    handle: FrameHandle<T>,
    memory: TaskMemory,
}

impl<T: ?Sized> TaskResult<T> {
    /// Returns the memory, which resolves all handles of the task's arena.
    pub fn memory(&self) -> &TaskMemory {
        &self.memory
    }
}

impl<T: ?Sized> Deref for TaskResult<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        let data = self.memory.find(self.handle);
        data.expect("`finish` found it, and the stamp of a finished arena stays")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for TaskResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
