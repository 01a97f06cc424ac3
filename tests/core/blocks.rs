//! Blocks that circulate: who may have one, and whose data is still read when it goes.

use std::alloc::Layout;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::{
    FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, FrameLease, LivesFor, share_format,
};

use crate::common::droppy::Droppy;
use crate::common::settings::blocks_of;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The smallest blocks there are: 192 bytes behind a header. What goes back is overwritten.
fn tiny() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        fill_recycled: true,
        ..blocks_of(256)
    })
}

fn bytes(len: usize) -> Layout {
    Layout::array::<u8>(len).expect("it is a size that exists")
}

/// Writes to all blocks that are free, as the next frame of any worker does.
fn use_all_free_blocks(arenas: &FrameArenas) {
    let reserved_bytes = arenas.local().reserved_bytes();
    while arenas.local().reserved_bytes() == reserved_bytes {
        arenas.local().alloc([0xEE_u8; 64]);
    }
}

/// Checks what a lease must resolve for ten frames, in which everything else is overwritten.
fn outlives_many_frames(mut arenas: FrameArenas, lease: &FrameLease, check: impl Fn(&FrameLease)) {
    check(lease);
    for _ in 0..10 {
        arenas.swap();
        use_all_free_blocks(&arenas);
        check(lease);
    }
    arenas.trim();
    check(lease);
    drop(arenas);
    check(lease);
}

#[test]
fn a_list_shared_after_its_arena_has_left_its_block_is_kept() {
    let arenas = tiny();
    let arena = arenas.local();
    let mut list = arena.vec_with_capacity::<u8>(100);
    list.extend([7; 100]);
    for _ in 0..5 {
        arena.alloc([0_u8; 150]);
    }
    let list = list.share();
    let lease = arenas.lease();
    outlives_many_frames(arenas, &lease, |lease| assert_eq!(lease[list], [7; 100]));
}

#[test]
fn a_value_whose_drop_record_is_in_another_block_is_kept_and_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = tiny();
    let arena = arenas.local();
    // The record no longer fits beside the elements.
    let mut list = arena.vec_with_capacity::<(Droppy, [u8; 40])>(3);
    list.extend((0..3_u8).map(|n| (Droppy(Arc::clone(&drops), false), [n; 40])));
    arena.alloc_layout(bytes(arena.block_remaining_bytes()));
    let held_bytes = arena.held_bytes();
    let list = list.share();
    assert!(arena.held_bytes() > held_bytes, "the record took a block");
    arenas.swap();
    use_all_free_blocks(&arenas);
    let has = |n: u8| arenas[list][usize::from(n)].1 == [n; 40];
    assert!((0..3).all(has));
    assert_eq!(drops.load(SeqCst), 0);
    arenas.swap();
    assert_eq!((arenas.get(list).is_none(), drops.load(SeqCst)), (true, 3));
}

#[test]
fn what_was_shared_in_one_block_is_kept_when_the_arena_moves_to_others() {
    let arenas = tiny();
    let arena = arenas.local();
    let first = arena.share([1_u8; 8]);
    arena.alloc([0_u8; 180]);
    // Into a block that came after the mark, on the path that relies on it.
    let second = arena.share([2_u8; 150]);
    let third = arena.share([3_u8; 150]);
    let lease = arenas.lease();
    outlives_many_frames(arenas, &lease, |lease| {
        assert_eq!(lease[first], [1; 8]);
        assert_eq!((lease[second], lease[third]), ([2; 150], [3; 150]));
    });
}

#[test]
fn the_first_handle_of_an_arena_keeps_blocks_that_come_later() {
    let arenas = tiny();
    let arena = arenas.local();
    let mut list = arena.vec_with_capacity::<u8>(8);
    list.extend([5; 8]);
    let first = arena.share(1_u64);
    // No handle is made after this.
    arena.alloc([0_u8; 190]);
    arena.alloc([0_u8; 190]);
    let lease = arenas.lease();
    drop(list);
    outlives_many_frames(arenas, &lease, |lease| assert_eq!(lease[first], 1));
}

/// One after the other, each in an arena of its own, so that no other handle sets the mark.
#[test]
fn each_way_to_a_handle_keeps_its_blocks() {
    fn check<T: ?Sized + PartialEq<U> + std::fmt::Debug, U: ?Sized + std::fmt::Debug>(
        share: impl FnOnce(&FrameArenas) -> FrameHandle<T>,
        expected: &U,
    ) {
        let arenas = tiny();
        let handle = share(&arenas);
        let lease = arenas.lease();
        outlives_many_frames(arenas, &lease, |lease| assert_eq!(lease[handle], *expected));
    }
    let name = String::from("Ferris");
    check(|arenas| arenas.local().share(7_u64), &7);
    check(|arenas| arenas.local().share([7_u8; 300]), &[7_u8; 300]);
    check(|arenas| arenas.local().share(name.clone()), &name);
    check(|arenas| arenas.local().share_str("Ferris"), "Ferris");
    check(|arenas| share_format!(arenas.local(), "{name}"), "Ferris");
    check(|arenas| arenas.local().share_slice_copy(&[1, 2]), &[1, 2]);
    check(|arenas| arenas.local().share_iter(0..3), &[0, 1, 2]);
    check(|arenas| arenas.local().boxed(7).share(), &7);
    check(|arenas| arenas.local().collect(0..3).share(), &[0, 1, 2]);
    check(
        |arenas| {
            let mut text = arenas.local().string();
            text.push_str("Ferris");
            text.share()
        },
        "Ferris",
    );
    check(
        |arenas| {
            let collector = arenas.collector();
            collector.batch().extend([3, 1, 2]);
            collector.share_sorted()
        },
        &[1, 2, 3],
    );
}

#[test]
fn the_cells_of_a_collector_keep_their_blocks() {
    let arenas = tiny();
    let items = || (0..40_usize).map(|n| (n % 4, n.to_string()));
    let (dense, sparse) = (arenas.collector(), arenas.collector());
    dense.batch().extend(items());
    sparse.batch().extend(items());
    let dense = dense.share_cells(4, |item| item.0);
    let sparse = sparse.share_cell_map(|item| item.0);
    let lease = arenas.lease();
    outlives_many_frames(arenas, &lease, |lease| {
        for cell in 0..4 {
            for values in [&lease[dense][cell], &lease[sparse][&cell]] {
                assert_eq!(values.len(), 10);
                assert!(
                    values
                        .iter()
                        .all(|value| value.0 == cell && value.1.len() <= 2)
                );
            }
        }
    });
}

#[test]
fn values_of_no_size_are_shared_in_an_arena_without_blocks() {
    #[derive(Debug, PartialEq)]
    struct Nothing;
    let mut arenas = tiny();
    let nothing = arenas.local().share(Nothing);
    let empty = arenas.local().share_slice_copy::<u64>(&[]);
    assert_eq!(arenas.local().held_bytes(), 0);
    let lease = arenas.lease();
    for _ in 0..4 {
        arenas.swap();
        assert_eq!((&lease[nothing], &lease[empty]), (&Nothing, &[][..]));
    }
}

#[test]
fn an_empty_list_that_was_shared_keeps_no_later_blocks() {
    let mut arenas = tiny();
    arenas.local().share_slice_copy::<u64>(&[]);
    arenas.swap();
    arenas.swap();
    // The same generation again, and nothing is shared in it.
    arenas.local().alloc([0_u8; 100]);
    arenas.swap();
    assert_eq!(arenas.usage().kept_bytes, 0);
    arenas.swap();
    assert_eq!(arenas.usage().kept_bytes, 0);
}

#[test]
fn values_of_no_size_that_need_dropping_are_dropped_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let mut arenas = tiny();
    arenas.local().share(Nothing);
    arenas.local().share_iter((0..5).map(|_| Nothing));
    let lease = arenas.lease();
    for _ in 0..4 {
        arenas.swap();
        use_all_free_blocks(&arenas);
        assert_eq!(DROPS.load(SeqCst), 0);
    }
    drop(lease);
    arenas.swap();
    assert_eq!(DROPS.load(SeqCst), 6);
}

#[test]
fn an_arena_without_handles_gives_its_blocks_back_although_its_frame_is_leased() {
    for lives_for in [
        LivesFor::OnePeriod,
        LivesFor::TwoPeriods,
        LivesFor::ThreePeriods,
    ] {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            lives_for,
            ..blocks_of(4 * KIB)
        });
        let shared = arenas.local().share([7_u8; 100]);
        // On another worker.
        thread::scope(|scope| {
            scope.spawn(|| arenas.local().alloc([0_u8; 100 * KIB])[0] = 1);
        });
        let lease = arenas.lease();
        arenas.swap();
        arenas.swap();
        let usage = arenas.usage();
        assert_eq!(usage.kept_bytes, 4 * KIB, "{lives_for:?}");
        assert!(usage.free_bytes > 100 * KIB, "{lives_for:?}");
        assert_eq!(lease[shared], [7; 100]);
    }
}

/// `trim` may come while the arena of a forgotten guard has destructors to run.
#[test]
fn a_trim_leaves_the_memory_of_forgotten_scratch_to_its_destructors() {
    let drops = Arc::new(AtomicUsize::new(0));
    for swaps in [false, true] {
        let mut arenas = tiny();
        for _ in 0..3 {
            let scratch = arenas.scratch();
            scratch.alloc([1_u8; 300]);
            scratch.share((Droppy(Arc::clone(&drops), false), [0_u64; 10]));
            mem::forget(scratch);
        }
        arenas.trim();
        use_all_free_blocks(&arenas);
        if swaps {
            arenas.swap();
        } else {
            drop(arenas);
        }
    }
    assert_eq!(drops.load(SeqCst), 6);
}

#[test]
fn a_block_that_was_held_when_the_frame_ended_may_be_given_back_by_its_trim() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        trim_after_periods: Some(4),
        ..blocks_of(64 * KIB)
    });
    arenas.local().alloc_layout(bytes(MIB));
    arenas.swap();
    let before = arenas.usage().reserved_bytes;
    for _ in 0..20 {
        // Takes the block of the spike, and leaves most of it alone.
        let mut list = arenas.local().vec_with_capacity::<u8>(600 * KIB);
        list.push(1);
        list.shrink_to_fit();
        drop(list);
        arenas.swap();
        let usage = arenas.usage();
        assert_eq!(
            usage.reserved_bytes,
            usage.held_bytes + usage.kept_bytes + usage.free_bytes
        );
        assert!(usage.free_bytes <= usage.reserved_bytes && usage.reserved_bytes <= before);
    }
    assert!(arenas.usage().reserved_bytes < before);
}

/// What a budget leaves may be so little that two blocks together are smaller than an ordinary one.
#[test]
fn a_reset_frees_all_of_several_small_blocks() {
    for budget in [300, 512, 700, 1000] {
        let mut arena = FrameArena::with_settings(&FrameArenaSettings {
            budget_bytes: Some(budget),
            fill_recycled: false,
            ..blocks_of(256)
        });
        for _ in 0..4 {
            while arena.try_alloc([0_u8; 8]).is_ok() {}
            arena.reset();
            assert_eq!(arena.used_bytes(), 0, "a budget of {budget}");
            assert!(arena.reserved_bytes() <= budget);
        }
        arena.trim();
        assert_eq!(arena.held_bytes(), 0);
    }
}

#[test]
fn pretouching_ends_at_the_budget() {
    let arenas = FrameArenas::new(FrameArenaSettings {
        pretouch_bytes: usize::MAX,
        budget_bytes: Some(100_000),
        ..Default::default()
    });
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!((90_000..=100_000).contains(&reserved_bytes));
}

#[test]
fn limits_of_any_size_are_never_exceeded() {
    for limit in (0..80).chain([100, 191, 192, 193, 255, 257, 1000, 1001, 4099]) {
        let mut arena = FrameArena::with_settings(&FrameArenaSettings {
            worker_limit_bytes: Some(limit),
            ..blocks_of(256)
        });
        for size in [1, 7, 8, 9, 64, 200] {
            while arena.try_alloc_layout(bytes(size)).is_ok() {
                assert!(arena.used_bytes() <= limit, "{size} of {limit}");
            }
            assert!(arena.used_bytes() + size.next_multiple_of(8) > limit);
            let used_bytes = arena.used_bytes();
            assert!(arena.try_alloc_layout(bytes(limit + 1)).is_err());
            assert_eq!(arena.used_bytes(), used_bytes);
            while arena.try_alloc(1_u64).is_ok() {}
            assert!(arena.used_bytes() <= limit);
            arena.reset();
        }
    }
}

/// Every size takes the blocks that others left: none may be too small for it.
#[test]
fn a_block_has_room_for_whoever_takes_it() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(if cfg!(miri) { 16 * KIB } else { 256 * KIB }),
        trim_after_periods: None,
        ..blocks_of(256)
    });
    let frames = if cfg!(miri) { 20 } else { 300 };
    for frame in 0..frames {
        for n in 0..40 {
            let size = (frame * 2657 + n * n * 977) % (1 << (3 + (frame + n) % 13));
            let align = 1 << ((frame + 3 * n) % 10);
            let Ok(layout) = Layout::from_size_align(size, align) else {
                continue;
            };
            if let Ok(memory) = arenas.local().try_alloc_layout(layout) {
                assert_eq!(memory.addr().get() % align, 0);
            }
            if n % 7 == 0 {
                let _ = arenas.local().try_share_iter(0..size % 500);
            }
            let scratch = arenas.scratch();
            if let Ok(copy) = scratch.try_alloc_slice_fill_copy(size % 3000, n as u8) {
                assert!(copy.iter().all(|&byte| byte == n as u8));
            }
        }
        arenas.swap();
        let usage = arenas.usage();
        assert!(usage.reserved_bytes <= arenas.settings().budget_bytes.unwrap_or(0));
    }
}

#[test]
fn small_allocations_between_large_ones_fill_the_blocks_that_were_left() {
    let arenas = FrameArenas::new(blocks_of(128 * KIB));
    let arena = arenas.local();
    for n in 0..64_u8 {
        // Neither fits into what the other leaves of its block.
        let large = arena.alloc_slice_fill_copy(100 * KIB, n);
        let small = arena.alloc_slice_fill_copy(9 * KIB, n);
        assert!(large.iter().chain(&*small).all(|&byte| byte == n));
    }
    let held_bytes = arena.held_bytes();
    assert_eq!(arena.used_bytes(), 64 * 109 * KIB);
    assert!(held_bytes < arena.used_bytes() * 6 / 5, "{held_bytes}");
}

#[test]
fn a_list_that_moves_to_another_block_frees_the_end_of_the_one_it_leaves() {
    let arenas = FrameArenas::new(blocks_of(256));
    let arena = arenas.local();
    let before = arena.alloc([1_u8; 64]);
    let mut list = arena.vec_with_capacity::<u8>(100);
    list.extend([2; 100]);
    list.reserve(400);
    let used_bytes = arena.used_bytes();
    assert_eq!(used_bytes, 64 + 504, "the list is there once");
    // Fills the rest of the new block, and then what the list has left.
    let rest = arena.alloc_slice_fill_copy(arena.block_remaining_bytes(), 3_u8);
    let held_bytes = arena.held_bytes();
    let again = arena.alloc([4_u8; 104]);
    assert_eq!(arena.held_bytes(), held_bytes, "in the block that was left");
    list.extend([2; 400]);
    assert!(list.iter().all(|&byte| byte == 2));
    assert!(rest.iter().all(|&byte| byte == 3));
    assert_eq!((*before, *again), ([1; 64], [4; 104]));
}

#[test]
fn a_list_with_something_behind_it_keeps_its_memory_when_it_moves() {
    let arenas = FrameArenas::new(blocks_of(256));
    let arena = arenas.local();
    let mut list = arena.vec_with_capacity::<u8>(80);
    list.extend([1; 80]);
    let behind = arena.alloc([2_u8; 64]);
    list.reserve(400);
    arena.alloc_slice_fill_copy(arena.block_remaining_bytes(), 0_u8);
    let fresh: Vec<_> = (0..20).map(|_| arena.alloc([3_u8; 40])).collect();
    assert!(fresh.iter().all(|it| **it == [3; 40]));
    assert_eq!(*behind, [2; 64]);
    assert!(list.iter().all(|&byte| byte == 1));
}

#[test]
fn a_block_that_is_used_again_stays_within_the_limit_of_its_worker() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: 1024,
        worker_limit_bytes: Some(1850),
        ..FrameArenaSettings::default()
    });
    arena.alloc([0_u8; 400]);
    arena.alloc([0_u8; 900]);
    assert!(arena.try_alloc([0_u8; 1000]).is_err());
    // In the first block, which has 560 bytes left.
    let held_bytes = arena.held_bytes();
    arena.alloc([0_u8; 400]);
    assert_eq!(arena.held_bytes(), held_bytes);
    assert!(arena.try_alloc([0_u8; 304]).is_err());
    let filled = (0..1000).find(|_| arena.try_alloc(0_u64).is_err());
    assert!(filled.is_some());
    assert!(arena.used_bytes() <= 1850, "{}", arena.used_bytes());
    assert_eq!(arena.held_bytes(), held_bytes);
}

#[test]
fn a_reset_keeps_the_capacity_of_an_arena_whatever_block_was_used_last() {
    let mut arena = FrameArena::new(KIB);
    for _ in 0..3 {
        assert_eq!(arena.block_remaining_bytes(), KIB);
        arena.alloc([0_u8; 600]);
        arena.alloc([0_u8; 900]);
        // In the first block again.
        arena.alloc([0_u8; 400]);
        assert_eq!(arena.used_bytes(), 600 + 904 + 400);
        arena.reset();
    }
}

#[test]
fn a_small_arena_takes_a_larger_free_block_rather_than_have_one_made() {
    let mut arenas = FrameArenas::default();
    arenas.local().alloc([0_u8; 40 * KIB]);
    arenas.swap();
    let reserved_bytes = arenas.usage().reserved_bytes;
    arenas.local().alloc(0_u8);
    arenas.swap();
    assert_eq!(arenas.usage().reserved_bytes, reserved_bytes);
}

#[test]
fn a_block_that_a_list_leaves_empty_serves_others_at_once() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    let mut list = arena.vec::<u64>();
    // It outgrows the first block, the next one, and half an ordinary one.
    for _ in 0..20 * KIB {
        list.push(7);
    }
    assert!(arena.reserved_bytes() > arena.held_bytes(), "one was left");
    let reserved_bytes = arena.reserved_bytes();
    let scratch = arenas.scratch();
    scratch.alloc_slice_fill_copy(10 * KIB, 0xEE_u8);
    assert_eq!(arena.reserved_bytes(), reserved_bytes, "and is used again");
    assert!(list.iter().all(|it| *it == 7));
}

#[test]
fn a_block_that_a_list_leaves_with_other_data_in_it_is_kept() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    // Both are too large for the first block, so they are in one of 16 KiB.
    let kept = arena.alloc_slice_fill_copy(9 * KIB, 7_u8);
    let mut list = arena.vec_with_capacity::<u8>(5 * KIB);
    list.resize(5 * KIB, 8);
    list.resize(20 * KIB, 8);
    let scratch = arenas.scratch();
    for _ in 0..10 {
        scratch.alloc_slice_fill_copy(9 * KIB, 0xEE_u8);
    }
    assert!(kept.iter().all(|it| *it == 7));
    assert!(list.iter().all(|it| *it == 8));
}

#[test]
fn scratch_keeps_its_first_block_although_a_list_has_left_it() {
    let arenas = FrameArenas::default();
    let scratch = arenas.scratch();
    let mut list = scratch.vec();
    for _ in 0..20 * KIB {
        list.push(7_u64);
    }
    drop(list);
    drop(scratch);
    let scratch = arenas.scratch();
    let held_bytes = scratch.held_bytes();
    assert!((1..=8 * KIB).contains(&held_bytes), "{held_bytes}");
}

/// Grows a list of 200 KB in scratch in each of many frames, and returns the bytes reserved after 10 and
/// after 50 frames.
fn reserved_for_a_list_in_scratch(settings: FrameArenaSettings) -> [usize; 2] {
    let mut arenas = FrameArenas::new(settings);
    [10, 40].map(|frames| {
        for _ in 0..frames {
            let scratch = arenas.scratch();
            let mut list = scratch.vec();
            list.extend((0..25_000_u64).filter(|_| true));
            drop(list);
            drop(scratch);
            arenas.swap();
        }
        arenas.usage().reserved_bytes
    })
}

#[test]
fn under_any_budget_a_list_that_grows_finds_the_block_that_it_had() {
    let budgets: &[usize] = if cfg!(miri) {
        &[8]
    } else {
        &[1, 2, 3, 4, 8, 12, 16, 64]
    };
    for &mib in budgets {
        for odd in [0, MIB / 2, MIB - 1] {
            let [early, late] = reserved_for_a_list_in_scratch(FrameArenaSettings {
                budget_bytes: Some(mib * MIB + odd),
                ..FrameArenaSettings::default()
            });
            assert_eq!(early, late, "{mib} MiB and {odd} bytes");
            assert!(late <= 3 * MIB, "{mib} MiB and {odd} bytes: {late}");
        }
    }
}

#[test]
fn room_to_grow_ends_at_the_limit_of_a_worker() {
    let [_, reserved_bytes] = reserved_for_a_list_in_scratch(FrameArenaSettings {
        worker_limit_bytes: Some(256 * KIB),
        ..FrameArenaSettings::default()
    });
    assert!(reserved_bytes < MIB, "{reserved_bytes}");
}
