//! An arena gives memory back that it no longer needs.

use std::alloc::Layout;

use bevy_frame_arena::FrameArena;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn bytes(len: usize) -> Layout {
    Layout::array::<u8>(len).expect("it is a size that exists")
}

#[test]
fn a_trim_gives_back_what_a_spike_took() {
    let mut arena = FrameArena::new(64 * KIB);
    arena.alloc_layout(bytes(4 * MIB));
    arena.reset();
    arena.trim();
    assert!(
        arena.capacity_bytes() > 4 * MIB,
        "the spike was just needed"
    );
    arena.alloc_layout(bytes(300 * KIB));
    arena.reset();
    arena.trim();
    assert_eq!(arena.capacity_bytes(), 0);
    // The next frame gets one chunk that is large enough for all of it.
    arena.alloc_layout(bytes(100 * KIB));
    arena.alloc_layout(bytes(200 * KIB));
    assert_eq!(arena.overflows(), 0);
    assert_eq!(arena.capacity_bytes(), 375 * KIB, "and a quarter more");
}

#[test]
fn little_memory_is_not_worth_a_trim() {
    let mut arena = FrameArena::new(KIB);
    for kibibytes in [100, 1] {
        arena.alloc_layout(bytes(kibibytes * KIB));
        arena.reset();
        arena.trim();
    }
    assert!(arena.capacity_bytes() > 100 * KIB);
}

#[test]
fn an_idle_arena_starts_over_with_the_capacity_it_was_made_with() {
    let mut arena = FrameArena::new(KIB);
    arena.alloc_layout(bytes(100 * KIB));
    arena.reset();
    arena.trim();
    arena.trim();
    assert_eq!(
        arena.capacity_bytes(),
        0,
        "nothing was used since the first trim"
    );
    arena.alloc(1_u64);
    assert_eq!(arena.capacity_bytes(), KIB);
}

#[test]
fn a_trim_forgets_what_earlier_ones_kept() {
    let mut arena = FrameArena::new(KIB);
    for mebibytes in [20, 4, 4] {
        arena.alloc_layout(bytes(mebibytes * MIB));
        arena.reset();
        arena.trim();
    }
    for _ in 0..3 {
        arena.alloc(1_u64);
        arena.reset();
        arena.trim();
    }
    arena.alloc(1_u64);
    assert!(arena.capacity_bytes() <= 128 * KIB, "{arena:?}");
}

#[test]
fn a_steady_load_is_never_trimmed() {
    let mut arena = FrameArena::new(64 * KIB);
    let mut capacities = Vec::new();
    for frame in 0..100 {
        // Ten percent up and down.
        arena.alloc_layout(bytes(MIB + frame % 3 * 100 * KIB));
        capacities.push(arena.capacity_bytes());
        arena.reset();
        arena.trim();
    }
    capacities.dedup();
    assert!(capacities.len() <= 3, "{capacities:?}");
}

#[test]
fn a_trim_does_nothing_while_memory_is_in_use() {
    for capacity in [128, 64 * KIB] {
        let mut arena = FrameArena::new(capacity);
        arena.alloc_layout(bytes(4 * MIB));
        arena.reset();
        arena.trim();
        let handle = arena.share([7_u8; 64]);
        let capacity = arena.capacity_bytes();
        arena.trim();
        arena.trim();
        assert_eq!(arena.capacity_bytes(), capacity);
        assert_eq!(arena.get(handle), Some(&[7; 64]));
        arena.reset();
        arena.trim();
        assert_eq!(arena.capacity_bytes(), 0, "unused memory is trimmed");
    }
}
