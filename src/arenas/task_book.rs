//! The record of task arenas: their number, their age, and the line that took each.
#![forbid(unsafe_code)]

use std::fmt;
use std::mem;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::generation::Common;
use crate::error::Count;
use crate::stamp::Stamp;

/// A task arena that is neither finished nor dropped: see
/// [`FrameUsage::oldest_task`](crate::FrameUsage::oldest_task).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", reflect(opaque, Clone, Debug, PartialEq))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct RunningTask {
    /// The age of the arena in periods when it was measured.
    pub age_in_periods: u64,
    /// The line that took it.
    pub made_at: &'static Location<'static>,
}

/// `taken 2 frames ago at src/mesh.rs:12`.
impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (self.made_at.file(), self.made_at.line());
        let age = Count(self.age_in_periods, "frame");
        write!(f, "taken {age} ago at {file}:{line}")
    }
}

/// Counts tasks, from any number of threads at once.
#[derive(Debug, Default)]
pub(super) struct TaskBook {
    running: Mutex<Vec<Entry>>,
    /// Whether a task has ever begun. If not, the figures need no lock.
    is_used: AtomicBool,
    results: AtomicUsize,
    period: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    period: u64,
    made_at: &'static Location<'static>,
}

impl TaskBook {
    /// Sets the period that is recorded for new tasks.
    pub(super) fn begin_period(&self, period: u64) {
        self.period.store(period, Relaxed);
    }

    /// Whether a task has ever begun. If not, there are no figures.
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Returns the number of running tasks, and the one that has run longest.
    pub(super) fn running(&self) -> (usize, Option<RunningTask>) {
        let running = self.lock();
        let oldest = running.iter().min_by_key(|entry| entry.period);
        let now = self.period.load(Relaxed);
        let oldest = oldest.map(|entry| RunningTask {
            age_in_periods: now.saturating_sub(entry.period),
            made_at: entry.made_at,
        });
        (running.len(), oldest)
    }

    pub(super) fn results(&self) -> usize {
        self.results.load(Relaxed)
    }

    /// Adds a running task.
    #[track_caller]
    fn begin(&self, stamp: Stamp) {
        let entry = Entry {
            stamp,
            period: self.period.load(Relaxed),
            made_at: Location::caller(),
        };
        self.is_used.store(true, Relaxed);
        // The list grows while the lock is not held: a user's global allocator may take a task arena
        // itself.
        let mut longer = Vec::new();
        loop {
            let mut running = self.lock();
            if longer.capacity() > running.capacity() {
                longer.append(&mut running);
                mem::swap(&mut *running, &mut longer);
            }
            if running.len() < running.capacity() {
                running.push(entry);
                break;
            }
            let len = running.len();
            drop(running);
            let room = longer.try_reserve_exact(2 * len + 8);
            room.expect("the global allocator has room for a list of tasks");
        }
    }

    /// Removes a running task that was dropped or finished.
    fn end(&self, stamp: Stamp) {
        let mut running = self.lock();
        if let Some(index) = running.iter().position(|entry| entry.stamp == stamp) {
            running.swap_remove(index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Nothing panics while the lock is held.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry of the [`TaskBook`], for a task or its result. Dropping it removes the entry.
pub(super) struct Seat {
    common: Arc<Common>,
    stamp: Stamp,
    is_finished: bool,
}

impl Seat {
    #[track_caller]
    pub(super) fn new(common: &Arc<Common>, stamp: Stamp) -> Self {
        common.tasks.begin(stamp);
        Self {
            common: Arc::clone(common),
            stamp,
            is_finished: false,
        }
    }

    /// Counts the task as a result from now on.
    pub(super) fn finish(&mut self) {
        self.common.tasks.end(self.stamp);
        self.common.tasks.results.fetch_add(1, Relaxed);
        self.is_finished = true;
    }

    pub(super) fn common(&self) -> &Common {
        &self.common
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.is_finished {
            self.common.tasks.results.fetch_sub(1, Relaxed);
        } else {
            self.common.tasks.end(self.stamp);
        }
    }
}
