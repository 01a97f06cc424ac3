//! How much memory the arenas take, and what happens when it is not enough.
#![forbid(unsafe_code)]

/// The memory policy of [`FrameArenas`](crate::FrameArenas).
///
/// ```
/// use bevy_frame_arena::{FrameArenaSettings, OverflowPolicy};
///
/// let settings = FrameArenaSettings {
///     worker_capacity_bytes: 4 << 20,
///     overflow: OverflowPolicy::Fail,
///     ..Default::default()
/// };
/// assert_eq!(settings.budget_bytes, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameArenaSettings {
    /// The size of a worker's first chunk, in each generation. Default: 16 MiB.
    ///
    /// It is reserved when the worker first allocates. On Linux, macOS and the other
    /// systems that commit pages when they are touched, the untouched rest is address space and
    /// no memory. Windows charges it to the process's commit limit at once, without using
    /// physical memory: a game for many workers on small machines sets less there.
    pub worker_capacity_bytes: usize,

    /// What a worker does when its chunk is full. Default: [`OverflowPolicy::Grow`].
    pub overflow: OverflowPolicy,

    /// The most that all workers and generations together may reserve. Default: no limit.
    ///
    /// An allocation that needs a chunk beyond it fails with
    /// [`ArenaError::Exhausted`](crate::ArenaError::Exhausted).
    pub budget_bytes: Option<usize>,

    /// The number of frames after which memory that none of them needed is given back to the
    /// global allocator. Default: 600, ten seconds at 60 frames a second. `None` keeps everything.
    ///
    /// A worker gives its memory back when it was idle for that time, or when it has touched more
    /// than twice what its largest frame in that time used (plus a quarter); so a steady load never
    /// reallocates. Whether the allocator passes it on to the system is up to the allocator.
    pub trim_after_frames: Option<u32>,

    /// The bytes of a worker's first chunk, in each generation, that are touched before the game
    /// needs them, so that no page fault falls into its first frames. Default: 0.
    ///
    /// [`FrameArenas::new`](crate::FrameArenas::new) pays for it: it makes the first chunks of as
    /// many workers as there are cores and writes to each page. A worker beyond those gets its
    /// chunk as it would without this setting. What nobody asked for is freed when memory is given
    /// back, after `trim_after_frames`.
    pub pretouch_bytes: usize,

    /// Whether recycled memory is filled with `0xDD`, so that a stale raw pointer shows.
    /// Default: on in debug builds.
    ///
    /// It makes the swap proportional to the bytes used.
    pub fill_recycled: bool,
}

impl Default for FrameArenaSettings {
    fn default() -> Self {
        Self {
            worker_capacity_bytes: 16 << 20,
            overflow: OverflowPolicy::Grow,
            budget_bytes: None,
            trim_after_frames: Some(600),
            pretouch_bytes: 0,
            fill_recycled: cfg!(debug_assertions),
        }
    }
}

/// What a worker does when an allocation does not fit into its chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// It chains another chunk, and keeps it for the frames to come.
    #[default]
    Grow,
    /// It fails with [`ArenaError::Exhausted`](crate::ArenaError::Exhausted): a hard limit, rounded
    /// up to a multiple of 128 bytes.
    ///
    /// A `FrameVec` or a map that grows beyond it without `try_reserve` aborts the process, as any
    /// `Vec` does without memory. A budget has the same effect.
    Fail,
}
