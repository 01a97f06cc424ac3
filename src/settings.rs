//! How much memory the arenas take, and what happens when it is not enough.
#![forbid(unsafe_code)]

/// The memory policy of [`FrameArenas`](crate::FrameArenas).
///
/// ```
/// use bevy_frame_arena::FrameArenaSettings;
///
/// let settings = FrameArenaSettings {
///     budget_bytes: Some(64 << 20),
///     ..Default::default()
/// };
/// assert_eq!(settings.worker_limit_bytes, None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameArenaSettings {
    /// The size of a block, rounded up to a power of two of at least 256 bytes. Default: 128 KiB, and
    /// 64 KiB on the web.
    ///
    /// Arenas take blocks from one store and give them back as soon as their data need not live any
    /// more, so the memory of all workers together follows what they use. Smaller blocks save memory
    /// where very many threads allocate a little each. Allocations and lists that do not fit get
    /// larger blocks. A budget has room for at least 64 blocks, so a small one makes them smaller.
    pub block_bytes: usize,

    /// The most bytes that each worker may have in use at once, and each [`Scratch`](crate::Scratch).
    /// Default: no limit.
    ///
    /// An allocation beyond it fails with [`ArenaError::Exhausted`](crate::ArenaError::Exhausted).
    pub worker_limit_bytes: Option<usize>,

    /// The most that all workers and generations together may take from the global allocator.
    /// Default: no limit.
    ///
    /// An allocation that needs a block beyond it fails with
    /// [`ArenaError::Exhausted`](crate::ArenaError::Exhausted). Blocks that wait in the store are
    /// given up first.
    pub budget_bytes: Option<usize>,

    /// The number of frames (or whatever the period of the arenas is) after which memory that none
    /// of them needed is given back to the global allocator. Default: 600, ten seconds at 60 frames
    /// a second. `None` keeps everything; `Some(0)` keeps nothing beyond the period that used it, which
    /// suits long ones such as levels.
    ///
    /// What counts is the number of blocks that were needed at once, so a steady load never
    /// reallocates, whichever worker has it. The time is measured in steps, so it may be late by an
    /// eighth. Whether the allocator passes the memory on to the system is up to the allocator.
    pub trim_after_frames: Option<u32>,

    /// For how many periods data can be read, its own included. Default:
    /// [`LivesFor::TwoPeriods`].
    pub lives_for: LivesFor,

    /// Bytes that the store has from the start, with all pages touched, so that no page fault falls
    /// into the first frames. Default: 0.
    ///
    /// [`FrameArenas::new`](crate::FrameArenas::new) pays for it. It is a total for all workers, and
    /// never more than the budget. What is not needed is given back after `trim_after_frames`.
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
            block_bytes: BLOCK_BYTES,
            worker_limit_bytes: None,
            budget_bytes: None,
            trim_after_frames: Some(600),
            lives_for: LivesFor::default(),
            pretouch_bytes: 0,
            fill_recycled: cfg!(debug_assertions),
        }
    }
}

/// For how many periods of its arenas data can be read: its own, and the ones after it.
///
/// Each period beyond the first costs the memory of one more generation, except in arenas that shared
/// nothing, and cache misses: a frame that writes to the memory of the frame before the last finds it
/// cold.
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

const BLOCK_BYTES: usize = if cfg!(target_family = "wasm") {
    64 << 10
} else {
    128 << 10
};

/// The blocks of a standalone arena: there may be one for each system.
pub(crate) const STANDALONE_BLOCK_BYTES: usize = 64 << 10;
