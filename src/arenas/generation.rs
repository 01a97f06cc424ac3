//! The arenas of all workers in one period.
#![expect(unsafe_code, reason = "lends arenas to their owners; resolves handles")]

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::claims::Claims;
use super::meter::Meter;
use super::misses::{Misses, Outcome};
use super::task_book::TaskBook;
use super::thread::ThreadToken;
use super::worker::Worker;
use crate::arena::{FrameArena, Returning, Store};
use crate::handles::{FrameHandle, HandleError};
use crate::panics::FirstPanic;
use crate::settings::FrameArenaSettings;
use crate::sites::{Site, SiteTable};
use crate::stamp::{self, Stamp};

/// The value of `Generation::kept_bytes` until the period has ended.
const NOT_ENDED: usize = usize::MAX;

/// The data shared by all generations of one `FrameArenas`.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) settings: FrameArenaSettings,
    /// The store of the blocks of all arenas.
    pub(super) store: Arc<Store>,
    /// Bytes of the blocks that generations keep for handles and leases of ended periods.
    pub(super) kept_bytes: AtomicUsize,
    /// Failed look-ups since the last swap.
    pub(super) misses: Misses,
    /// The sites of all failed look-ups, with the feature `sites`.
    pub(super) stale_sites: SiteTable,
    /// The tasks that have arenas.
    pub(super) tasks: TaskBook,
}

impl Common {
    /// Counts a failed look-up.
    #[cold]
    #[track_caller]
    pub(super) fn count_stale_lookup(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.misses.note(outcome, why);
        self.stale_sites.note_stale(Site::caller());
    }
}

/// The arenas of all workers, written in one period and readable for as many periods as the settings specify.
///
/// `FrameArenas` and every lease hold it by an `Arc`. Only `FrameArenas` calls [`local`](Self::local), and it
/// lends the arena for no longer than it is borrowed itself.
pub(crate) struct Generation {
    /// The stamp of its handles. An arena gets it when a thread claims it.
    stamp: Stamp,
    workers: Claims<Worker>,
    /// Bytes of the blocks kept for handles since the period ended, or `NOT_ENDED`. Atomic, because
    /// `end_period` runs while leases share the generation.
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

    /// Whether the generation has no data and waits for its next use.
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
            // SAFETY: the worker was just claimed, and no other thread can see it before this returns.
            unsafe { worker.begin(self.stamp) };
        });
        // SAFETY: this thread owns the claim, which ends only with a recycle. That takes `&mut self`.
        unsafe { worker.arena() }
    }

    /// Returns the data of `handle`, if it was made in this generation.
    #[inline]
    pub(super) fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY:
        // - the stamp was issued by a run and is never `UNSET`, so an unset handle does not match; or it is
        //   `SPARE`, which no handle has, because nothing allocates in a spare generation;
        // - the generation is neither recycled nor dropped while it is borrowed.
        unsafe { handle.resolve(self.stamp) }
    }

    /// Returns the workers used since the last recycle, with their threads.
    pub(super) fn claimed_workers(&self) -> impl Iterator<Item = (ThreadToken, &Worker)> {
        self.workers.claimed()
    }

    /// Ends the period: measures each used worker, and gives back the blocks of arenas in which nothing was
    /// shared.
    ///
    /// No handle points into those blocks, and all references ended with the borrow of the `FrameArenas`.
    /// Leases of this generation may be alive: they only follow handles, and do not access arenas.
    ///
    /// # Safety
    /// No arena of this generation may be lent, and no other thread may read its figures. The caller must
    /// hold the `&mut` of the `FrameArenas`.
    #[inline(always)]
    pub(super) unsafe fn end_period(&self, meter: &mut Meter, to: &mut Returning<'_>) {
        let mut kept_bytes = 0;
        for (thread, worker) in self.workers.claimed() {
            // SAFETY: the caller promises that no arena is lent, and that no other thread reads its figures.
            let arena = unsafe { worker.arena_mut() };
            meter.add(thread, worker, arena);
            // A shared arena without blocks shared only zero-sized data. Its mark is removed.
            if arena.is_shared() && arena.held_bytes() > 0 {
                kept_bytes += arena.held_bytes();
            } else {
                arena.give_blocks(to);
            }
        }
        self.kept_bytes.store(kept_bytes, Relaxed);
        self.common.kept_bytes.fetch_add(kept_bytes, Relaxed);
    }

    /// Drops shared values, gives all blocks back, and sets a new stamp.
    ///
    /// Apart from destructors, the cost is a few instructions per used worker, for any number of allocations.
    #[inline(always)]
    pub(super) fn recycle(&mut self, stamp: Stamp, to: &mut Returning<'_>, panic: &mut FirstPanic) {
        self.stamp = stamp;
        let kept_bytes = mem::replace(self.kept_bytes.get_mut(), NOT_ENDED);
        if kept_bytes != NOT_ENDED {
            self.common.kept_bytes.fetch_sub(kept_bytes, Relaxed);
        }
        // If nothing was shared, all blocks were given back at the end of the period.
        if kept_bytes != 0 {
            if self.has_drops() {
                to.flush();
                self.run_drops(panic);
            }
            self.give_blocks(to);
        }
        self.workers.release_all();
    }

    fn give_blocks(&mut self, to: &mut Returning<'_>) {
        for (_, worker) in self.workers.claimed() {
            // SAFETY: with `&mut self`, nothing else uses the arenas of this generation or reads their figures.
            unsafe { worker.arena_mut() }.give_blocks(to);
        }
    }

    fn has_drops(&mut self) -> bool {
        let mut workers = self.workers.claimed();
        // SAFETY: as in `give_blocks`.
        workers.any(|(_, worker)| unsafe { worker.arena_mut() }.has_drops())
    }

    /// Runs the destructors of all shared values. The store must not be locked, because a user's destructor
    /// may use the arenas.
    fn run_drops(&mut self, panic: &mut FirstPanic) {
        for (_, worker) in self.workers.claimed() {
            // SAFETY: as in `give_blocks`.
            let arena = unsafe { worker.arena_mut() };
            if arena.has_drops() {
                arena.run_drops(panic);
            }
        }
    }

    #[cold]
    #[track_caller]
    pub(super) fn count_stale_lookup(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.common.count_stale_lookup(outcome, why);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        // All destructors run first: a panic in one must not prevent those of other workers.
        let mut panic = FirstPanic::default();
        self.run_drops(&mut panic);
        panic.resume();
    }
}
