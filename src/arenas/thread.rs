//! The identity of threads, and the arena that each used last.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::arena::FrameArena;
use crate::stamp::{self, Stamp};

/// The identity of a thread: a number that is unique in the process and never reused.
pub(super) type ThreadToken = u64;

/// The token of no thread.
pub(super) const NOBODY: ThreadToken = 0;

thread_local! {
    // Neither has a destructor, so both stay usable until the thread ends, even in the destructors of other
    // thread locals.
    static TOKEN: Cell<ThreadToken> = const { Cell::new(NOBODY) };
    // The null pointer is never returned: no current generation has the stamp `SPARE`.
    static LAST_USED: Cell<(Stamp, *const FrameArena)> =
        const { Cell::new((stamp::SPARE, ptr::null())) };
}

/// Returns the arena that this thread used last, if it belongs to the generation with `stamp`.
#[inline(always)]
pub(super) fn last_used(stamp: Stamp) -> Option<*const FrameArena> {
    let (last_stamp, arena) = LAST_USED.get();
    (last_stamp == stamp).then_some(arena)
}

/// Stores an arena of this thread for [`last_used`].
pub(super) fn remember(stamp: Stamp, arena: &FrameArena) {
    LAST_USED.set((stamp, arena));
}

pub(super) fn current_token() -> ThreadToken {
    static NEXT: AtomicU64 = AtomicU64::new(NOBODY + 1);
    if TOKEN.get() == NOBODY {
        TOKEN.set(NEXT.fetch_add(1, Relaxed));
    }
    TOKEN.get()
}

pub(super) fn current_name() -> Arc<str> {
    Arc::from(std::thread::current().name().unwrap_or("unnamed"))
}
