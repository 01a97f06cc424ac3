//! Blocks that are freed one by one.
#![expect(unsafe_code, reason = "allocators work on raw memory")]

use std::alloc::{Layout, System};
use std::hint::black_box;

use mimalloc::MiMalloc;
use talc::TalcCell;
use talc::source::Claim;

use crate::freeing::{Blocks, Freeing, REGION_BYTES};
use crate::race::{Effort, Runner, race};

const UNITS: u32 = 1000;

#[cfg(not(feature = "free_list"))]
pub(crate) fn run_all(_: Effort) {
    println!("\nFree lists: NOT RUN without the feature `free_list`");
}

#[cfg(feature = "free_list")]
pub(crate) fn run_all(effort: Effort) {
    use crate::freeing::ours::Ours;
    use bevy_frame_arena::{FrameArena, FreeList};

    let arena = FrameArena::default();
    let list = FreeList::new_in(REGION_BYTES, &arena);
    let ours = Ours(&list);
    let mut region = vec![0_u8; REGION_BYTES];
    // SAFETY: the region outlives the allocator, and nobody else uses it.
    let talc = TalcCell::new(unsafe { Claim::new(region.as_mut_ptr(), REGION_BYTES) });
    let pairs = vec![
        pair("ours", &ours),
        pair("talc", &talc),
        pair("malloc", &System),
        pair("mimalloc", &MiMalloc),
    ];
    race(
        effort,
        "block of 100 bytes, allocated and freed",
        UNITS,
        pairs,
    );
    let churns = vec![
        churn("ours", &ours),
        churn("talc", &talc),
        churn("malloc", &System),
        churn("mimalloc", &MiMalloc),
    ];
    race(
        effort,
        "block freed and another allocated, among 256 of 16 to 1,000 bytes",
        UNITS,
        churns,
    );
}

fn pair<'a>(name: &str, heap: &'a impl Freeing) -> Runner<'a> {
    Runner::new(name, move || {
        for _ in 0..UNITS {
            let layout = black_box(Layout::new::<[u8; 100]>());
            let block = heap.allocate(layout).expect("room");
            // SAFETY: it was just allocated.
            unsafe { heap.free(black_box(block), layout) };
        }
    })
}

fn churn<'a>(name: &str, heap: &'a impl Freeing) -> Runner<'a> {
    let mut blocks = Blocks::new(heap);
    Runner::new(name, move || (0..UNITS).for_each(|_| blocks.turn()))
}
