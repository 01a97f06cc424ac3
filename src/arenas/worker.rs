//! The arena of one worker, and what others may see of it.
#![expect(
    unsafe_code,
    reason = "lends arenas, which are not `Sync`, each to its owner alone"
)]

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use super::thread::{self, NOBODY, ThreadToken};
use crate::arena::FrameArena;
use crate::figures::Figures;
use crate::sites::SiteTable;
use crate::stamp::Stamp;

/// An arena that belongs to the thread that has claimed it.
pub(super) struct Worker {
    arena: UnsafeCell<FrameArena>,
    /// Where the meter listed its thread last; a guess.
    pub(super) seat: AtomicUsize,
    /// Who claimed it last. Kept beyond a recycle: the next owner is mostly the same.
    named: Mutex<(ThreadToken, Arc<str>)>,
}

// SAFETY: through `&Worker`, threads that are not the owner reach
// - the atomic and the mutex, which are `Sync`;
// - of the arena its figures alone, through `figures`: they read atomics, and what changes under
//   `&mut FrameArena` alone;
// - its sites, through `sites`, which are `Sync`.
// The arena itself is lent by unsafe methods, whose callers promise to be the owner, or alone.
unsafe impl Sync for Worker {}

impl Worker {
    pub(super) fn new(arena: FrameArena) -> Self {
        Self {
            arena: UnsafeCell::new(arena),
            seat: AtomicUsize::new(0),
            named: Mutex::new((NOBODY, Arc::from(""))),
        }
    }

    /// Gets ready for a period in which the calling thread uses it.
    ///
    /// # Safety
    /// The calling thread has just claimed the worker, and nobody else knows of it yet.
    pub(super) unsafe fn begin(&self, stamp: Stamp) {
        // SAFETY: the caller promises that nobody else knows of the worker.
        unsafe { self.arena_mut() }.set_stamp(stamp);
        let token = thread::current_token();
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.0 != token {
            *named = (token, thread::current_name());
        }
    }

    /// Returns the arena for allocating.
    ///
    /// # Safety
    /// The calling thread has claimed the worker, and the claim does not end while the reference
    /// lives.
    pub(super) unsafe fn arena(&self) -> &FrameArena {
        // SAFETY: the caller promises that no other thread uses the arena, and `arena_mut` asks
        // for the end of all claims.
        unsafe { &*self.arena.get() }
    }

    /// Returns the arena for recycling.
    ///
    /// # Safety
    /// No thread uses the arena, or reads its figures, while the reference lives: the caller
    /// holds the `&mut` of whatever lends the arenas of this generation, or has just claimed the
    /// worker and not told anybody yet.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub(super) unsafe fn arena_mut(&self) -> &mut FrameArena {
        // SAFETY: the caller promises that nobody else uses the arena.
        unsafe { &mut *self.arena.get() }
    }

    /// Returns the name of the thread that claimed it last.
    pub(super) fn name(&self) -> Arc<str> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&named.1)
    }

    /// Returns who asked for the arena.
    #[inline(always)]
    pub(super) fn sites(&self) -> &SiteTable {
        // SAFETY: as in `figures`; of the arena, only its sites are used, which are `Sync`.
        let arena = unsafe { &*self.arena.get() };
        arena.sites()
    }

    /// Returns what others may see of the arena.
    #[inline]
    pub(super) fn figures(&self) -> Figures {
        // SAFETY: a shared reference to the arena, as its owner has; `arena_mut` is not called
        // meanwhile. Of the arena, only its figures are used, which any thread may read.
        let arena = unsafe { &*self.arena.get() };
        let used_bytes = arena.used_bytes();
        Figures {
            used_bytes,
            peak_bytes: used_bytes.max(arena.noted_peak_bytes()),
            held_bytes: arena.held_bytes(),
            ..Figures::default()
        }
    }
}
