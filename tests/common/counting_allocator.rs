//! A global allocator that counts its calls.
//!
//! It replaces the allocator of the test binary that includes it, which should be one of its own.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts is an unsafe impl"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Calls of all threads, while each was counting.
pub(crate) static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    pub(crate) static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
    /// Calls of this thread, while it was counting.
    static CALLS_HERE: Cell<usize> = const { Cell::new(0) };
}

/// Counts the calls that `work` makes on this thread.
pub(crate) fn counted<R>(work: impl FnOnce() -> R) -> R {
    IS_COUNTING.set(true);
    let result = work();
    IS_COUNTING.set(false);
    result
}

/// Returns how many calls `work` makes on this thread.
pub(crate) fn calls_in(work: impl FnOnce()) -> usize {
    let before = CALLS_HERE.get();
    counted(work);
    CALLS_HERE.get() - before
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Counting {
    fn note(&self) {
        if IS_COUNTING.get() {
            CALLS.fetch_add(1, Relaxed);
            CALLS_HERE.set(CALLS_HERE.get() + 1);
        }
    }
}

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.note();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.note();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(memory, layout, new_size) }
    }
}
