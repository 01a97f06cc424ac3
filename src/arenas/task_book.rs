//! The book of tasks: how many have an arena, since when, and who took it.
#![forbid(unsafe_code)]

use std::fmt;
use std::mem;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::stamp::Stamp;

/// A task arena that is neither finished nor dropped: see
/// [`FrameUsage::oldest_task`](crate::FrameUsage::oldest_task).
///
/// ```
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let task_arena = arenas.task_arena();
/// (0..3).for_each(|_| arenas.swap());
/// let oldest = arenas.usage().oldest_task.unwrap();
/// assert_eq!(oldest.age_in_frames, 2);
/// assert!(oldest.to_string().starts_with("taken 2 frames ago at "));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningTask {
    /// How many frames before the one that was measured the arena was taken.
    pub age_in_frames: u64,
    /// The line that took it.
    pub made_at: &'static Location<'static>,
}

/// `taken 2 frames ago at src/mesh.rs:12`.
impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (self.made_at.file(), self.made_at.line());
        let age = self.age_in_frames;
        let frames = if age == 1 { "frame" } else { "frames" };
        write!(f, "taken {age} {frames} ago at {file}:{line}")
    }
}

/// Counts tasks. Any number of threads may do so at once.
#[derive(Debug, Default)]
pub(super) struct TaskBook {
    running: Mutex<Vec<Entry>>,
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
    /// Sets the period in which tasks begin from now on.
    pub(super) fn begin_period(&self, period: u64) {
        self.period.store(period, Relaxed);
    }

    /// Returns the number of running tasks, and the one that has run longest.
    pub(super) fn running(&self) -> (usize, Option<RunningTask>) {
        let running = self.lock();
        let oldest = running.iter().min_by_key(|entry| entry.period);
        let now = self.period.load(Relaxed);
        let oldest = oldest.map(|entry| RunningTask {
            age_in_frames: now.saturating_sub(entry.period),
            made_at: entry.made_at,
        });
        (running.len(), oldest)
    }

    /// Returns the number of results.
    pub(super) fn results(&self) -> usize {
        self.results.load(Relaxed)
    }

    /// Adds a running task.
    #[track_caller]
    pub(super) fn begin(&self, stamp: Stamp) {
        let entry = Entry {
            stamp,
            period: self.period.load(Relaxed),
            made_at: Location::caller(),
        };
        // The list grows while the lock is free: the global allocator may be a user's own, and take
        // a task arena itself.
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
            longer = Vec::with_capacity(2 * len + 8);
        }
    }

    /// Removes a running task, which ends or has a result.
    pub(super) fn end(&self, stamp: Stamp) {
        let mut running = self.lock();
        if let Some(index) = running.iter().position(|entry| entry.stamp == stamp) {
            running.swap_remove(index);
        }
    }

    pub(super) fn add_result(&self) {
        self.results.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_result(&self) {
        self.results.fetch_sub(1, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Nothing panics while the lock is held.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
