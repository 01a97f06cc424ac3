//! The arena of one worker, and which thread owns it.
#![expect(
    unsafe_code,
    reason = "lends arenas, which are not `Sync`, each to its owner alone"
)]

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::thread::{self, NOBODY, ThreadToken};
use crate::arena::FrameArena;
use crate::stamp::Stamp;

/// An arena that belongs to the first thread that claims it, until it is recycled.
///
/// `ThreadLocal` gives the place of a thread that ended to a new one, and a thread may go on using
/// what it got from there while its thread locals are destroyed. So the place alone is not proof
/// of ownership; the claim is.
pub(super) struct Worker {
    arena: UnsafeCell<FrameArena>,
    owner: AtomicU64,
    /// The worker that was claimed before this one in its generation.
    pub(super) claimed_before: AtomicPtr<Worker>,
    /// Where the meter listed its thread last; a guess.
    pub(super) seat: AtomicUsize,
    /// Who claimed it last. Kept beyond a recycle: the next owner is mostly the same.
    named: Mutex<(ThreadToken, Arc<str>)>,
    /// For a thread that finds this one claimed by another.
    next: OnceLock<Box<Worker>>,
}

// SAFETY: through `&Worker`, threads that are not the owner reach
// - the atomics, the mutex and the `OnceLock`, which are `Sync`;
// - of the arena its figures alone, through `figures`: they read atomics, and what changes under
//   `&mut FrameArena` alone.
// The arena itself is lent by `claim`, to one thread until the next recycle, and by `arena_mut`,
// whose caller promises that there is no such thread.
unsafe impl Sync for Worker {}

/// What others may see of an arena while its owner allocates.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) used_bytes: usize,
    pub(super) peak_bytes: usize,
    pub(super) capacity_bytes: usize,
    pub(super) overflows: u32,
}

impl Worker {
    pub(super) fn new(arena: FrameArena) -> Self {
        Self {
            arena: UnsafeCell::new(arena),
            owner: AtomicU64::new(NOBODY),
            claimed_before: AtomicPtr::new(ptr::null_mut()),
            seat: AtomicUsize::new(0),
            named: Mutex::new((NOBODY, Arc::from(""))),
            next: OnceLock::new(),
        }
    }

    /// Finds the first worker in this chain that is, or becomes, the calling thread's.
    ///
    /// A worker that was free gets `stamp`, and `enlist` is called with it.
    pub(super) fn claim<'a>(
        &'a self,
        stamp: Stamp,
        make: impl Fn() -> Worker,
        enlist: impl FnOnce(&'a Worker),
    ) -> &'a FrameArena {
        let token = thread::current_token();
        let mut worker = self;
        let is_new = loop {
            match worker.claim_for(token) {
                Claim::Made => break true,
                Claim::Held => break false,
                Claim::Refused => worker = worker.next_or(&make),
            }
        };
        if is_new {
            // SAFETY: the worker was free, and nobody sees it before it is enlisted.
            unsafe { worker.arena_mut() }.set_stamp(stamp);
            enlist(worker);
        }
        // SAFETY: this thread has the claim, so no other thread uses the arena, and `arena_mut` is
        // not called while what lent the generation is borrowed.
        unsafe { &*worker.arena.get() }
    }

    /// Returns the next worker of the chain, and makes it if there is none.
    ///
    /// Not by `get_or_init`: what `make` calls, the global allocator for one, may come here again.
    fn next_or(&self, make: impl Fn() -> Worker) -> &Worker {
        if self.next.get().is_none() {
            // Whoever comes second drops its own.
            drop(self.next.set(Box::new(make())));
        }
        self.next().expect("it was just set")
    }

    fn claim_for(&self, token: ThreadToken) -> Claim {
        // Relaxed: a claim publishes nothing. What the last owner wrote was made visible by the
        // `&mut` of the recycle that set the owner back.
        match self.owner.compare_exchange(NOBODY, token, Relaxed, Relaxed) {
            Ok(_) => {
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                if named.0 != token {
                    *named = (token, thread::current_name());
                }
                Claim::Made
            }
            Err(owner) if owner == token => Claim::Held,
            Err(_) => Claim::Refused,
        }
    }

    /// Ends the claim. The arena is to be recycled first.
    pub(super) fn release(&self) {
        self.owner.store(NOBODY, Relaxed);
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

    pub(super) fn next(&self) -> Option<&Worker> {
        self.next.get().map(|next| &**next)
    }

    /// Returns the thread that has used it since the last recycle, or `NOBODY`.
    pub(super) fn owner(&self) -> ThreadToken {
        self.owner.load(Relaxed)
    }

    /// Returns the name of the thread that claimed it last.
    pub(super) fn name(&self) -> Arc<str> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&named.1)
    }

    /// Returns what others may see of the arena.
    pub(super) fn figures(&self) -> Figures {
        // SAFETY: a shared reference to the arena, as its owner has; `arena_mut` is not called
        // meanwhile. Of the arena, only its figures are used, which any thread may read.
        let arena = unsafe { &*self.arena.get() };
        Figures {
            used_bytes: arena.used_bytes(),
            peak_bytes: arena.peak_bytes(),
            capacity_bytes: arena.capacity_bytes(),
            overflows: arena.overflows(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One after the other: a long chain dropped by recursion would overflow the stack.
        let mut next = self.next.take();
        while let Some(mut worker) = next {
            next = worker.next.take();
        }
    }
}

/// What became of an attempt to claim a worker.
enum Claim {
    /// It was free.
    Made,
    /// The thread had it already.
    Held,
    /// Another thread has it.
    Refused,
}
