//! The arenas of all workers in one period.
#![expect(unsafe_code, reason = "lends arenas to their owners; resolves handles")]

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::claims::Claims;
use super::misses::{Misses, Outcome};
use super::task_book::TaskBook;
use super::thread::ThreadToken;
use super::worker::Worker;
use crate::arena::{FrameArena, Store};
use crate::handles::{FrameHandle, HandleError};
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, Stamp};

/// The period goes on: nothing was given back yet.
const NOT_ENDED: usize = usize::MAX;

/// What all generations of one `FrameArenas` have in common.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) settings: FrameArenaSettings,
    /// Where the blocks of all arenas come from.
    pub(super) store: Arc<Store>,
    /// Lookups that failed since the last swap.
    pub(super) misses: Misses,
    /// Where all of them were made, if the feature `sites` is on.
    pub(super) stale_sites: SiteTable,
    /// The tasks that have arenas.
    pub(super) tasks: TaskBook,
}

impl Common {
    /// Counts a lookup that failed.
    #[cold]
    #[track_caller]
    pub(super) fn count_stale_lookup(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.misses.note(outcome, why);
        self.stale_sites.note_stale(Site::caller());
    }
}

/// The arenas of all workers, written in one period and readable for as long as the settings say.
///
/// It lives by its `Arc`: in `FrameArenas`, and in every lease. Only `FrameArenas` calls
/// [`local`](Self::local), and it lends what it gets for no longer than it is borrowed itself.
pub(crate) struct Generation {
    stamp: Stamp,
    workers: Claims<Worker>,
    /// Bytes of the blocks that are kept for handles since the period ended, or `NOT_ENDED`.
    kept_bytes: AtomicUsize,
    common: Arc<Common>,
}

impl Generation {
    pub(super) fn new(common: &Arc<Common>, stamp: Stamp) -> Arc<Self> {
        Arc::new(Self {
            stamp,
            workers: Claims::new(),
            kept_bytes: AtomicUsize::new(NOT_ENDED),
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
            let store = Arc::clone(&self.common.store);
            Worker::new(FrameArena::in_store(
                &self.common.settings,
                store,
                self.stamp,
            ))
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
        // - the stamp is one that a run has issued, which is never `UNSET`: an unset handle does not
        //   match; or it is `SPARE`, which no handle has, because nothing allocates there;
        // - the generation is neither recycled nor dropped while it is borrowed.
        unsafe { handle.resolve(self.stamp) }
    }

    /// Returns the workers that were used since the last recycle, with their threads.
    pub(super) fn claimed_workers(&self) -> impl Iterator<Item = (ThreadToken, &Worker)> {
        self.workers.claimed()
    }

    /// Returns the bytes of the blocks that are kept for handles.
    #[inline]
    pub(super) fn kept_bytes(&self) -> usize {
        match self.kept_bytes.load(Relaxed) {
            NOT_ENDED => 0,
            bytes => bytes,
        }
    }

    /// Ends the period: arenas in which nothing was shared give their blocks back.
    ///
    /// No handle leads into them, and all references have ended with the borrow of the `FrameArenas`.
    /// Leases of this generation may live: they follow handles, and look at no arena.
    ///
    /// # Safety
    /// No arena of this generation is lent, and no other thread reads its figures: the caller must
    /// hold the `&mut` of the `FrameArenas`.
    pub(super) unsafe fn release_unshared(&self) {
        let mut kept_bytes = 0;
        let mut to = self.common.store.returning();
        for (_, worker) in self.workers.claimed() {
            // SAFETY: the caller promises that no arena is lent.
            let arena = unsafe { worker.arena_mut() };
            if arena.is_shared() {
                kept_bytes += arena.held_bytes();
            } else {
                arena.give_blocks(&mut to);
            }
        }
        self.kept_bytes.store(kept_bytes, Relaxed);
    }

    /// Drops what was shared and gives all blocks back, under a new stamp.
    ///
    /// It costs a few instructions for each worker that was used, whatever was allocated.
    pub(super) fn recycle(&mut self, stamp: Stamp, panic: &mut FirstPanic) {
        self.stamp = stamp;
        // If nothing was shared, all blocks went back when the period ended.
        if mem::replace(self.kept_bytes.get_mut(), NOT_ENDED) != 0 {
            self.run_drops(panic);
            self.give_blocks();
        }
        self.workers.release_all();
    }

    fn give_blocks(&mut self) {
        let mut to = self.common.store.returning();
        for (_, worker) in self.workers.claimed() {
            // SAFETY: with `&mut self` no arena of this generation is lent.
            unsafe { worker.arena_mut() }.give_blocks(&mut to);
        }
    }

    /// Runs the destructors of all shared values, before the store is locked: they may be anybody's.
    fn run_drops(&mut self, panic: &mut FirstPanic) {
        for (_, worker) in self.workers.claimed() {
            // SAFETY: with `&mut self` no arena of this generation is lent.
            let arena = unsafe { worker.arena_mut() };
            if arena.has_drops() {
                arena.run_drops(panic);
            }
        }
    }

    /// Counts a lookup that failed.
    #[cold]
    #[track_caller]
    pub(super) fn count_stale_lookup(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.common.count_stale_lookup(outcome, why);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // All destructors first: a panic of one must not keep another worker's from running.
        let mut panic = FirstPanic::default();
        self.run_drops(&mut panic);
        panic.resume();
    }
}
