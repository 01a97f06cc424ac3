//! A standalone arena gives memory back that it no longer needs.

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
        arena.reserved_bytes() > 4 * MIB,
        "the spike was just needed"
    );
    arena.alloc_layout(bytes(300 * KIB));
    arena.reset();
    arena.trim();
    assert!(arena.reserved_bytes() < MIB, "{arena:?}");
}

#[test]
fn an_idle_arena_starts_over_with_blocks_of_the_capacity_it_was_made_with() {
    let mut arena = FrameArena::new(KIB);
    arena.alloc_layout(bytes(100 * KIB));
    arena.reset();
    arena.trim();
    arena.trim();
    assert_eq!(
        (arena.held_bytes(), arena.reserved_bytes()),
        (0, 0),
        "nothing was used since the first trim"
    );
    arena.alloc(1_u64);
    assert_eq!(arena.reserved_bytes(), KIB);
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
    assert!(arena.reserved_bytes() <= 2 * KIB, "{arena:?}");
}

#[test]
fn a_steady_load_is_never_trimmed() {
    let mut arena = FrameArena::new(64 * KIB);
    let mut reserved = Vec::new();
    for frame in 0..100 {
        // Ten percent up and down.
        arena.alloc_layout(bytes(MIB + frame % 3 * 100 * KIB));
        reserved.push(arena.reserved_bytes());
        arena.reset();
        arena.trim();
    }
    reserved.dedup();
    assert!(reserved.len() <= 3, "{reserved:?}");
}

#[test]
fn a_large_block_that_was_full_once_is_not_kept_for_a_short_list() {
    let mut arena = FrameArena::new(KIB);
    arena.alloc_layout(bytes(MIB));
    arena.reset();
    for _ in 0..4 {
        // Takes the same block, and leaves most of it alone.
        let mut list = arena.vec_with_capacity::<u8>(600 * KIB);
        list.push(1);
        list.shrink_to_fit();
        drop(list);
        arena.reset();
        arena.trim();
    }
    assert!(arena.reserved_bytes() < 2 * MIB, "{arena:?}");
}

#[test]
fn a_trim_does_nothing_while_memory_is_in_use() {
    for capacity in [128, 64 * KIB] {
        let mut arena = FrameArena::new(capacity);
        arena.alloc_layout(bytes(4 * MIB));
        arena.reset();
        arena.trim();
        let handle = arena.share([7_u8; 64]);
        let reserved = arena.reserved_bytes();
        arena.trim();
        arena.trim();
        assert_eq!(arena.reserved_bytes(), reserved);
        assert_eq!(arena.get(handle), Some(&[7; 64]));
        arena.reset();
        arena.trim();
        arena.trim();
        assert_eq!(arena.reserved_bytes(), 0, "unused memory is trimmed");
    }
}
