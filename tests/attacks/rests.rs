//! Blocks that are left with a rest and used again, and lists that leave memory behind.

use std::cell::{Cell, RefCell};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameHandle, FrameVec};

use crate::common::settings::blocks_of;
use crate::hostile_allocator::{BLOCK_ALIGN, Trick, with, with_neighbours};
use crate::tiny;

/// An arena whose first block has 192 bytes, of which `rest` are left, and whose second block is active.
fn with_a_rest(rest: usize, limit_bytes: Option<usize>) -> FrameArena {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: limit_bytes,
        ..blocks_of(256)
    });
    arena.alloc_slice_fill_copy(192 - rest, 0xAA_u8);
    arena.alloc_slice_fill_copy(rest + 8, 0xBB_u8);
    assert_eq!(arena.held_bytes(), 2 * 256);
    arena
}

#[test]
fn a_peak_counts_a_list_twice_while_it_moves() {
    // To the active block, from the end of the block that was left for it.
    let arena = tiny();
    arena.alloc([0xAA_u8; 136]);
    let mut list = arena.collect(0..6_u64);
    arena.alloc([0xBB_u8; 16]);
    list.push(6);
    assert_eq!(list.capacity(), 12);
    assert_eq!(arena.used_bytes(), 136 + 16 + 96, "it has moved");
    assert_eq!(arena.peak_bytes(), 136 + 16 + 96 + 48);

    // To a block that is used again.
    let arena = with_a_rest(160, None);
    let mut list = arena.vec_with_capacity::<u64>(3);
    list.extend(0..3);
    let before = arena.used_bytes();
    list.try_reserve(6).unwrap();
    let moved_bytes = list.capacity() * 8;
    assert_eq!(
        arena.used_bytes(),
        before - 24 + moved_bytes,
        "it has moved"
    );
    assert_eq!(arena.peak_bytes(), before + moved_bytes);
    assert_eq!(arena.high_watermark_bytes(), before + moved_bytes);
}

#[test]
fn a_refusal_does_not_leave_the_newest_behind() {
    // The first block has room, but the limit has not.
    let arena = with_a_rest(80, Some(112 + 88 + 24));
    let newest = arena.boxed([1_u64; 2]);
    let used_bytes = arena.used_bytes();
    assert!(arena.try_alloc([0_u64; 8]).is_err());
    drop(newest);
    assert_eq!(arena.used_bytes(), used_bytes - 16, "it was the newest");
    arena.alloc([2_u64; 3]);
}

thread_local! {
    static ARENA: FrameArena = tiny();
    static NESTED: Cell<Option<FrameHandle<[u8; 40]>>> = const { Cell::new(None) };
}

#[test]
fn a_list_that_moves_does_not_free_the_allocations_of_the_global_allocator() {
    fn allocate_behind_the_list() {
        NESTED.set(Some(ARENA.with(|arena| arena.share([7; 40]))));
    }
    ARENA.with(|arena| {
        let mut list = arena.vec_with_capacity::<u8>(96);
        list.extend([1; 96]);
        let call_back = Trick::CallBack(BLOCK_ALIGN, allocate_behind_the_list);
        with(call_back, || list.try_reserve(120)).unwrap();
        let nested = NESTED.take().expect("the allocator called back");
        list.extend([1; 120]);
        // When the active block is full, the rest of the first one is used.
        arena.alloc_slice_fill_copy(arena.block_remaining_bytes(), 0xCC_u8);
        (0..4).for_each(|_| _ = arena.alloc([0xCC_u8; 24]));
        assert_eq!(arena.get(nested), Some(&[7; 40]));
        assert_eq!(list, [1; 216]);
    });
}

/// A list of any alignment, whose elements repeat one number.
enum List<'a> {
    Bytes(FrameVec<'a, u8>),
    Words(FrameVec<'a, u64>),
    Lines(FrameVec<'a, Line>),
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(u8);

impl List<'_> {
    fn extend(&mut self, count: usize, n: u8) {
        match self {
            Self::Bytes(list) => list.resize(list.len() + count, n),
            Self::Words(list) => list.resize(list.len() + count, n.into()),
            Self::Lines(list) => list.resize(list.len() + count / 16, Line(n)),
        }
    }

    fn is_of(&self, n: u8) -> bool {
        match self {
            Self::Bytes(list) => list.iter().all(|&it| it == n),
            Self::Words(list) => list.iter().all(|&it| it == n.into()),
            Self::Lines(list) => {
                list.iter().all(|it| it.0 == n) && list.as_ptr().addr().is_multiple_of(64)
            }
        }
    }
}

/// Lists that grow, move, shrink and end in any order, in blocks of an arena, between values that stay.
fn churn(arena: &FrameArena, steps: u32) {
    let (mut lists, mut values) = (Vec::new(), Vec::new());
    let mut state = 1_u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for step in 0..steps {
        let n = step as u8;
        let at = random(12) as usize;
        match random(8) {
            0 => lists.push((n, List::Bytes(arena.vec()))),
            1 => lists.push((n, List::Words(arena.vec()))),
            2 => lists.push((n, List::Lines(arena.vec()))),
            3 => values.push((n, arena.share_slice_copy(&[n; 40][..at]))),
            4 if at < lists.len() => drop(lists.swap_remove(at)),
            5 if let Some((_, List::Bytes(list))) = lists.get_mut(at) => {
                list.truncate(at);
                list.shrink_to_fit();
            }
            _ => {
                let count = random(40) as usize;
                if let Some((n, list)) = lists.get_mut(at) {
                    list.extend(count, *n);
                }
            }
        }
        assert!(arena.used_bytes() <= arena.peak_bytes().min(arena.held_bytes()));
        assert!(lists.iter().all(|(n, list)| list.is_of(*n)), "step {step}");
    }
    for (n, value) in values {
        let value = arena.get(value).expect("a fresh handle");
        assert!(value.iter().all(|&byte| byte == n));
    }
}

#[test]
fn lists_in_the_rests_of_blocks_share_no_memory() {
    let steps = if cfg!(miri) { 80 } else { 1000 };
    for downwards in [false, true] {
        with_neighbours(downwards, || {
            let arena = tiny();
            churn(&arena, steps.min(200));
            assert!(arena.held_bytes() <= 1 << 16, "the neighbours' memory");
        });
    }
    let mut arena = tiny();
    for _ in 0..3 {
        churn(&arena, steps);
        arena.reset();
        assert_eq!((arena.used_bytes(), arena.held_bytes()), (0, 256));
    }
}

#[test]
fn lists_share_no_memory_with_the_global_allocators_own() {
    thread_local! {
        static LISTS: RefCell<Vec<(u8, FrameHandle<[u8]>)>> = const { RefCell::new(Vec::new()) };
    }
    fn share_a_list() {
        ARENA.with(|arena| {
            LISTS.with_borrow_mut(|lists| {
                let n = lists.len() as u8;
                let mut list = arena.vec();
                (0..n % 50).for_each(|_| list.push(n));
                lists.push((n, list.share()));
            });
        });
    }
    ARENA.with(|arena| {
        let steps = if cfg!(miri) { 60 } else { 400 };
        with(Trick::EachCall(share_a_list), || churn(arena, steps));
        LISTS.with_borrow(|lists| {
            assert!(lists.len() > 8, "the allocator called back");
            for (n, list) in lists {
                let list = arena.get(*list).expect("a fresh handle");
                assert!(list.iter().all(|byte| byte == n));
            }
        });
    });
}

#[test]
fn a_list_that_has_moved_grows_up_to_the_limit() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(4000),
        ..blocks_of(256)
    });
    let mut list = arena.vec_with_capacity::<u8>(1200);
    list.resize(1200, 7);
    // While it moves, it is in use twice: 3,600 bytes.
    list.try_reserve(1200).expect("it fits into the limit");
    list.resize(2400, 7);
    list.try_reserve(600)
        .expect("the memory that it left is free");
    list.resize(3000, 7);
    assert_eq!((arena.used_bytes(), list.capacity()), (3000, 3000));
    assert!(arena.try_alloc([0_u8; 1001]).is_err());
    assert!(arena.try_alloc([0_u8; 1000]).is_ok());
}
