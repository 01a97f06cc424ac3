//! Which thread owns which arena, and how it finds it quickly.
#![expect(
    unsafe_code,
    reason = "lends arenas, which are not `Sync`, each to its owner alone"
)]

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::arena::FrameArena;
use crate::panics::FirstPanic;
use crate::stamp::Stamp;

/// The identity of a thread: a number that no other thread of this process has, had or will have.
type ThreadToken = u64;

/// The token of no thread.
const NOBODY: ThreadToken = 0;

thread_local! {
    // Neither has a destructor, so both can be used as long as the thread runs code at all, the
    // destructors of other thread locals included.
    static TOKEN: Cell<ThreadToken> = const { Cell::new(NOBODY) };
    static LAST_USED: Cell<(Stamp, *const FrameArena)> = const { Cell::new((0, ptr::null())) };
}

/// Returns the arena that this thread used last, if it belongs to the generation with `stamp`.
#[inline(always)]
pub(crate) fn last_used(stamp: Stamp) -> Option<*const FrameArena> {
    let (last_stamp, arena) = LAST_USED.get();
    (last_stamp == stamp).then_some(arena)
}

/// Remembers an arena of this thread, for [`last_used`].
pub(crate) fn remember(stamp: Stamp, arena: &FrameArena) {
    LAST_USED.set((stamp, arena));
}

fn current_token() -> ThreadToken {
    static NEXT: AtomicU64 = AtomicU64::new(NOBODY + 1);
    if TOKEN.get() == NOBODY {
        TOKEN.set(NEXT.fetch_add(1, Relaxed));
    }
    TOKEN.get()
}

/// An arena that belongs to the first thread that claims it, until it is recycled.
///
/// `ThreadLocal` gives the place of a thread that ended to a new one, and a thread may go on using
/// what it got from there while its thread locals are destroyed. So the place alone is not proof
/// of ownership; the claim is.
pub(crate) struct Worker {
    arena: FrameArena,
    owner: AtomicU64,
    /// Who claimed it last. Kept beyond a recycle: the next owner is mostly the same.
    named: Mutex<(ThreadToken, Arc<str>)>,
    /// For a thread that finds this one claimed by another.
    next: OnceLock<Box<Worker>>,
}

// SAFETY: through `&Worker`, threads that are not the owner reach
// - the atomics, the mutex and the `OnceLock`, which are `Sync`;
// - of the arena its figures alone (`used_bytes`, `capacity_bytes`, `overflows`), which are atomics.
// The arena itself is lent by `claim`, to one thread until the next recycle, which takes `&mut`.
unsafe impl Sync for Worker {}

impl Worker {
    pub(crate) fn new(arena: FrameArena) -> Self {
        Self {
            arena,
            owner: AtomicU64::new(NOBODY),
            named: Mutex::new((NOBODY, Arc::from(""))),
            next: OnceLock::new(),
        }
    }

    /// Returns the first arena in this chain that is, or becomes, the calling thread's.
    pub(crate) fn claim(&self, make: impl Fn() -> Worker) -> &FrameArena {
        let token = current_token();
        let mut worker = self;
        while !worker.claim_for(token) {
            worker = worker.next_or(&make);
        }
        &worker.arena
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

    fn claim_for(&self, token: ThreadToken) -> bool {
        // Relaxed: a claim publishes nothing. What the last owner wrote was made visible by the
        // `&mut` of the recycle that set the owner back.
        match self.owner.compare_exchange(NOBODY, token, Relaxed, Relaxed) {
            Ok(_) => {
                let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
                if named.0 != token {
                    *named = (token, thread_name());
                }
                true
            }
            Err(owner) => owner == token,
        }
    }

    /// Makes the arena free for any thread.
    #[inline]
    pub(crate) fn recycle(&mut self, stamp: Stamp, trim: bool, panic: &mut FirstPanic) {
        *self.owner.get_mut() = NOBODY;
        self.arena.recycle(stamp, panic);
        if trim {
            self.arena.trim();
        }
    }

    pub(crate) fn run_drops(&mut self, panic: &mut FirstPanic) {
        self.arena.run_drops(panic);
    }

    pub(crate) fn next(&self) -> Option<&Worker> {
        self.next.get().map(|next| &**next)
    }

    pub(crate) fn next_mut(&mut self) -> Option<&mut Worker> {
        self.next.get_mut().map(|next| &mut **next)
    }

    /// Whether a thread has used it since the last recycle.
    pub(crate) fn is_claimed(&self) -> bool {
        self.owner.load(Relaxed) != NOBODY
    }

    pub(crate) fn name(&self) -> Arc<str> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&named.1)
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.arena.used_bytes()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.arena.capacity_bytes()
    }

    pub(crate) fn overflows(&self) -> u32 {
        self.arena.overflows()
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

fn thread_name() -> Arc<str> {
    Arc::from(std::thread::current().name().unwrap_or("unnamed"))
}
