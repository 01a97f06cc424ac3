//! The arenas of all workers in one period.
#![expect(unsafe_code, reason = "lends arenas to their owners; resolves handles")]

use std::sync::Arc;

use super::claims::Claims;
use super::misses::Misses;
use super::thread::ThreadToken;
use super::worker::Worker;
use crate::arena::{Budget, FrameArena, Stock, WINDOW_STEPS};
use crate::handles::{FrameHandle, HandleError};
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, Stamp};

/// What all generations of one `FrameArenas` have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) settings: FrameArenaSettings,
    pub(super) budget: Arc<Budget>,
    /// First chunks for the workers to come.
    pub(super) stock: Stock,
    /// Lookups that failed since the last swap.
    pub(super) misses: Misses,
    /// Where all of them were made, if the feature `sites` is on.
    pub(super) stale_sites: SiteTable,
}

/// The arenas of all workers, written in one period and readable for as long as the settings say.
///
/// It lives by its `Arc`: in `FrameArenas`, and in every lease. Only `FrameArenas` calls
/// [`local`](Self::local), and it lends what it gets for no longer than it is borrowed itself.
pub(crate) struct Generation {
    stamp: Stamp,
    workers: Claims<Worker>,
    recycles_since_step: u32,
    steps: usize,
    common: Arc<Common>,
}

impl Generation {
    pub(super) fn new(common: &Arc<Common>, stamp: Stamp) -> Arc<Self> {
        Arc::new(Self {
            stamp,
            workers: Claims::new(),
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
        self.stamp == stamp::SPARE
    }

    /// Returns the calling thread's arena.
    pub(super) fn local(&self) -> &FrameArena {
        let make = || {
            let budget = Arc::clone(&self.common.budget);
            let arena = FrameArena::in_budget(&self.common.settings, budget, self.stamp);
            Worker::new(arena.with_chunk_of(&self.common.stock))
        };
        let worker = self.workers.claim(make, |worker| {
            // SAFETY: it was just claimed, and nobody else sees it before this returns.
            unsafe { worker.begin(self.stamp) };
        });
        // SAFETY: this thread has the claim. It ends with a recycle, which takes `&mut self`.
        unsafe { worker.arena() }
    }

    /// Returns what `handle` names, if it was made in this generation.
    #[inline]
    pub(super) fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - the stamp is one that a run has given, which is never `UNSET`: an unset handle does not
        //   match; or it is `SPARE`, which no handle has, because nobody allocates there;
        // - the generation is neither recycled nor dropped while it is borrowed.
        unsafe { handle.resolve(self.stamp) }
    }

    /// Returns the workers that were used since the last recycle, with their threads.
    pub(super) fn claimed_workers(&self) -> impl Iterator<Item = (ThreadToken, &Worker)> {
        self.workers.claimed()
    }

    /// Drops what was shared and makes all memory free, under a new stamp.
    ///
    /// It costs a few instructions for each worker that was used, whatever was allocated. With
    /// `gives_back`, all memory goes back to the global allocator.
    pub(super) fn recycle(&mut self, stamp: Stamp, gives_back: bool, panic: &mut FirstPanic) {
        self.stamp = stamp;
        for (_, worker) in self.workers.claimed() {
            // SAFETY: with `&mut self` nobody lends an arena of this generation.
            unsafe { worker.arena_mut() }.recycle(stamp, panic);
        }
        self.workers.release_all();
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
        for worker in self.workers.all() {
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
    #[track_caller]
    pub(super) fn count_stale_lookup(&self, why: impl FnOnce() -> HandleError) {
        self.common.misses.note(why);
        self.common.stale_sites.note_stale(Site::caller());
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
        for (_, worker) in self.workers.claimed() {
            // SAFETY: with `&mut self` nobody lends an arena of this generation.
            unsafe { worker.arena_mut() }.run_drops(&mut panic);
        }
        panic.resume();
    }
}
