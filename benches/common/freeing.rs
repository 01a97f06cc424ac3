//! Allocators that take blocks back one by one, and blocks to free in any order.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;

/// What talc and a free list have.
pub(crate) const REGION_BYTES: usize = 1 << 20;

const BLOCKS: usize = 256;

/// Something that takes blocks back one by one.
pub(crate) trait Freeing {
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// # Safety
    /// The block is one of this allocator, has this layout, and is not used again.
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout);
}

impl<G: GlobalAlloc> Freeing for G {
    #[inline(always)]
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: no layout of these benchmarks has no bytes.
        NonNull::new(unsafe { self.alloc(layout) })
    }

    #[inline(always)]
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.dealloc(block.as_ptr(), layout) };
    }
}

#[cfg(feature = "free_list")]
pub(crate) mod ours {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    use allocator_api2::alloc::Allocator;
    use bevy_frame_arena::FreeList;

    pub(crate) struct Ours<'a>(pub(crate) &'a FreeList<'a>);

    impl super::Freeing for Ours<'_> {
        #[inline(always)]
        fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
            self.0.allocate(layout).ok().map(NonNull::cast)
        }

        #[inline(always)]
        unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's promise.
            unsafe { self.0.deallocate(block, layout) };
        }
    }
}

/// Blocks that are live, in an order that has nothing to do with their addresses.
pub(crate) struct Blocks<'a, F: Freeing> {
    heap: &'a F,
    live: Vec<(NonNull<u8>, Layout)>,
    random: u32,
}

impl<'a, F: Freeing> Blocks<'a, F> {
    pub(crate) fn new(heap: &'a F) -> Self {
        let mut blocks = Self {
            heap,
            live: Vec::with_capacity(BLOCKS),
            random: 1,
        };
        for _ in 0..BLOCKS {
            let block = blocks.allocate();
            blocks.live.push(block);
        }
        blocks
    }

    #[inline(always)]
    fn allocate(&mut self) -> (NonNull<u8>, Layout) {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let bytes = 16 + (self.random >> 16) as usize % 985;
        let layout = Layout::from_size_align(bytes, 8).expect("a valid layout");
        let block = self.heap.allocate(layout).expect("room for them all");
        (block, layout)
    }

    #[inline(always)]
    pub(crate) fn turn(&mut self) {
        let which = (self.random >> 8) as usize % BLOCKS;
        let (block, layout) = self.live[which];
        // SAFETY: it is live, and replaced.
        unsafe { self.heap.free(block, layout) };
        self.live[which] = self.allocate();
    }
}

impl<F: Freeing> Drop for Blocks<'_, F> {
    fn drop(&mut self) {
        for (block, layout) in self.live.drain(..) {
            // SAFETY: it is live, and not used again.
            unsafe { self.heap.free(block, layout) };
        }
    }
}
