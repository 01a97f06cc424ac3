//! A global allocator that counts what a thread asks of it while it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static CALLS: Cell<Option<usize>> = const { Cell::new(None) };
}

impl Counting {
    fn note(&self) {
        CALLS.set(CALLS.get().map(|calls| calls + 1));
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
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts the calls of this thread to the global allocator during `work`.
pub(crate) fn calls_in(work: impl FnOnce()) -> usize {
    CALLS.set(Some(0));
    work();
    CALLS.take().unwrap_or(0)
}
