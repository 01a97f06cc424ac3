//! Failed look-ups: their number, and the first of each period.
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
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", reflect(opaque, Clone, Debug, PartialEq))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct StaleLookup {
    /// Why the handle did not resolve.
    pub error: HandleError,
    /// The line of the look-up.
    pub read_at: &'static Location<'static>,
}

/// `at src/draw.rs:12, stale …`, with the text of the error.
impl fmt::Display for StaleLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}:{}, ", self.read_at.file(), self.read_at.line())?;
        self.error.fmt(f)
    }
}

/// The outcome of a failed look-up. Only this decides whether it is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// `None`, an empty list or an error: the reader expects that the data may be gone.
    Handled,
    /// A panic.
    Panic,
}

/// Counts failed look-ups. Any number of threads may do so at once.
#[derive(Debug, Default)]
pub(super) struct Misses {
    count: AtomicU64,
    panics: AtomicU64,
    first: Mutex<Option<StaleLookup>>,
}

impl Misses {
    /// Counts a failed look-up. The reason is recorded only for the first of a period and the first that
    /// panics, because a game may make thousands.
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

    /// Whether a look-up has failed since the last period ended.
    #[inline]
    pub(super) fn are_any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Ends a period. Returns the number of failed look-ups, the number of those that panicked, and the first
    /// that panicked; if none did, the first failed look-up.
    ///
    /// A look-up that fails in a lease during this call counts for this period or the next.
    pub(super) fn end_period(&self) -> (u64, u64, Option<StaleLookup>) {
        (
            self.count.swap(0, Relaxed),
            self.panics.swap(0, Relaxed),
            self.first().take(),
        )
    }

    /// Returns the same as [`end_period`](Self::end_period), without resetting it.
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
