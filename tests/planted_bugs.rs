//! Bugs that are here on purpose: the controls of the memory checkers, each of which must find
//! its own.
//!
//! Nothing of this is compiled unless `--cfg planted_bug` asks for it; see `.ci/sanitizers`.
#![cfg(planted_bug)]
#![expect(unsafe_code, reason = "each test breaks a rule of the language")]

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bevy_frame_arena::{FrameArena, FrameArenas};

/// Must be found by `AddressSanitizer` and Miri.
#[test]
fn stale_read_after_a_recycle() {
    let mut arenas = FrameArenas::default();
    let stale: *const u64 = arenas.local().alloc(7_u64);
    arenas.swap();
    arenas.swap();
    // SAFETY: none. The generation was recycled.
    black_box(unsafe { stale.read() });
}

/// Must be found by `AddressSanitizer` and Miri: the block waits in the store, and nothing of it is live.
#[test]
fn stale_read_in_a_block_that_went_back_to_the_store() {
    let mut arenas = FrameArenas::default();
    let stale: *const u64 = arenas.local().alloc(7_u64);
    let _lease = arenas.lease();
    arenas.swap();
    // SAFETY: none. Nothing was shared, so the arena has given its block back.
    black_box(unsafe { stale.read() });
}

/// Must be found by `AddressSanitizer` and Miri.
#[test]
fn read_behind_an_allocation() {
    let arena = FrameArena::new(4096);
    let last: *const u64 = arena.alloc(7_u64);
    // SAFETY: none. This memory was never handed out.
    black_box(unsafe { last.wrapping_add(1).read() });
}

/// Must be found by valgrind, `AddressSanitizer` and Miri.
#[test]
fn read_after_an_arena_is_freed() {
    let arena = FrameArena::new(4096);
    let stale: *const u64 = arena.alloc(7_u64);
    drop(arena);
    // SAFETY: none. The chunk was freed.
    black_box(unsafe { stale.read() });
}

/// Must be found by valgrind's and `AddressSanitizer`'s leak checks.
#[test]
fn an_arena_is_leaked() {
    let arena = Box::new(FrameArena::new(4096));
    arena.share(String::from("a shared value"));
    black_box(Box::into_raw(arena).addr());
}

/// Must be found by `ThreadSanitizer`.
#[test]
fn two_threads_use_one_arena() {
    #[derive(Clone, Copy)]
    struct Smuggled(*const FrameArena);
    // SAFETY: none. An arena is not `Sync`.
    unsafe impl Send for Smuggled {}

    let arena = FrameArena::new(128);
    let smuggled = Smuggled(&arena);
    // Neither is over when the other begins: the end of a thread orders what comes later.
    let start = Barrier::new(2);
    // Relaxed: the second thread waits, but nothing that the first one did is ordered before.
    let turn = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..2_u64 {
            let (start, turn) = (&start, &turn);
            scope.spawn(move || {
                let smuggled = smuggled;
                start.wait();
                // SAFETY: none.
                let arena = unsafe { &*smuggled.0 };
                while turn.load(Relaxed) != thread {
                    std::thread::yield_now();
                }
                for _ in 0..100 {
                    black_box(arena.alloc(thread));
                }
                turn.store(thread + 1, Relaxed);
            });
        }
    });
}
