//! A global allocator that counts its calls and the bytes that are asked for.
#![expect(unsafe_code, reason = "implements the unsafe trait `GlobalAlloc`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The allocator: a program that counts names it with `#[global_allocator]`.
pub struct Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Requests to the global allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    pub calls: u64,
    pub bytes: u64,
}

/// Returns what `work` asks of the global allocator, on all threads.
pub fn requests_of(work: impl FnOnce()) -> Requests {
    let seen = || [&CALLS, &BYTES].map(|count| count.load(Relaxed));
    let before = seen();
    IS_COUNTING.store(true, Relaxed);
    work();
    IS_COUNTING.store(false, Relaxed);
    let after = seen();
    Requests {
        calls: after[0] - before[0],
        bytes: after[1] - before[1],
    }
}

fn count(bytes: usize) {
    // Off while frames are timed: a counter that all threads share would be slow for those who
    // allocate.
    if IS_COUNTING.load(Relaxed) {
        CALLS.fetch_add(1, Relaxed);
        BYTES.fetch_add(bytes as u64, Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
