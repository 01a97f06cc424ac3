//! Settings: how much memory the arenas take, and how long data lives.
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
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
pub struct FrameArenaSettings {
    /// The size of a block, rounded up to a power of two of at least 256 bytes. Default: 128 KiB, and
    /// 64 KiB on the web.
    ///
    /// Arenas take blocks from one store and return them as soon as their data is no longer readable, so
    /// the memory of all workers together follows their use. The first block of a worker in a period has
    /// 8 KiB at most, and the next ones double, because most workers need little. Larger allocations and
    /// lists get larger blocks. A budget has room for at least 64 blocks, so a small budget makes them
    /// smaller.
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
    /// [`ArenaError::Exhausted`](crate::ArenaError::Exhausted). Free blocks in the store are given up
    /// first.
    pub budget_bytes: Option<usize>,

    /// The number of periods, such as frames, after which memory that none of them needed is returned to
    /// the global allocator. Default: 600, ten seconds at 60 frames a second. `None` keeps everything.
    /// `Some(0)` keeps nothing beyond the period that used it, which suits long periods such as levels.
    ///
    /// Memory counts as needed by the number of blocks in use at once, so a steady load never
    /// reallocates, whichever worker has it. The time is measured in steps, so it may be late by an
    /// eighth. Whether the memory returns to the system is up to the allocator.
    pub trim_after_periods: Option<u32>,

    /// The number of periods for which data can be read, including its own. Default:
    /// [`LivesFor::TwoPeriods`].
    pub lives_for: LivesFor,

    /// Bytes that the store allocates at the start, touching all pages, so that the first frames have no
    /// page faults. Default: 0.
    ///
    /// [`FrameArenas::new`](crate::FrameArenas::new) pays for it. It is a total for all workers, and
    /// never more than the budget or 1 GiB; the small first blocks of the workers come on top. Unneeded
    /// memory is returned after `trim_after_periods`.
    pub pretouch_bytes: usize,

    /// Whether recycled memory is filled with `0xDD`, to expose use after free through raw pointers.
    /// Default: on in debug builds.
    ///
    /// With it, the cost of the swap is proportional to the bytes used.
    pub fill_recycled: bool,
}

impl Default for FrameArenaSettings {
    fn default() -> Self {
        Self {
            block_bytes: BLOCK_BYTES,
            worker_limit_bytes: None,
            budget_bytes: None,
            trim_after_periods: Some(600),
            lives_for: LivesFor::default(),
            pretouch_bytes: 0,
            fill_recycled: cfg!(debug_assertions),
        }
    }
}

/// The number of periods of its arenas for which data can be read: its own, and those after it.
///
/// Each period beyond the first costs the memory of one more generation, except in arenas that shared
/// nothing. It also costs cache misses: memory that was last used two frames ago is cold.
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
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
pub enum LivesFor {
    /// Only its own: for apps that never look back. The least memory, and the fastest.
    /// [`TwoFrames`](crate::TwoFrames) needs more: its old list is never readable.
    OnePeriod,
    /// Its own and the next: systems can read data of other systems from the frame before, in any order.
    #[default]
    TwoPeriods,
    /// Its own and the next two: for a render world that keeps two frames.
    ThreePeriods,
}

impl LivesFor {
    /// The longest life, checked against the margin between the stamps of two runs. A new variant must be
    /// added here.
    pub(crate) const LONGEST: Self = match Self::OnePeriod {
        Self::OnePeriod | Self::TwoPeriods | Self::ThreePeriods => Self::ThreePeriods,
    };

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

/// The first block of each worker and of each scratch: of many workers, most need little.
pub(crate) const FIRST_BLOCK_BYTES: usize = 8 << 10;

/// The block size of a standalone arena, which is small because each system may have one.
pub(crate) const STANDALONE_BLOCK_BYTES: usize = 64 << 10;
