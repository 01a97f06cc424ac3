//! Blocks that a list leaves behind when it moves: they go back to the store while the arena is borrowed.

use std::alloc::Layout;
use std::cell::RefCell;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use allocator_api2::alloc::Allocator;
use bevy_frame_arena::{
    FrameArena, FrameArenaSettings, FrameArenas, FrameBox, FrameHandle, FrameVec, TaskArena,
};

use crate::common::droppy::Droppy;
use crate::common::settings::blocks_of;
use crate::hostile_allocator::{Trick, with};

/// The size of first blocks, which a list leaves in place.
const BLOCK_BYTES: usize = 256;

#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(256))]
struct Page(u8);

/// Something in an arena that repeats one number.
enum Thing<'a> {
    Bytes(FrameVec<'a, u8>),
    Pages(FrameVec<'a, Page>),
    Foreign(allocator_api2::vec::Vec<u16, &'a FrameArena>),
    Box(FrameBox<'a, [u8; 40]>),
    Shared(FrameHandle<[u8]>),
    /// Dropped at the recycle, from a record in the arena.
    Counted(FrameHandle<[Droppy]>),
}

impl<'a> Thing<'a> {
    fn new(arena: &'a FrameArena, kind: usize, n: u8, drops: &Arc<AtomicUsize>) -> Self {
        match kind {
            0 => Self::Bytes(arena.vec()),
            1 => Self::Pages(arena.vec()),
            2 => Self::Foreign(allocator_api2::vec::Vec::new_in(arena)),
            3 => Self::Box(arena.boxed([n; 40])),
            4 => Self::Shared(arena.share_iter((0..n).map(|_| n))),
            _ => Self::Counted(arena.share_iter((0..n % 4).map(|_| Droppy(drops.clone(), false)))),
        }
    }

    fn grow(&mut self, count: usize, n: u8) {
        match self {
            Self::Bytes(list) => list.resize(list.len() + count, n),
            Self::Pages(list) => list.resize(list.len() + count / 64, Page(n)),
            Self::Foreign(list) => list.resize(list.len() + count, n.into()),
            Self::Box(_) | Self::Shared(_) | Self::Counted(_) => {}
        }
    }

    fn check(&self, arena: &FrameArena, n: u8) {
        assert!(match self {
            Self::Bytes(list) => list.iter().all(|&it| it == n),
            Self::Pages(list) => list.iter().all(|&it| it == Page(n)),
            Self::Foreign(list) => list.iter().all(|&it| it == n.into()),
            Self::Box(value) => **value == [n; 40],
            Self::Shared(list) => arena
                .get(*list)
                .is_some_and(|it| it.iter().all(|&it| it == n)),
            Self::Counted(list) => arena.get(*list).is_some_and(|it| it.iter().all(|it| !it.1)),
        });
    }
}

/// Things that grow, move and end in several arenas by turns. Each takes the blocks that the others leave.
fn churn(arenas: &[&FrameArena], steps: usize, seed: u32, drops: &Arc<AtomicUsize>) {
    let mut things = Vec::new();
    let mut state = seed;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    for step in 0..steps {
        let (n, arena) = (step as u8, arenas[random(arenas.len())]);
        match random(16) {
            kind @ 0..6 => things.push((n, arena, Thing::new(arena, kind, n, drops))),
            6..8 if things.len() > 4 => drop(things.swap_remove(random(things.len()))),
            _ if things.is_empty() => {}
            _ => {
                let at = random(things.len());
                let (n, _, thing) = &mut things[at];
                let most = if cfg!(miri) { 300 } else { 1500 };
                thing.grow(random(most), *n);
            }
        }
        for arena in arenas {
            let (used_bytes, held_bytes) = (arena.used_bytes(), arena.held_bytes());
            assert!(used_bytes <= arena.peak_bytes().min(held_bytes), "{step}");
        }
        if step % 8 == 0 {
            things.iter().for_each(|(n, arena, it)| it.check(arena, *n));
        }
    }
    things.iter().for_each(|(n, arena, it)| it.check(arena, *n));
}

#[test]
fn a_block_that_a_list_left_has_nothing_of_its_last_arena_in_it() {
    let steps = if cfg!(miri) { 60 } else { 800 };
    for seed in 0..6 {
        // Half of the rounds come close to the budget, where blocks are freed and made all the time.
        let budget_bytes = [None, Some(8 << 20)][seed as usize % 2];
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            budget_bytes,
            ..blocks_of(BLOCK_BYTES)
        });
        let drops = Arc::new(AtomicUsize::new(0));
        let task = arenas.task_arena();
        {
            let (outer, inner) = (arenas.scratch(), arenas.scratch());
            let all = [arenas.local(), &*outer, &*inner, &*task];
            churn(&all, steps, seed, &drops);
        }
        arenas.swap();
        let usage = arenas.usage();
        assert_eq!(usage.task_bytes, task.held_bytes());
        drop(task);
        (0..3).for_each(|_| arenas.swap());
        // Only scratch holds a block that it will use again.
        let scratch = [arenas.scratch(), arenas.scratch()];
        let held_bytes = scratch.iter().map(|it| it.held_bytes()).sum();
        assert!(held_bytes <= 2 * BLOCK_BYTES);
        let usage = arenas.usage();
        assert_eq!(
            (usage.task_bytes, usage.held_bytes, usage.kept_bytes),
            (0, held_bytes, 0)
        );
        assert_eq!(Arc::strong_count(&drops), 1, "each value was dropped");
    }
}

/// After its `FrameArenas` are gone, a task's arena frees what it leaves at once.
#[test]
fn a_global_allocator_may_use_the_task_arena_that_frees_the_block_it_left() {
    thread_local! {
        static TASK: RefCell<Option<TaskArena>> = const { RefCell::new(None) };
        static SHARED: RefCell<Vec<FrameHandle<[u8]>>> = const { RefCell::new(Vec::new()) };
    }
    fn share_a_list() {
        TASK.with_borrow(|task| {
            let task = task.as_ref().expect("set below");
            SHARED.with_borrow_mut(|shared| {
                let n = shared.len() as u8;
                let mut list = task.vec();
                (0..n).for_each(|_| list.push(n));
                shared.push(list.share());
            });
        });
    }
    let arenas = FrameArenas::new(blocks_of(BLOCK_BYTES));
    TASK.set(Some(arenas.task_arena()));
    drop(arenas);
    let lens = if cfg!(miri) {
        3000..3003
    } else {
        30_000..30_009
    };
    TASK.with_borrow(|task| {
        let task = task.as_ref().expect("set above");
        for (n, len) in lens.enumerate() {
            let trick = [Trick::EachFree(share_a_list), Trick::EachCall(share_a_list)][n % 2];
            with(trick, || {
                let mut list = task.vec();
                (0..len).for_each(|n| list.push(n));
                assert!(list.iter().copied().eq(0..len));
                list.leak();
            });
            SHARED.with_borrow(|shared| assert_ne!(shared.len(), 0, "a block was freed"));
        }
        SHARED.with_borrow(|shared| {
            for (n, list) in shared.iter().enumerate() {
                let list = task.get(*list).expect("a fresh handle");
                assert!(list.len() == n && list.iter().all(|&it| usize::from(it) == n));
            }
        });
    });
    // On another thread, like the list of a task that outlives its app.
    let task = TASK.take().expect("set above");
    let other = thread::spawn(move || {
        let drops = Arc::new(AtomicUsize::new(0));
        churn(&[&task], if cfg!(miri) { 20 } else { 300 }, 9, &drops);
        drop(task);
        assert_eq!(Arc::strong_count(&drops), 1);
    });
    other.join().expect("no panic");
}

/// Zero-sized allocations may lie at the start of a block that is empty apart from them.
#[test]
fn what_has_no_size_outlives_the_block_it_seems_to_lie_in() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let empty = Layout::new::<[u64; 0]>();
    let mut arenas = FrameArenas::new(blocks_of(BLOCK_BYTES));
    {
        let arena = arenas.local();
        // The record for its destructor is in the first block.
        let dropped = arena.share(Nothing);
        // A block that is larger than those that stay, and empty again.
        drop(arena.vec_with_capacity::<u64>(100));
        let held_bytes = arena.held_bytes();
        let nothing = arena.share(());
        let none = arena.share_slice_copy::<u64>(&[]);
        let in_a_box = arena.boxed(());
        let [first, second] =
            [(); 2].map(|()| arena.allocate(empty).expect("no bytes").cast::<u8>());
        assert_eq!(first, second);
        let _large = arena.alloc([1_u64; 1000]);
        let used_bytes = arena.used_bytes();
        assert!(arena.held_bytes() > held_bytes);
        // SAFETY: the arena allocated it with this layout.
        let grown = unsafe { arena.grow(first, empty, Layout::new::<[u64; 2]>()) }.expect("room");
        let large_bytes = arena.held_bytes() - 256;
        assert!(large_bytes < 2 * 8000 + 512, "the empty block was left");
        // Whoever takes the block now.
        let scratch = arenas.scratch();
        let mut other = scratch.vec_with_capacity::<u64>(100);
        assert_eq!(other.as_ptr().addr(), first.addr().get(), "the same block");
        other.extend(0..100);
        // SAFETY: the arena allocated it with this layout.
        let moved = unsafe { arena.grow(second, empty, Layout::new::<u64>()) }.expect("room");
        // SAFETY: the memory was just taken for it.
        unsafe { moved.cast::<u64>().write(7) };
        // SAFETY: the memory was taken for this size.
        unsafe { grown.cast::<[u64; 2]>().write([8; 2]) };
        drop(in_a_box);
        assert!(other.iter().copied().eq(0..100));
        assert_eq!(arena.used_bytes(), used_bytes + 24);
        assert_eq!((arenas[nothing], &arenas[none]), ((), &[][..]));
        mem::forget(other);
        assert!(arenas.get(dropped).is_some());
    }
    assert_eq!(DROPS.load(SeqCst), 0);
    (0..3).for_each(|_| arenas.swap());
    assert_eq!(DROPS.load(SeqCst), 1);
}

#[test]
fn the_figures_are_those_of_what_a_list_holds_after_it_has_moved() {
    let limit = 96 << 10;
    let mut arena = FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(limit),
        ..blocks_of(BLOCK_BYTES)
    });
    for _ in 0..3 {
        let (mut list, mut moves) = (arena.vec::<u64>(), 0);
        let refused = loop {
            let (place, before) = (list.as_ptr(), 8 * list.capacity());
            if let Err(error) = list.try_push(list.len() as u64) {
                break error;
            }
            let bytes = 8 * list.capacity();
            assert_eq!(arena.used_bytes(), bytes);
            if place != list.as_ptr() && before > BLOCK_BYTES {
                moves += 1;
                assert_eq!(arena.peak_bytes(), before + bytes, "both at once");
                assert!(arena.held_bytes() <= BLOCK_BYTES + 64 * bytes);
            }
        };
        assert!(moves > 0 && list.iter().copied().eq(0..list.len() as u64));
        assert!(refused.to_string().contains("worker"), "{refused}");
        drop(list);
        assert_eq!(arena.used_bytes(), 0);
        assert!(arena.peak_bytes() <= limit);
        arena.reset();
        assert!(arena.held_bytes() <= BLOCK_BYTES);
    }
}
