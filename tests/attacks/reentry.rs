//! A global allocator that uses scratch and collectors while memory for them is made.

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;
use std::thread;

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings, FrameArenas, FrameCollector};

use crate::common::address::address;
use crate::common::settings::blocks_of;
use crate::hostile_allocator::{BLOCK_ALIGN, Trick, with};

fn tiny_arenas() -> FrameArenas {
    FrameArenas::new(blocks_of(128))
}

#[test]
fn a_global_allocator_may_push_to_the_collector_that_it_allocates_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(tiny_arenas);
    thread_local! {
        static COLLECTOR: RefCell<Option<FrameCollector<'static, usize>>> =
            const { RefCell::new(None) };
        static NESTED: Cell<usize> = const { Cell::new(0) };
    }
    const OUTER: usize = 200;
    fn push_some() {
        // More than fits in what is left of a segment, so that the nested ones take others.
        for _ in 0..40 {
            push(OUTER + NESTED.get());
            NESTED.set(NESTED.get() + 1);
        }
    }
    fn push(n: usize) {
        COLLECTOR.with_borrow(|collector| collector.as_ref().expect("it was set").push(n));
    }
    COLLECTOR.set(Some(ARENAS.collector()));
    for n in 0..OUTER {
        with(Trick::CallBack(BLOCK_ALIGN, push_some), || push(n));
    }
    let collector = COLLECTOR.take().expect("it was set");
    assert!(NESTED.get() >= 40, "the allocator called back");
    let list = collector.share_sorted();
    assert!(ARENAS[list].iter().copied().eq(0..OUTER + NESTED.get()));
}

#[test]
fn a_global_allocator_may_use_up_the_limit_of_the_arena_that_it_allocates_for() {
    thread_local! {
        static ARENA: FrameArena = FrameArena::with_settings(&FrameArenaSettings {
            worker_limit_bytes: Some(256),
            ..blocks_of(256)
        });
    }
    fn use_most_of_it() {
        ARENA.with(|arena| arena.alloc([1_u8; 150])[0] = 2);
    }
    let taken = with(Trick::CallBack(BLOCK_ALIGN, use_most_of_it), || {
        ARENA.with(|arena| arena.try_alloc([3_u8; 150]).map(|bytes| bytes[0]))
    });
    assert!(
        matches!(taken, Err(ArenaError::Exhausted { .. })),
        "{taken:?}"
    );
    ARENA.with(|arena| {
        assert_eq!(arena.used_bytes(), 152);
        assert_eq!(*arena.alloc([4_u8; 104]), [4; 104]);
    });
}

/// The store is not locked while blocks are taken from the global allocator or given back to it.
#[test]
fn a_global_allocator_may_give_blocks_back_to_the_store_that_it_allocates_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(|| {
        FrameArenas::new(FrameArenaSettings {
            budget_bytes: Some(16 << 10),
            ..blocks_of(256)
        })
    });
    fn use_scratch() {
        // Takes blocks, gives them back, and has the budget give up free ones.
        for bytes in [100, 3000, 200] {
            let _ = ARENAS.scratch().try_alloc_slice_fill_copy(bytes, 7_u8);
        }
    }
    for bytes in [100, 2000, 100, 4000, 50] {
        with(Trick::CallBack(BLOCK_ALIGN, use_scratch), || {
            let copy = ARENAS.local().try_alloc_slice_fill_copy(bytes, 1_u8);
            assert!(copy.is_ok_and(|copy| copy.iter().all(|&byte| byte == 1)));
        });
    }
}

#[test]
fn a_global_allocator_may_take_the_scratch_that_it_allocates_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(tiny_arenas);
    thread_local! {
        static NESTED: Cell<usize> = const { Cell::new(0) };
    }
    fn take_scratch() {
        let scratch = ARENAS.scratch();
        scratch.alloc([1_u8; 64]);
        NESTED.set(address(&*scratch));
    }
    // It is asked for an arena, for a chunk, and for what finds the arenas of a thread.
    for align in [BLOCK_ALIGN, align_of::<usize>()] {
        // One after the other, so that each finds its place claimed by those that ended.
        for _ in 0..4 {
            let thread = thread::spawn(move || {
                let call_back = Trick::CallBack(align, take_scratch);
                let outer = with(call_back, || ARENAS.scratch());
                let value = outer.alloc([2_u8; 64]);
                let inner = with(call_back, || ARENAS.scratch());
                let places = [address(&*outer), address(&*inner)];
                assert_ne!(places[0], places[1]);
                inner.alloc([3_u8; 64]);
                assert_eq!(*value, [2; 64]);
                drop(outer);
                assert_eq!(address(&*ARENAS.scratch()), places[0]);
            });
            thread.join().expect("no panic");
        }
    }
}

#[test]
fn a_global_allocator_may_use_the_collector_that_it_gathers_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(tiny_arenas);
    fn use_everything() {
        ARENAS.local().alloc([7_u8; 64]);
        ARENAS.scratch().alloc([7_u8; 64]);
        let collector = ARENAS.collector();
        (0..50).for_each(|n| collector.push(n));
        assert_eq!(ARENAS[collector.share_sorted()].len(), 50);
    }
    for _ in 0..4 {
        let collector = ARENAS.collector();
        (0..3).for_each(|part| collector.batch().extend((part * 100..).take(100)));
        let call_back = Trick::CallBack(BLOCK_ALIGN, use_everything);
        let list = with(call_back, || collector.share_sorted_by_key(|n| 1000 - n));
        assert!(ARENAS[list].iter().copied().eq((0..300).rev()));
    }
}

/// With the feature `sites`, each of these lines gets a row in a table that grows.
#[test]
fn a_global_allocator_may_look_up_the_arena_whose_lines_are_counted() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(tiny_arenas);
    thread_local! {
        static NESTED: Cell<usize> = const { Cell::new(0) };
    }
    fn look_up_from_other_lines() {
        NESTED.set(NESTED.get() + 1);
        let text = ARENAS.local().alloc_str("one");
        ARENAS.local().alloc_str(text);
        ARENAS.scratch().alloc_str("three");
    }
    LazyLock::force(&ARENAS);
    let call_back = || Trick::CallBack(align_of::<usize>(), look_up_from_other_lines);
    with(call_back(), || ARENAS.local().alloc(1));
    with(call_back(), || ARENAS.local().alloc(2));
    with(call_back(), || drop(ARENAS.scratch()));
    for _ in 0..3 {
        with(call_back(), || {
            ARENAS.local().alloc([3_u8; 100]);
            ARENAS.local().alloc([4_u8; 100]);
            ARENAS.local().alloc([5_u8; 100]);
            ARENAS.local().alloc([6_u8; 100]);
            ARENAS.scratch().alloc([7_u8; 100]);
        });
    }
    assert!(NESTED.get() > 0, "the allocator called back");
    assert_eq!(*ARENAS.local().alloc(8), 8);
}
