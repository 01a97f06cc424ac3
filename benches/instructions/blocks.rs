//! Blocks of many sizes that are allocated and freed in any order.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::ptr::NonNull;

use mimalloc::MiMalloc;
use talc::TalcCell;
use talc::source::Claim;

use crate::counts::segment;

const PAIR: &str = "block of 100 bytes, allocated and freed";
pub(crate) const CHURN: &str = "block freed and another allocated, among 256 of 16 to 1,000 bytes";

const REGION_BYTES: usize = 1 << 20;
const BLOCKS: usize = 256;
pub(crate) const TURNS: u32 = 1000;

/// What ours may cost.
pub(crate) fn limits() -> impl Iterator<Item = (&'static str, f64)> {
    let limits = [(PAIR, 246.0), (CHURN, 228.0)];
    limits.into_iter().filter(|_| cfg!(feature = "free_list"))
}

/// Something that takes blocks back one by one.
trait Freeing {
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
mod ours {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    use allocator_api2::alloc::Allocator;
    use bevy_frame_arena::FreeList;

    pub(super) struct Ours<'a>(pub(super) &'a FreeList<'a>);

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

pub(crate) fn run_all() {
    #[cfg(feature = "free_list")]
    {
        let arena = bevy_frame_arena::FrameArena::default();
        let list = bevy_frame_arena::FreeList::new_in(REGION_BYTES, &arena);
        run("ours", &ours::Ours(&list));
    }
    let mut region = vec![0_u8; REGION_BYTES];
    // SAFETY: the region outlives the allocator, and nobody else uses it.
    let source = unsafe { Claim::new(region.as_mut_ptr(), REGION_BYTES) };
    run("talc", &TalcCell::new(source));
    run("malloc", &System);
    run("mimalloc", &MiMalloc);
}

fn run(name: &str, heap: &impl Freeing) {
    let mut blocks = Blocks::new(heap);
    segment(PAIR, name, || {
        let layout = Layout::new::<[u8; 100]>();
        measured_pair(black_box(heap), black_box(layout));
    });
    segment(CHURN, name, || measured_churn(black_box(&mut blocks)));
    blocks.free_all();
}

/// Blocks that are live, in an order that has nothing to do with their addresses.
struct Blocks<'a, F> {
    heap: &'a F,
    live: Vec<(NonNull<u8>, Layout)>,
    random: u32,
}

impl<'a, F: Freeing> Blocks<'a, F> {
    fn new(heap: &'a F) -> Self {
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
    fn turn(&mut self) {
        let which = (self.random >> 8) as usize % BLOCKS;
        let (block, layout) = self.live[which];
        // SAFETY: it is live, and replaced.
        unsafe { self.heap.free(block, layout) };
        self.live[which] = self.allocate();
    }

    fn free_all(self) {
        for (block, layout) in self.live {
            // SAFETY: it is live, and not used again.
            unsafe { self.heap.free(block, layout) };
        }
    }
}

#[inline(never)]
fn measured_pair(heap: &impl Freeing, layout: Layout) {
    let block = heap.allocate(layout).expect("room");
    // SAFETY: it was just allocated.
    unsafe { heap.free(black_box(block), layout) };
}

#[inline(never)]
fn measured_churn<F: Freeing>(blocks: &mut Blocks<'_, F>) {
    for _ in 0..TURNS {
        blocks.turn();
    }
}

/// An object in a block of its own.
pub(crate) struct Made<T>(NonNull<T>);

#[inline(always)]
pub(crate) fn make<T>(heap: &impl GlobalAlloc, object: T) -> Made<T> {
    let block = heap.allocate(Layout::new::<T>()).expect("memory").cast();
    // SAFETY: the block was allocated for a `T`.
    unsafe { block.write(object) };
    Made(block)
}

#[inline(always)]
pub(crate) fn free<T: Copy>(heap: &impl GlobalAlloc, object: Made<T>) {
    // SAFETY: the object came from this heap, and is gone.
    unsafe { heap.free(object.0.cast(), Layout::new::<T>()) };
}
