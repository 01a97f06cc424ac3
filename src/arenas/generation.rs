//! All workers of one frame.
#![expect(unsafe_code, reason = "resolves handles")]

use std::iter::successors;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use thread_local::ThreadLocal;

use super::worker::Worker;
use crate::arena::{Budget, FrameArena, Stock};
use crate::handles::FrameHandle;
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::stamp::Stamp;

/// What all generations of one `FrameArenas` have in common.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) settings: FrameArenaSettings,
    pub(crate) budget: Arc<Budget>,
    /// First chunks for the workers to come.
    pub(crate) stock: Stock,
    /// Lookups that failed since the last swap.
    pub(crate) stale_lookups: AtomicU64,
}

/// The arenas of all workers, used for one frame and readable for the next.
///
/// It lives by its `Arc`: in `FrameArenas`, and in every lease.
pub(crate) struct Generation {
    stamp: Stamp,
    workers: ThreadLocal<Worker>,
    recycles_since_trim: u32,
    common: Arc<Common>,
}

impl Generation {
    pub(crate) fn new(common: &Arc<Common>, stamp: Stamp) -> Arc<Self> {
        Arc::new(Self {
            stamp,
            workers: ThreadLocal::new(),
            recycles_since_trim: 0,
            common: Arc::clone(common),
        })
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the calling thread's arena.
    pub(crate) fn local(&self) -> &FrameArena {
        let make = || {
            let budget = Arc::clone(&self.common.budget);
            let arena = FrameArena::in_budget(&self.common.settings, budget, self.stamp);
            Worker::new(arena.with_chunk_of(&self.common.stock))
        };
        self.workers.get_or(make).claim(make)
    }

    /// Returns what `handle` names, if it was made in this generation.
    #[inline]
    pub(crate) fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY: a recycle takes `&mut self`.
        unsafe { handle.resolve(self.stamp) }
    }

    /// Returns the workers that were used since the last recycle.
    pub(crate) fn claimed_workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers
            .iter()
            .flat_map(|worker| successors(Some(worker), |worker| worker.next()))
            .filter(|worker| worker.is_claimed())
    }

    /// Drops what was shared and makes all memory free, under a new stamp.
    ///
    /// It costs a few instructions a worker, whatever was allocated.
    pub(crate) fn recycle(&mut self, stamp: Stamp, panic: &mut FirstPanic) {
        self.stamp = stamp;
        let trim = self.is_time_to_trim();
        if trim {
            self.common.stock.clear();
        }
        self.for_each_worker(|worker| worker.recycle(stamp, trim, panic));
    }

    /// Counts a lookup that failed.
    #[cold]
    pub(crate) fn count_stale_lookup(&self) {
        self.common.stale_lookups.fetch_add(1, Relaxed);
    }

    fn is_time_to_trim(&mut self) -> bool {
        let Some(frames) = self.common.settings.trim_after_frames else {
            return false;
        };
        self.recycles_since_trim += 1;
        // A generation is recycled every other frame.
        let is_time = self.recycles_since_trim.saturating_mul(2) >= frames;
        if is_time {
            self.recycles_since_trim = 0;
        }
        is_time
    }

    fn for_each_worker(&mut self, mut work: impl FnMut(&mut Worker)) {
        for first in &mut self.workers {
            let mut worker = Some(first);
            while let Some(current) = worker {
                work(current);
                worker = current.next_mut();
            }
        }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // All destructors first: a panic of one must not keep another worker's from running.
        let mut panic = FirstPanic::default();
        self.for_each_worker(|worker| worker.run_drops(&mut panic));
        panic.resume();
    }
}
