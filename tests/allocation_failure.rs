//! Every call that a scenario makes to the global allocator fails once.
#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

#[path = "common"]
mod common {
    pub(crate) mod droppy;
    pub(crate) mod settings;
}

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings, FrameArenas};
use common::droppy::Droppy;
use common::settings::blocks_of;

#[global_allocator]
static GLOBAL: Failing = Failing;

/// Fails the n-th call of a thread that asks for it.
struct Failing;

/// What the allocator does on this thread.
#[derive(Clone, Copy)]
enum Mode {
    Off,
    /// Counts calls, and fails the one with this number.
    FailAt(usize),
    /// Fails all calls.
    FailAll,
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Off) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// Blocks allocated minus blocks freed, on this thread.
    static LIVE_BLOCKS: Cell<isize> = const { Cell::new(0) };
}

impl Failing {
    fn fails(&self) -> bool {
        match MODE.get() {
            Mode::Off => false,
            Mode::FailAll => true,
            Mode::FailAt(nth) => {
                CALLS.set(CALLS.get() + 1);
                CALLS.get() == nth
            }
        }
    }
}

// SAFETY: blocks come from `System`, with the layouts that the caller gave.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.fails() {
            return std::ptr::null_mut();
        }
        LIVE_BLOCKS.set(LIVE_BLOCKS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BLOCKS.set(LIVE_BLOCKS.get() - 1);
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if self.fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: the block came from `System` with this layout.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

/// Runs `work` and has its n-th call to the allocator fail; returns whether there was one.
fn failing_at(nth: usize, work: impl FnOnce()) -> bool {
    CALLS.set(0);
    MODE.set(Mode::FailAt(nth));
    work();
    MODE.set(Mode::Off);
    CALLS.get() >= nth
}

/// Runs a scenario with each of its calls failing in turn; returns how many there were.
fn fail_each_call(mut scenario: impl FnMut(usize) -> bool) -> usize {
    let mut nth = 1;
    while scenario(nth) {
        nth += 1;
        assert!(nth < 10_000, "the scenario does not end");
    }
    nth - 1
}

fn tiny() -> FrameArenaSettings {
    blocks_of(256)
}

/// Allocates in every fallible way; returns how many failed.
fn allocate_in_all_ways(arena: &FrameArena, drops: &Droppy, made: &Cell<usize>) -> usize {
    let counted = || {
        made.set(made.get() + 1);
        drops.clone()
    };
    let mut errors = 0;
    let mut note = |failed: bool| errors += usize::from(failed);
    note(arena.try_alloc([1_u64; 16]).is_err());
    note(arena.try_alloc_with(|| [2_u64; 16]).is_err());
    note(arena.try_alloc_slice_copy(&[3_u8; 200]).is_err());
    note(arena.try_alloc_slice_fill_with(200, |i| i).is_err());
    note(arena.try_collect(0..200).is_err());
    // Without a hint of its length.
    let odd = (0..400).filter(|number| number % 2 == 1);
    note(arena.try_collect(odd).is_err());
    let page = Layout::from_size_align(9, 4096).expect("a valid layout");
    note(arena.try_alloc_layout(page).is_err());
    note(arena.try_alloc_str("twelve bytes").is_err());
    note(arena.try_boxed(counted()).is_err());
    note(arena.try_share(counted()).is_err());
    note(arena.try_share_iter((0..99).map(|_| counted())).is_err());
    let mut vec = arena.vec();
    for i in 0..200 {
        match vec.try_reserve(1) {
            Ok(()) => vec.push(i),
            Err(_) => note(true),
        }
    }
    assert!(vec.windows(2).all(|pair| pair[0] < pair[1]));
    note(vec.try_share().is_err());
    let mut text = arena.string();
    note(text.try_push_str(&TEXT[..999]).is_err());
    note(text.try_write_fmt(format_args!("{TEXT}")).is_err());
    errors
}

static TEXT: &str = match str::from_utf8(&[b'x'; 999]) {
    Ok(text) => text,
    Err(_) => panic!("ASCII is UTF-8"),
};

#[test]
fn an_arena_survives_the_failure_of_any_call() {
    let drops = Droppy(Arc::new(AtomicUsize::new(0)), false);
    let calls = fail_each_call(|nth| {
        let before = LIVE_BLOCKS.get();
        let (made, count) = (Cell::new(0), drops.0.load(SeqCst));
        let mut arena = FrameArena::with_settings(&tiny());
        let mut errors = 0;
        let failed = failing_at(nth, || errors = allocate_in_all_ways(&arena, &drops, &made));
        // A block is asked for in two sizes, so that a failure may go unnoticed.
        assert!(
            errors <= 1,
            "one failure of the allocator is at most one error"
        );

        assert_eq!(
            allocate_in_all_ways(&arena, &drops, &made),
            0,
            "usable afterwards"
        );
        assert!(arena.used_bytes() <= arena.held_bytes());
        arena.reset();
        assert_eq!(drops.0.load(SeqCst) - count, made.get(), "nothing lost");
        assert_eq!(arena.used_bytes(), 0);
        drop(arena);
        assert_eq!(LIVE_BLOCKS.get(), before, "call {nth} leaked a block");
        failed
    });
    assert!(calls > 3, "the scenario made {calls} calls");
}

#[test]
fn arenas_survive_the_failure_of_any_call_of_a_worker() {
    let drops = Droppy(Arc::new(AtomicUsize::new(0)), false);
    let calls = fail_each_call(|nth| {
        let before = LIVE_BLOCKS.get();
        let (made, count) = (Cell::new(0), drops.0.load(SeqCst));
        let mut arenas = FrameArenas::new(tiny());
        // A thread's place in a generation is made by infallible means, like a thread itself.
        arenas.local();
        let mut failed = failing_at(nth, || {
            allocate_in_all_ways(arenas.local(), &drops, &made);
        });
        let lease = arenas.lease();
        arenas.swap();
        arenas.local();
        failed |= failing_at(nth, || {
            allocate_in_all_ways(arenas.local(), &drops, &made);
        });
        let handle = arenas.local().share(nth);
        arenas.swap();
        assert_eq!(arenas.get(handle), Some(&nth));
        assert_eq!(arenas.usage().parked, 1);
        drop(lease);
        drop(arenas);
        assert_eq!(drops.0.load(SeqCst) - count, made.get(), "nothing lost");
        assert_eq!(LIVE_BLOCKS.get(), before, "call {nth} leaked a block");
        failed
    });
    assert!(calls > 3, "the scenario made {calls} calls");
}

#[test]
fn an_error_changes_nothing() {
    let arena = FrameArena::with_settings(&tiny());
    arena.alloc([0_u8; 184]);
    let figures = |arena: &FrameArena| {
        (
            arena.used_bytes(),
            arena.held_bytes(),
            arena.block_remaining_bytes(),
        )
    };
    let before = figures(&arena);
    MODE.set(Mode::FailAll);
    let results = [
        arena.try_alloc([0_u8; 100]).map(drop),
        arena.try_alloc_slice_copy(&[0_u8; 100]).map(drop),
        arena
            .try_alloc_layout(Layout::new::<[u64; 100]>())
            .map(drop),
        arena.try_boxed([0_u8; 100]).map(drop),
        arena.try_share([0_u8; 100]).map(drop),
    ];
    MODE.set(Mode::Off);
    for result in results {
        assert!(
            matches!(result, Err(ArenaError::AllocationFailed { .. })),
            "{result:?}"
        );
    }
    assert_eq!(figures(&arena), before);
    assert_eq!(
        FrameArena::try_new(64).map(|arena| arena.held_bytes()),
        Ok(128)
    );
}

#[test]
fn an_arena_that_the_allocator_has_no_memory_for_is_an_error() {
    let before = LIVE_BLOCKS.get();
    // The first call is for the account of its blocks. A block is asked for twice.
    for mode in [Mode::FailAt(1), Mode::FailAll] {
        CALLS.set(0);
        MODE.set(mode);
        let arena = FrameArena::try_new(4096);
        MODE.set(Mode::Off);
        assert!(matches!(arena, Err(ArenaError::AllocationFailed { .. })));
    }
    let calls = fail_each_call(|nth| {
        let failed = failing_at(nth, || drop(FrameArena::try_new(4096)));
        assert_eq!(LIVE_BLOCKS.get(), before, "call {nth} leaked a block");
        failed
    });
    assert!(calls > 1, "the account, and the first block");
}

#[test]
fn a_failure_gives_the_budget_back() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: 1024,
        budget_bytes: Some(1024),
        ..FrameArenaSettings::default()
    });
    for _ in 0..10 {
        MODE.set(Mode::FailAll);
        let failed = arena.try_alloc(0_u8).is_err();
        MODE.set(Mode::Off);
        assert!(failed);
    }
    assert_eq!(
        arena
            .try_alloc_slice_fill_copy(1024 - 64, 7_u8)
            .map(|slice| slice.len()),
        Ok(1024 - 64)
    );
}

#[test]
fn the_panicking_twins_panic_and_nothing_is_half_made() {
    let drops = Droppy(Arc::new(AtomicUsize::new(0)), false);
    type Attempt = fn(&FrameArena, Droppy);
    let attempts: [Attempt; 5] = [
        |arena, _| arena.alloc([0_u64; 99])[0] = 1,
        |arena, _| arena.alloc_slice_fill_with(999, |i| i)[0] = 1,
        |arena, _| arena.alloc_slice_copy(&[0_u8; 300])[0] = 1,
        |arena, counted| drop(arena.boxed((counted, [0_u8; 300]))),
        |arena, counted| {
            arena.share((counted, [0_u8; 300]));
        },
    ];
    for attempt in attempts {
        let counted = drops.clone();
        // Panicking allocates, so the limit is a budget and not a failing allocator.
        let arena = FrameArena::with_settings(&FrameArenaSettings {
            block_bytes: 128,
            budget_bytes: Some(128),
            ..FrameArenaSettings::default()
        });
        let result = catch_unwind(AssertUnwindSafe(|| attempt(&arena, counted)));
        assert!(result.is_err());
        assert_eq!(*arena.alloc(5), 5);
    }
    assert_eq!(drops.0.load(SeqCst), 5, "each value was dropped once");
}
