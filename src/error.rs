//! What can go wrong with an allocation, in numbers.

use std::error::Error;
use std::fmt;

/// Why an arena could not provide memory.
///
/// The `try_` methods return it; their plain twins panic with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaError {
    /// The global allocator had no block of this size.
    AllocationFailed {
        /// Bytes that were asked for.
        requested: usize,
    },
    /// The allocation does not fit below a limit that the settings set.
    Exhausted {
        /// Bytes that were asked for.
        requested: usize,
        /// The alignment that was asked for: it may take more than the bytes.
        align: usize,
        /// Bytes that were left below the limit.
        remaining: usize,
        /// The limit.
        limit: ArenaLimit,
    },
    /// The alignment is not a power of two.
    InvalidAlignment {
        /// The alignment that was asked for.
        alignment: usize,
    },
    /// `len` elements take more bytes than an allocation may have (`isize::MAX`).
    TooLong {
        /// Elements that were asked for.
        len: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },
}

/// The limit that an allocation ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaLimit {
    /// One worker's capacity, under [`OverflowPolicy::Fail`](crate::OverflowPolicy::Fail).
    Worker {
        /// The capacity.
        bytes: usize,
    },
    /// The budget over all workers and generations.
    Budget {
        /// The budget.
        bytes: usize,
    },
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AllocationFailed { requested } => write!(
                f,
                "the global allocator has no block of {requested} bytes for a frame arena"
            ),
            Self::Exhausted {
                requested,
                align,
                remaining,
                limit: ArenaLimit::Worker { bytes },
            } => write!(
                f,
                "frame arena exhausted: {requested} bytes requested, aligned to {align}, and \
                 {remaining} of {bytes} bytes remain; raise \
                 `FrameArenaSettings::worker_capacity_bytes`, or set `overflow` to \
                 `OverflowPolicy::Grow`"
            ),
            Self::Exhausted {
                requested,
                align,
                remaining,
                limit: ArenaLimit::Budget { bytes },
            } => write!(
                f,
                "frame arena budget exhausted: {requested} bytes requested, aligned to {align}, \
                 and {remaining} of {bytes} bytes remain for all workers and generations; raise \
                 `FrameArenaSettings::budget_bytes`"
            ),
            Self::InvalidAlignment { alignment } => {
                write!(f, "alignment {alignment} is not a power of two")
            }
            Self::TooLong { len, element_bytes } => write!(
                f,
                "{len} elements of {element_bytes} bytes are more than an allocation may have \
                 ({} bytes)",
                isize::MAX
            ),
        }
    }
}

impl Error for ArenaError {}

/// Panics with the text of `error`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: ArenaError) -> ! {
    panic!("{error}")
}
