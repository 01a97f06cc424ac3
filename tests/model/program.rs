//! Programs: what the interpreter runs, and what a failure is shrunk to.

use bevy_frame_arena::{FrameArenaSettings, LivesFor};

/// A program over two `FrameArenas` and up to eight worker threads.
#[derive(Clone, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) struct Program {
    /// The settings of the two `FrameArenas`.
    pub(crate) policies: [Policy; 2],
    pub(crate) steps: Vec<Step>,
}

/// A memory policy.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Policy {
    Default,
    TinyChunksThatTrim,
    NoFirstChunk,
    Fail,
    Budget,
    /// A budget that every other frame runs out of.
    TightBudget,
    /// That of a level: one period, whose memory goes back.
    Level,
}

/// One step. Numbers are taken modulo what there is to choose from.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Step {
    Allocate {
        worker: u8,
        arenas: u8,
        method: Method,
        bytes: u32,
        align_shift: u8,
    },
    /// Overwrites a live allocation.
    Write {
        worker: u8,
        nth: u8,
    },
    /// Grows a live container.
    Grow {
        worker: u8,
        nth: u8,
        by: u16,
    },
    /// Shrinks a live container.
    Shrink {
        worker: u8,
        nth: u8,
        to: u16,
    },
    /// Drops a live allocation.
    Free {
        worker: u8,
        nth: u8,
    },
    Share {
        worker: u8,
        arenas: u8,
        kind: SharedKind,
        bytes: u32,
    },
    /// Resolves any handle ever made, in any arenas.
    Get {
        worker: u8,
        arenas: u8,
        nth: u8,
    },
    Lease {
        arenas: u8,
    },
    LeaseHandle {
        arenas: u8,
        nth: u8,
    },
    GetLeased {
        lease: u8,
        nth: u8,
    },
    EndLease {
        lease: u8,
    },
    Swap {
        arenas: u8,
    },
    /// Recycles what was leased and is no longer, between two swaps.
    RecycleParked {
        arenas: u8,
    },
    /// Gives back all memory that is not in use, in the middle of a frame.
    Trim {
        arenas: u8,
    },
    /// Fills a list in scratch memory that grows, and shares a value there.
    Scratch {
        worker: u8,
        arenas: u8,
        bytes: u32,
        forgets: bool,
    },
    Task(TaskStep),
    /// Ends a worker's thread; its next step starts another.
    ExitThread {
        worker: u8,
    },
    /// Drops the arenas and makes new ones.
    Replace {
        arenas: u8,
        policy: Policy,
    },
}

/// What becomes of a task. Each runs on a thread of its own.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum TaskStep {
    /// Takes an arena with any ticket, also of arenas that were replaced.
    Take {
        nth: u8,
    },
    Work {
        task: u8,
        kind: SharedKind,
        bytes: u32,
    },
    Finish {
        task: u8,
    },
    /// Drops a task that has not finished.
    Abandon {
        task: u8,
        panics: bool,
    },
    /// Resolves any handle ever made, in a result.
    Get {
        result: u8,
        nth: u8,
    },
    Adopt {
        worker: u8,
        arenas: u8,
        result: u8,
    },
    DropResult {
        result: u8,
    },
}

/// How a worker allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum Method {
    Word,
    WordWith,
    Page,
    Layout,
    Copy,
    FillCopy,
    FillWith,
    FillIter,
    Str,
    Fmt,
    BoxTracked,
    Vec,
    VecTracked,
    Map,
    Text,
}

/// How a worker shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub(crate) enum SharedKind {
    Word,
    Box,
    Copy,
    Iter,
    Vec,
    Str,
    Text,
    Tracked,
    TrackedSlice,
    /// Panics when it is dropped.
    Bomb,
}

impl Policy {
    pub(crate) fn settings(self) -> FrameArenaSettings {
        let default = FrameArenaSettings {
            fill_recycled: true,
            ..FrameArenaSettings::default()
        };
        match self {
            Self::Default => default,
            Self::TinyChunksThatTrim => FrameArenaSettings {
                block_bytes: 256,
                trim_after_periods: Some(2),
                ..default
            },
            Self::NoFirstChunk => FrameArenaSettings {
                block_bytes: 0,
                trim_after_periods: None,
                fill_recycled: false,
                lives_for: LivesFor::ThreePeriods,
                ..default
            },
            Self::Fail => FrameArenaSettings {
                worker_limit_bytes: Some(16 << 10),
                trim_after_periods: Some(1),
                lives_for: LivesFor::OnePeriod,
                ..default
            },
            Self::Budget => FrameArenaSettings {
                block_bytes: 4 << 10,
                budget_bytes: Some(256 << 10),
                trim_after_periods: None,
                ..default
            },
            Self::TightBudget => FrameArenaSettings {
                block_bytes: 256,
                budget_bytes: Some(10_000),
                trim_after_periods: Some(3),
                ..default
            },
            Self::Level => FrameArenaSettings {
                block_bytes: 1 << 10,
                trim_after_periods: Some(0),
                lives_for: LivesFor::OnePeriod,
                ..default
            },
        }
    }
}
