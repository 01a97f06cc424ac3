//! A global allocator that counts blocks, and uses no address twice in one run of a model: loom would
//! see two uses of one cell where the allocator has in truth ordered them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Whether memory is that of a block: of the stacks of loom's threads, some parts are aligned like blocks,
/// and have sizes that no model uses.
fn is_block(layout: Layout) -> bool {
    layout.align() == 128 && ![256, 512].contains(&layout.size())
}

thread_local! {
    static LIVE_BYTES: Cell<usize> = const { Cell::new(0) };
    static FREED: RefCell<BTreeMap<usize, Layout>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the bytes of all blocks that are not freed. All threads of a model are one of the system's.
pub(crate) fn live_bytes() -> usize {
    LIVE_BYTES.get()
}

/// Frees what was freed in the run before.
pub(crate) fn begin() {
    for (address, layout) in FREED.take() {
        let block = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the block came from `System` with this layout, and its owner has freed it once.
        unsafe { System.dealloc(block, layout) };
    }
}

struct Counting;

#[global_allocator]
static GLOBAL: Counting = Counting;

// SAFETY: all memory comes from `System`, and goes back once.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            LIVE_BYTES.set(LIVE_BYTES.get() + layout.size());
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_block(layout) {
            LIVE_BYTES.set(LIVE_BYTES.get() - layout.size());
            let address = block.expose_provenance();
            let before = FREED.with_borrow_mut(|freed| freed.insert(address, layout));
            assert_eq!(before, None, "a block was freed twice");
            return;
        }
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.dealloc(block, layout) };
    }
}
