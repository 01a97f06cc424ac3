//! The arena of one worker, and the figures that other threads may read.
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
use crate::stamp::Stamp;

/// An arena that belongs to the thread that has claimed it.
pub(super) struct Worker {
    arena: UnsafeCell<FrameArena>,
    /// The thread's last seat in the meter, which may be stale.
    pub(super) seat: AtomicUsize,
    /// The thread that claimed the worker last, and its name. Kept across recycles, because the next owner is
    /// mostly the same.
    named: Mutex<(ThreadToken, Arc<str>)>,
}

// SAFETY: through `&Worker`, threads other than the owner reach
// - the atomic and the mutex, which are `Sync`;
// - of the arena only its figures, through `figures`: they read atomics, and fields that change only under
//   `&mut FrameArena`.
// The arena itself is lent only by unsafe methods. Their callers promise to be the owner, or to have
// exclusive access.
unsafe impl Sync for Worker {}

impl Worker {
    pub(super) fn new(arena: FrameArena) -> Self {
        Self {
            arena: UnsafeCell::new(arena),
            seat: AtomicUsize::new(0),
            named: Mutex::new((NOBODY, Arc::from(""))),
        }
    }

    /// Prepares the worker for a period in which the calling thread uses it.
    ///
    /// # Safety
    /// The calling thread must have just claimed the worker, and no other thread may be able to reach it yet.
    pub(super) unsafe fn begin(&self, stamp: Stamp) {
        // SAFETY: the caller promises that no other thread can reach the worker.
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
    /// The calling thread must have claimed the worker, and the claim must not end while the reference lives.
    pub(super) unsafe fn arena(&self) -> &FrameArena {
        // SAFETY: the caller promises that no other thread uses the arena, and callers of `arena_mut` promise
        // that no such reference lives.
        unsafe { &*self.arena.get() }
    }

    /// Returns the arena for recycling.
    ///
    /// # Safety
    /// No thread may use the arena or read its figures while the reference lives. The caller must hold the
    /// `&mut` of the `FrameArenas` or of the generation, or must have just claimed the worker, before any other
    /// thread can reach it.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub(super) unsafe fn arena_mut(&self) -> &mut FrameArena {
        // SAFETY: the caller promises that nothing else uses the arena.
        unsafe { &mut *self.arena.get() }
    }

    /// Returns the name of the thread that claimed it last.
    pub(super) fn name(&self) -> Arc<str> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&named.1)
    }

    /// Returns the figures of the arena, which any thread may read.
    #[inline]
    pub(super) fn figures(&self) -> Figures {
        // SAFETY: the reference is shared, like that of the owner, and callers of `arena_mut` promise that no
        // thread reads the figures. Only the figures of the arena are used, which any thread may read.
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
