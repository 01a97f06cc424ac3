//! What becomes of values that were left in scratch, also by guards that were forgotten.

use std::cell::Cell;
use std::collections::HashSet;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};

use bevy_frame_arena::FrameArenas;

use crate::common::panics::panics;
use crate::{Tracked, address, small};

#[test]
fn a_reset_between_two_items_frees_and_drops() {
    let drops = Arc::new(AtomicUsize::new(0));
    let arenas = small();
    let mut scratch = arenas.scratch();
    for item in 0..5 {
        scratch.reset();
        assert_eq!((scratch.used_bytes(), drops.load(SeqCst)), (0, item));
        scratch.share(Tracked(Arc::clone(&drops)));
    }
    drop(scratch);
    assert_eq!(drops.load(SeqCst), 5);
}

#[test]
fn shared_values_are_dropped_once_also_when_the_scope_panics() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    assert!(panics(|| {
        let scratch = arenas.scratch();
        scratch.share(Tracked(Arc::clone(&drops)));
        panic!("expected");
    }));
    assert_eq!(drops.load(SeqCst), 1);
    assert_eq!(arenas.scratch().used_bytes(), 0);
    arenas.swap();
    drop(arenas);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_destructor_that_panics_does_not_keep_the_arena_from_going_back() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let scratch = arenas.scratch();
    let place = address(&scratch);
    scratch.share(Tracked(Arc::clone(&drops)));
    scratch.share(Bomb);
    scratch.share(Tracked(Arc::clone(&drops)));
    assert!(panics(|| drop(scratch)));
    assert_eq!(drops.load(SeqCst), 2);
    let again = arenas.scratch();
    assert_eq!((address(&again), again.used_bytes()), (place, 0));
    drop(again);
    arenas.swap();
}

#[test]
fn a_destructor_that_takes_scratch_gets_another_arena() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(small);
    thread_local! {
        static SEEN: Cell<usize> = const { Cell::new(0) };
    }
    struct TakesScratch;
    impl Drop for TakesScratch {
        fn drop(&mut self) {
            let scratch = ARENAS.scratch();
            scratch.alloc([1_u8; 64]);
            SEEN.set(address(&scratch));
        }
    }
    let scratch = ARENAS.scratch();
    let place = address(&scratch);
    scratch.share(TakesScratch);
    drop(scratch);
    assert_ne!(SEEN.get(), 0);
    assert_ne!(SEEN.get(), place);
}

#[test]
fn what_a_forgotten_guard_had_comes_back_at_the_swap() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let mut reserved = HashSet::new();
    for frame in 0..10 {
        for _ in 0..3 {
            let scratch = arenas.scratch();
            scratch.share(Tracked(Arc::clone(&drops)));
            mem::forget(scratch);
        }
        assert_eq!(drops.load(SeqCst), 3 * frame);
        arenas.swap();
        assert_eq!(drops.load(SeqCst), 3 * (frame + 1));
        reserved.insert(arenas.usage().reserved_bytes);
    }
    assert_eq!(reserved.len(), 1, "no new arenas: {reserved:?}");
}

#[test]
fn a_forgotten_guards_handles_are_stale_after_the_swap() {
    let mut arenas = small();
    let scratch = arenas.scratch();
    let handle = scratch.share(String::from("lost"));
    mem::forget(scratch);
    arenas.swap();
    assert_eq!(arenas.scratch().get(handle), None);
}

#[test]
fn what_a_forgotten_guard_had_is_dropped_with_the_arenas_also_when_some_panic() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            panic!("expected");
        }
    }
    for with_swap in [false, true] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut arenas = small();
        for _ in 0..3 {
            let scratch = arenas.scratch();
            scratch.share(Bomb(Arc::clone(&drops)));
            scratch.share(Tracked(Arc::clone(&drops)));
            mem::forget(scratch);
        }
        if with_swap {
            assert!(panics(|| arenas.swap()));
            assert_eq!(arenas.period(), 1);
        } else {
            assert!(panics(|| drop(mem::take(&mut arenas))));
        }
        assert_eq!(drops.load(SeqCst), 6);
    }
}
