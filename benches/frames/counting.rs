//! A global allocator that can count its calls.
#![expect(unsafe_code, reason = "implements the unsafe trait `GlobalAlloc`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static GLOBAL: Counting = Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Returns how often `work` asks the global allocator for memory.
pub(crate) fn allocator_calls(work: impl FnOnce()) -> u64 {
    let before = CALLS.load(Relaxed);
    IS_COUNTING.store(true, Relaxed);
    work();
    IS_COUNTING.store(false, Relaxed);
    CALLS.load(Relaxed) - before
}

fn count() {
    if IS_COUNTING.load(Relaxed) {
        CALLS.fetch_add(1, Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
