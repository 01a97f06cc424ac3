//! A global allocator that plays tricks on the thread that asks for them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// What the next allocation of a chunk does, on this thread.
    static TRICK: Cell<Trick> = const { Cell::new(Trick::None) };
}

/// What happens at the next allocation of a chunk, or of another alignment.
#[derive(Clone, Copy)]
pub(crate) enum Trick {
    None,
    /// It calls back, once, for a block of this alignment.
    CallBack(usize, fn()),
    /// It calls back whenever memory is allocated or freed, unless that is within a call back.
    EachCall(fn()),
    /// It calls back whenever memory is freed, unless that is within a call back.
    EachFree(fn()),
    /// It serves chunks from one block, side by side, each below the last.
    Downwards(*mut u8),
    /// It serves chunks from one block, side by side, each above the last.
    Upwards(*mut u8),
}

/// Chunks of an arena, and workers, are the only blocks aligned like this.
pub(crate) const BLOCK_ALIGN: usize = 128;

/// Plays `trick` while `work` runs.
pub(crate) fn with<R>(trick: Trick, work: impl FnOnce() -> R) -> R {
    TRICK.set(trick);
    let result = work();
    TRICK.set(Trick::None);
    result
}

/// Runs `work` with chunks that lie side by side.
pub(crate) fn with_neighbours<R>(downwards: bool, work: impl FnOnce() -> R) -> R {
    const BYTES: usize = 1 << 16;
    let layout = Layout::from_size_align(BYTES, 4096).expect("a valid layout");
    // SAFETY: the size is not zero.
    let block = unsafe { System.alloc(layout) };
    assert!(!block.is_null());
    let trick = if downwards {
        Trick::Downwards(block.wrapping_add(BYTES))
    } else {
        Trick::Upwards(block)
    };
    let result = with(trick, work);
    // SAFETY: the block came from `System` with this layout, and the chunks in it are gone.
    unsafe { System.dealloc(block, layout) };
    result
}

fn call_back_each_time() {
    if let Trick::EachCall(call) = TRICK.get() {
        TRICK.set(Trick::None);
        call();
        TRICK.set(Trick::EachCall(call));
    }
}

fn call_back_when_freed() {
    if let Trick::EachFree(call) = TRICK.get() {
        TRICK.set(Trick::None);
        call();
        TRICK.set(Trick::EachFree(call));
    }
}

fn call_back(layout: Layout) {
    call_back_each_time();
    if let Trick::CallBack(align, call) = TRICK.get()
        && layout.align() == align
    {
        TRICK.set(Trick::None);
        call();
    }
}

pub(crate) struct Hostile;

// SAFETY: blocks come from `System`, or are fresh parts of one block that outlives them.
unsafe impl GlobalAlloc for Hostile {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        call_back(layout);
        match TRICK.get() {
            Trick::Downwards(end) if layout.align() == BLOCK_ALIGN => {
                let start = end.wrapping_sub(layout.size());
                TRICK.set(Trick::Downwards(start));
                return start;
            }
            Trick::Upwards(start) if layout.align() == BLOCK_ALIGN => {
                TRICK.set(Trick::Upwards(start.wrapping_add(layout.size())));
                return start;
            }
            _ => {}
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        call_back_each_time();
        call_back_when_freed();
        let is_neighbour = matches!(TRICK.get(), Trick::Downwards(_) | Trick::Upwards(_));
        if layout.align() == BLOCK_ALIGN && is_neighbour {
            return;
        }
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        call_back(layout);
        if layout.align() == BLOCK_ALIGN {
            return ptr::null_mut();
        }
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.realloc(block, layout, bytes) }
    }
}
