//! Task arenas: memory of a task's own, and results that come back without a copy.
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
use crate::arena::{ArenaScope, FrameArena};
use crate::handles::{FrameHandle, HandleError, resolve_handles};
use crate::stamp::{self, Stamp};

/// Memory of a task's own. Use it for what a task needs while it works, and for the result that it
/// returns: a mesh, a path, a flow field.
///
/// It derefs to a [`FrameArena`], whose blocks come from the store and the budget of the
/// [`FrameArenas`] that it was taken from. It may move to any thread and live for any number of frames.
/// [`finish`](Self::finish) turns it into the result. If it is dropped instead, e.g. with a task that is
/// cancelled or panics, its blocks go back at once, also after the `FrameArenas` were dropped.
///
/// [`worker_limit_bytes`](crate::FrameArenaSettings::worker_limit_bytes) applies to each task arena.
/// Bevy's tasks are `Send`, so nothing that borrows the arena lives across an `.await`.
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
///
/// A reference into the arena does not outlive it:
///
/// ```compile_fail,E0505
/// # use bevy_frame_arena::FrameArenas;
/// # let arenas = FrameArenas::default();
/// let arena = arenas.task_arena();
/// let value = arena.alloc(1);
/// drop(arena);
/// *value = 2;
/// ```
// Not `DerefMut`: with that, a caller could put another arena in its place. The arena comes first, so
// that its blocks are back before the task is no longer counted.
#[must_use = "dropping it gives its memory back"]
pub struct TaskArena {
    arena: FrameArena,
    seat: Seat,
}

/// Makes [task arenas](TaskArena) inside of tasks. Use it where a task is spawned long before it runs,
/// or takes several arenas; otherwise [`FrameArenas::task_arena`] is shorter.
///
/// It is a ticket: cheap to clone, sent to any thread, and valid for any time. After the `FrameArenas`
/// were dropped, memory goes back to the global allocator as soon as it is free.
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
    /// Takes an arena for a task; it does not allocate once as many tasks ran at the same time before.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let mut arenas = FrameArenas::default();
    /// let arena = arenas.task_arena();
    /// arena.alloc([0_u8; 1000]);
    /// arenas.swap();
    /// let usage = arenas.usage();
    /// assert_eq!((usage.task_arenas, usage.task_bytes), (1, arena.held_bytes()));
    /// ```
    #[track_caller]
    pub fn task_arena(&self) -> TaskArena {
        TaskArena::new(&self.common)
    }

    /// Returns a ticket for taking arenas inside of tasks.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let tasks = FrameArenas::default().tasks();
    /// assert_eq!(tasks.arena().used_bytes(), 0);
    /// ```
    pub fn tasks(&self) -> TaskArenas {
        TaskArenas {
            common: Arc::clone(&self.common),
        }
    }

    /// Hands a result to the current frame: its handle resolves in this frame and the next, like
    /// whatever else was shared in it, and the task's memory goes back when the frame is recycled.
    ///
    /// Only this one handle is renewed. For a result that holds further handles,
    /// [`share`](FrameArena::share) the `TaskResult` itself, and read them through its
    /// [`memory`](TaskResult::memory).
    ///
    /// # Panics
    /// If the arena of this thread has no room for the record; see
    /// [`ArenaError`](crate::ArenaError). The result is dropped.
    ///
    /// # Examples
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
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let tasks = arenas.tasks();
    /// let arena = tasks.arena();
    /// assert_eq!(*arena.alloc(7), 7);
    /// ```
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
        let stamp = stamp::task();
        // First: it may panic for want of memory.
        let seat = Seat::new(common, stamp);
        let store = Arc::clone(&common.store);
        Self {
            arena: FrameArena::in_store(&common.settings, store, stamp),
            seat,
        }
    }

    /// Ends the work: the arena becomes the result, which derefs to the data of `handle`.
    ///
    /// Nothing is copied. All other handles of the arena resolve in the
    /// [`memory`](TaskResult::memory) of the result.
    ///
    /// # Panics
    /// If the handle was not made in this arena, or in a scope of it: with the text of
    /// [`HandleError`].
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let arena = arenas.task_arena();
    /// let path = arena.share_slice_copy(&[3, 1, 2]);
    /// let path = arena.finish(path);
    /// assert_eq!(path[1], 1);
    /// ```
    #[track_caller]
    pub fn finish<T: ?Sized>(self, handle: FrameHandle<T>) -> TaskResult<T> {
        let Self { arena, mut seat } = self;
        seat.finish();
        let memory = TaskMemory { arena, seat };
        match memory.find(handle) {
            Some(_) => TaskResult { handle, memory },
            None => panic!("{}", memory.why_not(handle)),
        }
    }

    /// Calls `work` with a scope of this arena, which is free again afterwards: see
    /// [`FrameArena::scope`]. Use it for what the result does not need.
    ///
    /// # Panics
    /// If `work` or the destructor of a shared value panics.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let mut arena = arenas.task_arena();
    /// let longest = arena.scope(|scope| {
    ///     let mut lengths = scope.vec();
    ///     lengths.extend(["to", "you"].iter().map(|word| word.len()));
    ///     lengths.iter().copied().max()
    /// });
    /// assert_eq!((longest, arena.used_bytes()), (Some(3), 0));
    /// ```
    pub fn scope<R>(&mut self, work: impl FnOnce(ArenaScope<'_>) -> R) -> R {
        self.arena.scope(work)
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
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let arenas = FrameArenas::default();
/// let arena = arenas.task_arena();
/// let words = [arena.share_str("to"), arena.share_str("you")];
/// let words = arena.share_slice_copy(&words);
///
/// let words = arena.finish(words);
/// assert_eq!(&words.memory()[words[1]], "you");
/// ```
pub struct TaskMemory {
    arena: FrameArena,
    seat: Seat,
}

// SAFETY: the arena is not `Sync`, and no `&FrameArena` leaves this type: `arena` is private, and the
// type derefs to nothing. Through `&TaskMemory`, threads reach
// - the stamp of the arena, which changes under `&mut` only, and its figures, which any thread may read;
// - the data of handles, which is shared, so immutable, `Send` and `Sync`;
// - the seat, which is `Sync`.
unsafe impl Sync for TaskMemory {}

impl TaskMemory {
    /// Returns the data of a handle, and does not count it if there is none.
    #[inline]
    fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - the stamp is that of an arena, and never `UNSET`: an unset handle does not match;
        // - the arena is not reset, and it is not dropped while it is borrowed.
        unsafe { handle.resolve(self.arena.stamp()) }
    }

    #[track_caller]
    fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.seat.common.count_stale_lookup(outcome, why);
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        HandleError::in_lease(handle, self.arena.stamp())
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
            .field("held_bytes", &self.arena.held_bytes())
            .finish_non_exhaustive()
    }
}

/// What a task made, with the memory that it lies in. Use it as a component or resource, or in one: it
/// is `Send`, `Sync` and `'static`, and derefs to the data.
///
/// When it is dropped or replaced, shared values are dropped and the blocks go back, on any thread. It
/// holds whole blocks (see [`block_bytes`](crate::FrameArenaSettings::block_bytes)), so many small
/// results are better made in one arena. Wrap it in an [`Arc`] where several readers keep it; hand it to
/// [`FrameArenas::adopt`] where the frame alone needs it.
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
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let arena = arenas.task_arena();
    /// let (name, score) = (arena.share_str("Ferris"), arena.share(7));
    /// let name = arena.finish(name);
    /// assert_eq!((&*name, name.memory()[score]), ("Ferris", 7));
    /// ```
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

/// The place of a task or its result in the book; it ends with this.
struct Seat {
    common: Arc<Common>,
    stamp: Stamp,
    is_finished: bool,
}

impl Seat {
    #[track_caller]
    fn new(common: &Arc<Common>, stamp: Stamp) -> Self {
        common.tasks.begin(stamp);
        Self {
            common: Arc::clone(common),
            stamp,
            is_finished: false,
        }
    }

    fn finish(&mut self) {
        self.common.tasks.end(self.stamp);
        self.common.tasks.add_result();
        self.is_finished = true;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.is_finished {
            self.common.tasks.remove_result();
        } else {
            self.common.tasks.end(self.stamp);
        }
    }
}
