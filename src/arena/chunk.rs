//! One block of the global allocator.
#![expect(unsafe_code, reason = "allocates and frees raw memory")]

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;

use super::budget::Budget;
use super::bump::MAX_ADDRESS;
use super::poison;

/// Chunks of different workers never share a cache line, nor the pair that is prefetched.
const CHUNK_ALIGN: usize = 128;

/// The smallest pages in use; where they are larger, each is touched more than once.
const PAGE_BYTES: usize = 4096;

/// Returns the size of a chunk of at least `bytes`, or one that no layout has.
pub(super) const fn round_up(bytes: usize) -> usize {
    let bytes = if bytes == 0 { 1 } else { bytes };
    match bytes.checked_next_multiple_of(CHUNK_ALIGN) {
        Some(size) => size,
        None => usize::MAX,
    }
}

/// A block of raw memory that is counted in a [`Budget`] and freed on drop.
#[derive(Debug)]
pub(super) struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
    budget: Arc<Budget>,
    /// How much of it was handed out when the arena moved on to another chunk.
    pub(super) used_bytes: usize,
}

/// Who had no room for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The budget of the arenas.
    ByBudget,
    /// The global allocator, or the highest address that `bump` can compute with.
    ByAllocator,
}

// SAFETY: a chunk owns its block, which may be used and freed on any thread.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Allocates at least `bytes`, starting at a multiple of `align`, if the budget and the global
    /// allocator have them.
    ///
    /// The memory is not touched: an operating system that commits pages lazily
    /// gives only addresses.
    pub(super) fn new(bytes: usize, align: usize, budget: &Arc<Budget>) -> Result<Self, Refused> {
        let Ok(layout) = Layout::from_size_align(round_up(bytes), align.max(CHUNK_ALIGN)) else {
            return Err(Refused::ByAllocator);
        };
        if !budget.reserve(layout.size()) {
            return Err(Refused::ByBudget);
        }
        // SAFETY: the size is at least `CHUNK_ALIGN`, so not zero.
        let start = unsafe { std::alloc::alloc(layout) };
        let Some(start) = NonNull::new(start) else {
            budget.release(layout.size());
            return Err(Refused::ByAllocator);
        };
        // From here on, dropping the chunk gives everything back.
        let chunk = Self {
            start,
            layout,
            budget: Arc::clone(budget),
            used_bytes: 0,
        };
        if chunk.end_address() > MAX_ADDRESS {
            return Err(Refused::ByAllocator);
        }
        poison::mark_dead(chunk.start(), chunk.bytes());
        Ok(chunk)
    }

    /// Writes to each page of the first `bytes`, so that the system provides them now.
    ///
    /// The chunk is not in use yet.
    pub(super) fn touch(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes());
        poison::mark_live(self.start(), bytes);
        for offset in (0..bytes).step_by(PAGE_BYTES) {
            // SAFETY: the offset is smaller than the size of the block.
            let place = unsafe { self.start().add(offset) };
            // SAFETY: as above, and with `&mut self` nobody else uses the block.
            unsafe { place.write_volatile(0) };
        }
        poison::mark_dead(self.start(), bytes);
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn end_address(&self) -> usize {
        // The block lies within the address space, so the sum does not wrap around.
        self.start.addr().get() + self.layout.size()
    }

    pub(super) fn bytes(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        poison::mark_live(self.start(), self.bytes());
        // SAFETY:
        // - `start` came from the global allocator with this layout, in `new`;
        // - the chunk owns the block, so it is freed once.
        unsafe { std::alloc::dealloc(self.start(), self.layout) };
        self.budget.release(self.layout.size());
    }
}
