//! The arenas of all workers in one period.
#![expect(
    unsafe_code,
    reason = "walks the list of claimed workers; resolves handles"
)]

use std::iter::successors;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use thread_local::ThreadLocal;

use super::worker::Worker;
use crate::arena::{Budget, FrameArena, Stock, WINDOW_STEPS};
use crate::handles::FrameHandle;
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::stamp::{self, Stamp};

/// What all generations of one `FrameArenas` have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) settings: FrameArenaSettings,
    pub(super) budget: Arc<Budget>,
    /// First chunks for the workers to come.
    pub(super) stock: Stock,
    /// Lookups that failed since the last swap.
    pub(super) stale_lookups: AtomicU64,
}

/// The arenas of all workers, written in one period and readable for as long as the settings say.
///
/// It lives by its `Arc`: in `FrameArenas`, and in every lease. Only `FrameArenas` calls
/// [`local`](Self::local), and it lends what it gets for no longer than it is borrowed itself.
pub(crate) struct Generation {
    stamp: Stamp,
    workers: ThreadLocal<Worker>,
    /// The worker that was claimed last since the recycle; each knows the one before it. So the
    /// swap visits those that were used, and not all that ever were.
    claimed: AtomicPtr<Worker>,
    recycles_since_step: u32,
    steps: usize,
    common: Arc<Common>,
}

impl Generation {
    pub(super) fn new(common: &Arc<Common>, stamp: Stamp) -> Arc<Self> {
        Arc::new(Self {
            stamp,
            workers: ThreadLocal::new(),
            claimed: AtomicPtr::new(ptr::null_mut()),
            recycles_since_step: 0,
            steps: 0,
            common: Arc::clone(common),
        })
    }

    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Whether its data is no longer wanted, and it waits for its next use.
    pub(super) fn is_spare(&self) -> bool {
        self.stamp == stamp::NONE
    }

    /// Returns the calling thread's arena.
    pub(super) fn local(&self) -> &FrameArena {
        let make = || {
            let budget = Arc::clone(&self.common.budget);
            let arena = FrameArena::in_budget(&self.common.settings, budget, self.stamp);
            Worker::new(arena.with_chunk_of(&self.common.stock))
        };
        if self.workers.get().is_none() {
            self.workers.get_or(make);
        }
        // Not what `get_or` returned: with thread_local 1.1.10, the reference to a new value
        // descends from a `&mut`, and must not be used after the value was read in another way.
        let worker = self.workers.get().expect("it was just inserted");
        worker.claim(self.stamp, make, |worker| self.enlist(worker))
    }

    /// Puts a worker that was just claimed into the list.
    fn enlist(&self, worker: &Worker) {
        let this = ptr::from_ref(worker).cast_mut();
        // Release, so that whoever walks the list sees the worker behind the pointer.
        let _previous = self.claimed.update(Release, Relaxed, |last| {
            worker.claimed_before.store(last, Relaxed);
            this
        });
    }

    /// Returns what `handle` names, if it was made in this generation.
    #[inline]
    pub(super) fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - a recycle takes `&mut self`, and dropping the generation ends all borrows of it;
        // - no handle has the stamp of a spare, except one that was never set, which does not
        //   resolve.
        unsafe { handle.resolve(self.stamp) }
    }

    /// Returns the workers that were used since the last recycle.
    pub(super) fn claimed_workers(&self) -> impl Iterator<Item = &Worker> {
        // SAFETY:
        // - `enlist` put it there, from a reference to a worker of this generation;
        // - workers stay in place until the generation is dropped.
        let worker_at = |pointer: *mut Worker| unsafe { pointer.as_ref() };
        // Acquire: pairs with `enlist`. It covers the workers behind the last one, too: all that
        // were put there before are in the same release sequence.
        successors(worker_at(self.claimed.load(Acquire)), move |worker| {
            worker_at(worker.claimed_before.load(Relaxed))
        })
    }

    /// Returns all workers, also those of threads that ended.
    fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers
            .iter()
            .flat_map(|worker| successors(Some(worker), |worker| worker.next()))
    }

    /// Drops what was shared and makes all memory free, under a new stamp.
    ///
    /// It costs a few instructions for each worker that was used, whatever was allocated. With
    /// `gives_back`, all memory goes back to the global allocator.
    pub(super) fn recycle(&mut self, stamp: Stamp, gives_back: bool, panic: &mut FirstPanic) {
        self.stamp = stamp;
        for worker in self.claimed_workers() {
            // SAFETY: with `&mut self` nobody lends an arena of this generation.
            unsafe { worker.arena_mut() }.recycle(stamp, panic);
            worker.release();
        }
        *self.claimed.get_mut() = ptr::null_mut();
        let is_time = self.is_time_to_step();
        if gives_back || is_time {
            self.visit_all_workers(gives_back);
        }
    }

    /// Looks at the memory of all workers, those included that nobody has used for long.
    #[cold]
    fn visit_all_workers(&mut self, gives_back: bool) {
        self.steps += 1;
        if self.steps >= WINDOW_STEPS {
            // Nobody has come for these since the start.
            self.common.stock.clear();
        }
        for worker in self.workers() {
            // SAFETY: with `&mut self` nobody lends an arena of this generation.
            let arena = unsafe { worker.arena_mut() };
            if gives_back {
                arena.free_chunks(0);
            } else {
                arena.step_trim();
            }
        }
    }

    /// Counts a lookup that failed.
    #[cold]
    pub(super) fn count_stale_lookup(&self) {
        self.common.stale_lookups.fetch_add(1, Relaxed);
    }

    /// Whether the window of peaks is to move on by a step.
    fn is_time_to_step(&mut self) -> bool {
        let Some(periods) = self.common.settings.trim_after_frames else {
            return false;
        };
        self.recycles_since_step += 1;
        // One generation of several is recycled in each period.
        let generations = self.common.settings.lives_for.periods() as u64;
        let elapsed = u64::from(self.recycles_since_step) * generations;
        let is_time = elapsed * WINDOW_STEPS as u64 >= u64::from(periods);
        if is_time {
            self.recycles_since_step = 0;
        }
        is_time
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // All destructors first: a panic of one must not keep another worker's from running.
        let mut panic = FirstPanic::default();
        for worker in self.claimed_workers() {
            // SAFETY: with `&mut self` nobody lends an arena of this generation.
            unsafe { worker.arena_mut() }.run_drops(&mut panic);
        }
        panic.resume();
    }
}
