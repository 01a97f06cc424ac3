//! Look-ups that failed: how many, and the first of each period.
#![forbid(unsafe_code)]

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::handles::HandleError;

/// A look-up of a handle that did not resolve: see
/// [`FrameUsage::first_stale_lookup`](crate::FrameUsage::first_stale_lookup).
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let list = arenas.local().share_slice_copy(&[1, 2, 3]);
/// (0..2).for_each(|_| arenas.swap());
/// assert_eq!(arenas.slice(list), []);
/// arenas.swap();
///
/// let first = arenas.usage().first_stale_lookup.unwrap();
/// assert!(first.to_string().contains("stale `FrameHandle<[i32]>`: made 2 frames ago"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleLookup {
    /// Why the handle did not resolve.
    pub error: HandleError,
    /// The line that looked it up.
    pub read_at: &'static Location<'static>,
}

/// `at src/draw.rs:12, stale …`, with the text of the error.
impl fmt::Display for StaleLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}:{}, ", self.read_at.file(), self.read_at.line())?;
        self.error.fmt(f)
    }
}

/// What a look-up that fails ends in. This alone decides whether it is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// `None`, an empty list or an error: the reader expects that the data may be gone.
    Handled,
    /// A panic.
    Panic,
}

/// Counts look-ups that failed. Any number of threads may do so at once.
#[derive(Debug, Default)]
pub(super) struct Misses {
    count: AtomicU64,
    panics: AtomicU64,
    first: Mutex<Option<StaleLookup>>,
}

impl Misses {
    /// Counts one, and asks why if it is the first of its period, or the first that panics: a game may
    /// make thousands.
    #[cold]
    #[track_caller]
    pub(super) fn note(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        let is_first = self.count.fetch_add(1, Relaxed) == 0;
        let panics = outcome == Outcome::Panic;
        let is_first_panic = panics && self.panics.fetch_add(1, Relaxed) == 0;
        if !is_first && !is_first_panic {
            return;
        }
        let first = StaleLookup {
            error: why(),
            read_at: Location::caller(),
        };
        *self.first() = Some(first);
    }

    /// Ends a period: returns how many there were, how many panicked, and the first that panicked, or
    /// else the first.
    ///
    /// One that a lease counts meanwhile belongs to this period or to the next.
    pub(super) fn end_period(&self) -> (u64, u64, Option<StaleLookup>) {
        match self.count.swap(0, Relaxed) {
            0 => (0, 0, None),
            count => (count, self.panics.swap(0, Relaxed), self.first().take()),
        }
    }

    /// Returns what [`end_period`](Self::end_period) would, and leaves it.
    #[cfg(feature = "bevy")]
    pub(super) fn so_far(&self) -> (u64, u64, Option<StaleLookup>) {
        match self.count.load(Relaxed) {
            0 => (0, 0, None),
            count => (count, self.panics.load(Relaxed), *self.first()),
        }
    }

    fn first(&self) -> MutexGuard<'_, Option<StaleLookup>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
