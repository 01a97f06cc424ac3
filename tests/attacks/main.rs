//! Attempts to reach undefined behaviour, or a broken state, from safe code.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

#[path = "../common"]
mod common {
    pub(crate) mod address;
    pub(crate) mod droppy;
    pub(crate) mod limits;
    pub(crate) mod panics;
    pub(crate) mod settings;
}

mod batches;
mod bombs;
mod each_call;
#[cfg(feature = "free_list")]
mod free_lists;
mod gathered;
mod held;
mod hostile_allocator;
mod left_blocks;
#[cfg(feature = "bevy")]
mod paces;
mod reentry;
mod rests;
mod settings;
mod swaps;
mod tasks;

use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;

use bevy_frame_arena::{FrameArena, FrameArenas};
use common::address::address;
use common::limits::limit_of;
use common::settings::blocks_of;
use hostile_allocator::{BLOCK_ALIGN, Hostile, Trick, with, with_neighbours};

#[global_allocator]
static GLOBAL: Hostile = Hostile;

/// The smallest blocks there are: 192 bytes behind a header.
fn tiny() -> FrameArena {
    FrameArena::with_settings(&blocks_of(256))
}

#[test]
fn a_global_allocator_may_use_the_arena_that_it_allocates_for() {
    thread_local! {
        static ARENA: FrameArena = tiny();
        static NESTED: Cell<usize> = const { Cell::new(0) };
    }
    fn allocate_in_the_same_arena() {
        NESTED.set(ARENA.with(|arena| arena.alloc([1_u8; 64]).as_ptr().addr()));
    }
    ARENA.with(|arena| {
        let call_back = Trick::CallBack(BLOCK_ALIGN, allocate_in_the_same_arena);
        let outer = with(call_back, || arena.alloc([2_u8; 64]));
        let (outer, nested) = (outer.as_ptr().addr(), NESTED.get());
        assert_ne!(nested, 0, "the allocator called back");
        assert!(outer.abs_diff(nested) >= 64, "two live values share memory");
        assert_eq!(arena.used_bytes(), 128);
    });
}

#[test]
fn a_global_allocator_may_use_the_arenas_that_it_makes_a_worker_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(FrameArenas::default);
    thread_local! {
        static NESTED: Cell<Option<usize>> = const { Cell::new(None) };
    }
    fn allocate_in_the_same_arenas() {
        NESTED.set(Some(address(ARENAS.local())));
    }
    LazyLock::force(&ARENAS);
    // One after the other, so that each may find its place claimed by one that ended. Whether it does, and so
    // whether it allocates, depends on the numbers that the threads of other tests have; the first one does.
    let calls = (0..4).filter(|_| {
        let thread = std::thread::spawn(|| {
            let call_back = Trick::CallBack(BLOCK_ALIGN, allocate_in_the_same_arenas);
            let outer = with(call_back, || address(ARENAS.local()));
            let nested = NESTED.get();
            assert_eq!(outer, nested.unwrap_or(outer), "a thread has one arena");
            nested.is_some()
        });
        thread.join().expect("no panic")
    });
    assert_ne!(calls.count(), 0, "the allocator called back");
}

#[test]
fn a_block_at_the_border_of_two_blocks_is_not_mistaken_for_the_newest() {
    for downwards in [false, true] {
        with_neighbours(downwards, || {
            let arena = tiny();
            let mut full = arena.vec_with_capacity::<u8>(128);
            full.extend([1; 128]);
            // Another chunk, whose start is where the first one ends, or the other way round.
            let mut other = arena.vec_with_capacity::<u8>(128);
            other.clear();
            other.shrink_to_fit();
            let old_place = full.as_ptr();

            full.try_reserve(8).unwrap();
            assert_ne!(full.as_ptr(), old_place, "it grew into another chunk");
            full.extend([1; 8]);
            let neighbour = arena.alloc([3_u8; 64]);
            full.truncate(16);
            full.shrink_to_fit();
            let last = arena.alloc([4_u8; 64]);
            assert!(full.iter().all(|&byte| byte == 1));
            drop(full);
            let fresh = arena.alloc([5_u8; 64]);
            assert_eq!((*neighbour, *last, *fresh), ([3; 64], [4; 64], [5; 64]));
        });
    }
}

/// What is shared ends before the end of the block that is active, whatever block was shared in before.
#[test]
fn a_shared_value_does_not_reach_into_the_block_above() {
    with_neighbours(true, || {
        let arena = tiny();
        let share = |n: u8| {
            let shared = arena.share([n; 80]);
            assert!(arena.block_remaining_bytes() <= 192, "it ends in its block");
            // Takes another block, in which nothing was shared yet, and leaves little of it. Every second
            // value goes back to the block of the value before.
            arena.alloc([0xAA_u8; 150]);
            shared
        };
        let values: Vec<_> = (0..7).map(share).collect();
        for (n, &value) in (0..7).zip(&values) {
            assert_eq!(arena.get(value), Some(&[n; 80]));
        }
        assert_eq!(arena.held_bytes(), (4 + 7) * 256);
    });
}

#[test]
fn closures_iterators_and_formatters_may_use_the_arena() {
    struct Recursive<'a>(&'a FrameArena, u32);
    impl fmt::Display for Recursive<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("x")?;
            if self.1 > 0 {
                let inner = self
                    .0
                    .alloc_fmt(format_args!("{}", Recursive(self.0, self.1 - 1)));
                f.write_str(inner)?;
            }
            f.write_str("y")
        }
    }
    let arena = tiny();
    let text = arena.alloc_fmt(format_args!("{}", Recursive(&arena, 20)));
    assert_eq!(&*text, format!("{}{}", "x".repeat(21), "y".repeat(21)));

    let most = if cfg!(miri) { 12 } else { 50 };
    let nested = arena.alloc_slice_fill_with(most, |i| &*arena.alloc_slice_fill_copy(i, i));
    let lazy = (0..most).map(|i| &*arena.alloc_with(|| *arena.alloc_with(|| *arena.alloc(i))));
    let collected = arena.collect(lazy).leak();
    // Lists that come and go while the slices around them are being filled.
    let sums = arena.alloc_slice_fill_with(most, |outer| {
        let lengths = arena.alloc_slice_fill_with(outer, |inner| {
            arena.alloc(inner);
            let mut list = arena.vec();
            list.extend(0..inner);
            list.len()
        });
        lengths.iter().sum::<usize>()
    });
    for i in 0..most {
        assert!(nested[i].len() == i && nested[i].iter().all(|&value| value == i));
        assert_eq!((*collected[i], sums[i]), (i, (0..i).sum()));
    }
}

#[test]
fn a_destructor_may_allocate_while_its_box_is_freed() {
    struct Late<'a>(&'a FrameArena, &'a Cell<Option<&'a mut u64>>);
    impl Drop for Late<'_> {
        fn drop(&mut self) {
            self.1.set(Some(self.0.alloc(11)));
        }
    }
    let (arena, late) = (tiny(), Cell::new(None));
    drop(arena.boxed(Late(&arena, &late)));
    let after = arena.alloc(22_u64);
    assert_eq!((late.take().copied(), *after), (Some(11), 22));
}

#[test]
fn a_hard_limit_can_be_used_to_its_last_byte() {
    let arena = full_arena();
    assert!(arena.try_alloc_slice_fill_copy(129, 0_u8).is_err());
    assert_eq!(arena.alloc_slice_fill_copy(128, 7_u8), [7; 128]);
    assert!(arena.try_alloc(0_u8).is_err());
}

#[test]
fn the_pointers_of_moved_and_swapped_arenas_stay_with_their_memory() {
    let (mut a, mut b) = (FrameArena::new(256), FrameArena::new(256));
    let (in_a, in_b) = (a.share(1), b.share(2));
    std::mem::swap(&mut a, &mut b);
    assert_eq!((a.get(in_a), b.get(in_a)), (None, Some(&1)));
    assert_eq!((a.get(in_b), b.get(in_b)), (Some(&2), None));
    let moved = Box::new(b);
    a.reset();
    assert_eq!((a.get(in_b), moved.get(in_a)), (None, Some(&1)));

    let (mut x, mut y) = (FrameArenas::default(), FrameArenas::default());
    let (in_x, in_y) = (x.local().share(1), y.local().share(2));
    let (address_x, address_y) = (address(x.local()), address(y.local()));
    std::mem::swap(&mut x, &mut y);
    assert_eq!(
        (address(x.local()), address(y.local())),
        (address_y, address_x)
    );
    assert_eq!((x.get(in_x), x.get(in_y)), (None, Some(&2)));
    y.swap();
    y.swap();
    assert_eq!((y.get(in_x), x.get(in_y)), (None, Some(&2)));
}

fn full_arena() -> FrameArena {
    FrameArena::with_settings(&limit_of(128))
}
