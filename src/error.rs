//! What can go wrong with an allocation, in numbers.
#![forbid(unsafe_code)]

mod bytes;
mod names;

use std::error::Error;
use std::fmt;

#[cfg(feature = "bevy")]
pub(crate) use self::bytes::Bytes;
use self::bytes::Exactly;
pub(crate) use self::names::{Arenas, Short};

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
        /// The type of the pace that the arena is of, as [`type_name`](std::any::type_name) writes
        /// it; `None` if it is the frame, or the arena is standalone.
        pace: Option<&'static str>,
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
    /// What one worker may use:
    /// [`worker_limit_bytes`](crate::FrameArenaSettings::worker_limit_bytes).
    Worker {
        /// The limit.
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
                "the global allocator has no block of {} for an arena",
                Exactly(requested),
            ),
            Self::Exhausted {
                requested,
                align,
                remaining,
                limit: ArenaLimit::Worker { bytes },
                pace,
            } => write!(
                f,
                "{}arena{} exhausted: {} requested, aligned to {align}, and {} of {} remain for this \
                 worker; raise `FrameArenaSettings::worker_limit_bytes`",
                Frame(pace),
                Of(pace),
                Exactly(requested),
                Exactly(remaining),
                Exactly(bytes),
            ),
            Self::Exhausted {
                requested,
                align,
                remaining,
                limit: ArenaLimit::Budget { bytes },
                pace,
            } => write!(
                f,
                "{}arena budget{} exhausted: {} requested, aligned to {align}, and {} of {} remain \
                 for all workers and generations; raise `FrameArenaSettings::budget_bytes`",
                Frame(pace),
                Of(pace),
                Exactly(requested),
                Exactly(remaining),
                Exactly(bytes),
            ),
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

/// Whose arena it is, before the word.
struct Frame(Option<&'static str>);

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("frame "),
            Some(_) => Ok(()),
        }
    }
}

/// The resource of a pace that is not the frame, behind the word.
pub(crate) struct Of(pub(crate) Option<&'static str>);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            pace => write!(f, " of {}", Arenas(pace)),
        }
    }
}

/// Panics with the text of `error`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: ArenaError) -> ! {
    panic!("{error}")
}
