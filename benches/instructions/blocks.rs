//! Blocks of many sizes that are allocated and freed in any order.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::ptr::NonNull;

use mimalloc::MiMalloc;
use talc::TalcCell;
use talc::source::Claim;

use crate::counts::segment;
#[cfg(feature = "free_list")]
use crate::freeing::ours;
use crate::freeing::{Blocks, Freeing, REGION_BYTES};

const PAIR: &str = "block of 100 bytes, allocated and freed";
pub(crate) const CHURN: &str = "block freed and another allocated, among 256 of 16 to 1,000 bytes";

pub(crate) const TURNS: u32 = 1000;

/// What ours may cost.
pub(crate) fn limits() -> impl Iterator<Item = (&'static str, f64)> {
    let limits = [(PAIR, 47.0), (CHURN, 71.0)];
    limits.into_iter().filter(|_| cfg!(feature = "free_list"))
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
