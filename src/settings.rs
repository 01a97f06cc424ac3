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
    /// The size of a worker's first chunk, in each generation.
    ///
    /// It is reserved when the worker first allocates. The default is 16 MiB on 64-bit systems that
    /// commit pages when they are touched (Linux, macOS and the like): there the untouched rest is
    /// address space and no memory. Elsewhere a reserved page counts, so the default is 1 MiB
    /// (Windows charges it to the process's commit limit; 32-bit systems are short of addresses),
    /// and 256 KiB on the web, where memory that was taken once is never given back.
    ///
    /// Under a budget, a first chunk takes no more than a sixteenth of what the budget has left, so
    /// that there is some for every worker.
    pub worker_capacity_bytes: usize,

    /// What a worker does when its chunk is full. Default: [`OverflowPolicy::Grow`].
    pub overflow: OverflowPolicy,

    /// The most that all workers and generations together may reserve. Default: no limit.
    ///
    /// An allocation that needs a chunk beyond it fails with
    /// [`ArenaError::Exhausted`](crate::ArenaError::Exhausted). After that, each generation gives
    /// all its memory back when it is recycled, so that the frames that follow find some.
    pub budget_bytes: Option<usize>,

    /// The number of frames (or whatever the period of the arenas is) after which memory that none
    /// of them needed is given back to the global allocator. Default: 600, ten seconds at 60 frames
    /// a second. `None` keeps everything; `Some(0)` keeps nothing beyond the period that used it, which
    /// suits long ones such as levels.
    ///
    /// A worker gives its memory back when it was idle for that time, or when it has touched more
    /// than twice what its largest frame in that time used (plus a quarter); so a steady load never
    /// reallocates. The time is measured in eighths, so it may be late by one of them. Whether the
    /// allocator passes the memory on to the system is up to the allocator.
    pub trim_after_frames: Option<u32>,

    /// For how many periods data can be read, its own included. Default:
    /// [`LivesFor::TwoPeriods`].
    pub lives_for: LivesFor,

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
            worker_capacity_bytes: WORKER_CAPACITY_BYTES,
            overflow: OverflowPolicy::Grow,
            budget_bytes: None,
            trim_after_frames: Some(600),
            lives_for: LivesFor::default(),
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
    Fail,
}

/// For how many periods of its arenas data can be read: its own, and the ones after it.
///
/// Each period beyond the first costs one more generation of memory, and cache misses: a frame that
/// writes to the memory of the frame before the last finds it cold.
///
/// ```
/// use bevy_frame_arena::{FrameArenaSettings, FrameArenas, LivesFor};
///
/// let mut arenas = FrameArenas::new(FrameArenaSettings {
///     lives_for: LivesFor::ThreePeriods,
///     ..Default::default()
/// });
/// let name = arenas.local().share_str("Ferris");
/// arenas.swap();
/// arenas.swap();
/// assert_eq!(arenas.get(name), Some("Ferris"));
/// arenas.swap();
/// assert_eq!(arenas.get(name), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LivesFor {
    /// Its own alone: for those who never look back. The least memory, and the fastest.
    OnePeriod,
    /// Its own and the next: systems see what other systems made in the frame before, in any order.
    #[default]
    TwoPeriods,
    /// Its own and the next two: for a render world that keeps two frames.
    ThreePeriods,
}

impl LivesFor {
    /// Returns the number of periods.
    ///
    /// ```
    /// # use bevy_frame_arena::LivesFor;
    /// assert_eq!(LivesFor::default().periods(), 2);
    /// ```
    pub const fn periods(self) -> usize {
        match self {
            Self::OnePeriod => 1,
            Self::TwoPeriods => 2,
            Self::ThreePeriods => 3,
        }
    }
}

const WORKER_CAPACITY_BYTES: usize = if cfg!(target_family = "wasm") {
    256 << 10
} else if cfg!(all(unix, target_pointer_width = "64")) {
    16 << 20
} else {
    1 << 20
};

/// The first chunk of a standalone arena: there may be one for each system.
pub(crate) const STANDALONE_CAPACITY_BYTES: usize = 64 << 10;
