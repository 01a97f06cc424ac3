//! Destructors that panic, and leases in odd places.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameLease};

use crate::common::droppy::Droppy;
use crate::common::panics::panics;

#[test]
fn a_swap_is_complete_although_a_lease_ended_in_the_middle_of_it_with_a_bomb() {
    let bombs = Arc::new(AtomicUsize::new(0));
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        trim_after_periods: Some(1),
        ..FrameArenaSettings::default()
    });
    // Frame 0 has a bomb, and a lease on it that is kept in frame 1.
    arenas.local().share(Droppy(Arc::clone(&bombs), true));
    let first = arenas.lease();
    arenas.swap();
    arenas.local().share(first);
    let second = arenas.lease();
    for _ in 0..8 {
        arenas.local().alloc([0_u8; 64]);
        arenas.swap();
    }
    assert_eq!(arenas.usage().parked, 2);
    drop(second);
    let exploded = (0..8).any(|_| {
        arenas.local().alloc([0_u8; 64]);
        panics(|| arenas.swap())
    });
    assert!(exploded);
    assert_eq!(bombs.load(SeqCst), 1);
    assert_eq!(arenas.used_bytes_so_far(), 0, "the new frame starts empty");
    let handle = arenas.local().share(7);
    assert_eq!(arenas.get(handle), Some(&7));
}

#[test]
fn bombs_in_every_generation_do_not_abort_the_process() {
    let bombs = Arc::new(AtomicUsize::new(0));
    let mut arenas = FrameArenas::default();
    let mut leases = Vec::new();
    for _ in 0..4 {
        for _ in 0..3 {
            arenas.local().share(Droppy(Arc::clone(&bombs), true));
        }
        leases.push(arenas.lease());
        arenas.swap();
    }
    arenas.local().share(Droppy(Arc::clone(&bombs), true));
    leases.drain(..2).for_each(drop);
    assert!(panics(move || drop(arenas)));
    assert!(panics(move || drop(leases)));
    assert_eq!(bombs.load(SeqCst), 13);
}

#[test]
fn bombs_of_all_workers_go_off_when_the_arenas_are_dropped() {
    const WORKERS: usize = 6;
    let bombs = Arc::new(AtomicUsize::new(0));
    let arenas = FrameArenas::default();
    let all_alive = Barrier::new(WORKERS);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                arenas.local().share(Droppy(Arc::clone(&bombs), true));
                all_alive.wait();
            });
        }
    });
    assert!(panics(move || drop(arenas)));
    assert_eq!(bombs.load(SeqCst), WORKERS);
}

#[test]
fn a_bomb_goes_off_quietly_while_the_thread_is_unwinding() {
    let bombs = Arc::new(AtomicUsize::new(0));
    let (arena, mut arenas) = (FrameArena::new(4096), FrameArenas::default());
    arena.share(Droppy(Arc::clone(&bombs), true));
    // In both generations.
    arenas.local().share(Droppy(Arc::clone(&bombs), true));
    arenas.swap();
    arenas.local().share(Droppy(Arc::clone(&bombs), true));
    let payload = catch_unwind(AssertUnwindSafe(move || {
        let _dropped_on_the_way = (arena, arenas);
        panic!("the first panic");
    }))
    .expect_err("it panicked");
    assert_eq!(
        payload.downcast_ref::<&str>().copied(),
        Some("the first panic")
    );
    assert_eq!(bombs.load(SeqCst), 3);
}

#[test]
fn the_payloads_of_all_panics_are_dropped_although_one_of_them_panics() {
    struct Explosive(Arc<AtomicUsize>);
    impl Drop for Explosive {
        fn drop(&mut self) {
            std::panic::panic_any(Droppy(Arc::clone(&self.0), true));
        }
    }
    let bombs = Arc::new(AtomicUsize::new(0));
    let mut arena = FrameArena::new(4096);
    for _ in 0..3 {
        arena.share(Explosive(Arc::clone(&bombs)));
    }
    let first = catch_unwind(AssertUnwindSafe(|| arena.reset())).expect_err("it panicked");
    assert_eq!(bombs.load(SeqCst), 2, "the payloads that nobody gets");
    assert!(panics(move || drop(first)));
    assert_eq!(bombs.load(SeqCst), 3);
}

#[test]
fn a_generation_that_leases_itself_is_kept_and_never_recycled() {
    struct Holder {
        _lease: Slot,
        dropped: Arc<AtomicBool>,
    }
    type Slot = Arc<Mutex<Option<FrameLease>>>;
    impl Drop for Holder {
        fn drop(&mut self) {
            self.dropped.store(true, SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let mut arenas = FrameArenas::default();
    let slot = Slot::new(Mutex::new(Some(arenas.lease())));
    arenas.local().share(Holder {
        _lease: Arc::clone(&slot),
        dropped: Arc::clone(&dropped),
    });
    for _ in 0..10 {
        arenas.swap();
    }
    assert_eq!(arenas.usage().parked, 1);
    drop(arenas);
    assert!(!dropped.load(SeqCst), "a cycle keeps itself alive");
    let lease = slot.lock().unwrap().take();
    drop(lease);
    assert!(dropped.load(SeqCst), "a broken one does not");
}
