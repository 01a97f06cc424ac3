//! Scopes of an arena: what they free, what stays, and what no longer resolves.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas};

use crate::common::address::address;
use crate::common::droppy::Droppy;
use crate::common::panics::panics;

/// Chunks of 128 bytes: every second allocation of a test changes the chunk.
fn tiny() -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: 128,
        ..Default::default()
    })
}

#[test]
fn a_scope_frees_what_came_after_its_start_and_nothing_else() {
    let mut arena = FrameArena::new(4096);
    let kept = arena.share([1_u8; 100]);
    let used_bytes = arena.used_bytes();
    let inner = arena.scope(|scope| address(scope.alloc([2_u8; 100])));
    assert_eq!(arena.used_bytes(), used_bytes);
    assert_eq!(arena.get(kept), Some(&[1; 100]));
    // The next allocation is where the scope's was.
    assert_eq!(address(arena.alloc([3_u8; 100])), inner);
    assert_eq!(arena.get(kept), Some(&[1; 100]));
}

#[test]
fn a_handle_of_a_scope_is_stale_when_it_ends() {
    let mut arena = FrameArena::new(4096);
    let inner = arena.scope(|scope| {
        let inner = scope.share_str("inner");
        assert_eq!(scope.get(inner), Some("inner"));
        inner
    });
    assert_eq!(arena.get(inner), None);
    arena.alloc([0_u8; 100]);
    assert_eq!(arena.get(inner), None);
}

#[test]
fn a_handle_of_one_scope_is_stale_in_the_next_which_has_the_same_memory() {
    let mut arena = FrameArena::new(4096);
    let mut old = Vec::new();
    for n in 0..10 {
        arena.scope(|scope| {
            let new = scope.share(n);
            assert!(old.iter().all(|&handle| scope.get(handle).is_none()));
            assert!(
                old.iter()
                    .all(|&handle| FrameArena::get(&scope, handle).is_none())
            );
            assert_eq!(scope.get(new), Some(&n));
            old.push(new);
        });
    }
    arena.reset();
    let after = arena.share(10);
    assert!(old.iter().all(|&handle| arena.get(handle).is_none()));
    assert_eq!(arena.get(after), Some(&10));
}

#[test]
fn no_stamp_of_a_scope_is_that_of_a_period_or_another_arena() {
    let mut arenas = [tiny(), tiny()];
    let mut old: Vec<bevy_frame_arena::FrameHandle<i32>> = Vec::new();
    for round in 0..50 {
        for arena in &mut arenas {
            if round % 3 == 0 {
                arena.reset();
            }
            let handle = arena.scope(|scope| scope.share(round));
            assert!(!old.contains(&handle));
            old.push(handle);
            old.retain(|&handle| arena.get(handle).is_none());
        }
    }
    assert_eq!(old.len(), 100);
}

#[test]
fn inner_scopes_read_what_outer_ones_shared_and_not_the_reverse() {
    let mut arena = tiny();
    let first = arena.share(1);
    arena.scope(|mut outer| {
        let second = outer.share(2);
        let third = outer.scope(|mut inner| {
            let third = inner.share(3);
            inner.scope(|innermost| {
                assert_eq!(innermost.get(first), Some(&1));
                assert_eq!(innermost.get(second), Some(&2));
                assert_eq!(innermost.get(third), Some(&3));
            });
            third
        });
        assert_eq!((outer.get(first), outer.get(second)), (Some(&1), Some(&2)));
        assert_eq!(outer.get(third), None);
        outer.scope(|next| assert_eq!(next.get(third), None));
    });
    assert_eq!(arena.get(first), Some(&1));
}

#[test]
fn handles_of_another_arena_do_not_resolve_in_a_scope() {
    let mut arena = tiny();
    let mut other = tiny();
    let foreign = other.share(1);
    other.scope(|foreign_scope| {
        let in_foreign_scope = foreign_scope.share(2);
        arena.scope(|scope| {
            assert_eq!(
                (scope.get(foreign), scope.get(in_foreign_scope)),
                (None, None)
            );
        });
    });
}

#[test]
fn chunks_entered_in_a_scope_are_left_again() {
    let mut arena = tiny();
    let kept: Vec<_> = (0..5).map(|n| arena.share([n; 80])).collect();
    let used_bytes = arena.used_bytes();
    for _ in 0..3 {
        arena.scope(|mut scope| {
            scope.alloc([7_u8; 1000]);
            let inner = scope.used_bytes();
            scope.scope(|inner| {
                inner.alloc([8_u8; 3000]);
            });
            assert_eq!(scope.used_bytes(), inner);
            scope.alloc([9_u8; 100]);
        });
        assert_eq!(arena.used_bytes(), used_bytes);
    }
    let capacity_bytes = arena.held_bytes();
    arena.scope(|scope| {
        scope.alloc([7_u8; 1000]);
    });
    // The chunks were kept, and used again.
    assert_eq!(arena.held_bytes(), capacity_bytes);
    for (&handle, n) in kept.iter().zip(0..) {
        assert_eq!(arena.get(handle), Some(&[n; 80]));
    }
}

#[test]
fn a_scope_may_make_the_first_chunk() {
    let mut arena = tiny();
    arena.scope(|scope| {
        scope.alloc([1_u8; 100]);
        scope.alloc([1_u8; 100]);
    });
    assert_eq!(arena.used_bytes(), 0);
    let handle = arena.share([2_u8; 100]);
    assert_eq!(arena.get(handle), Some(&[2; 100]));
    assert_eq!(arena.used_bytes(), 104);
    // And one that allocates nothing changes nothing.
    tiny().scope(|_| ());
}

#[test]
fn peaks_of_scopes_are_counted() {
    let mut arena = tiny();
    arena.alloc([0_u8; 64]);
    arena.scope(|scope| {
        scope.alloc([0_u8; 1024]);
    });
    assert_eq!((arena.used_bytes(), arena.peak_bytes()), (64, 64 + 1024));
    arena.reset();
    assert_eq!(arena.peak_bytes(), 0);
    assert_eq!(arena.high_watermark_bytes(), 64 + 1024);
}

#[test]
fn what_a_scope_shared_is_dropped_at_its_end_the_newest_first() {
    struct Logged(u32, Arc<Mutex<Vec<u32>>>);
    impl Drop for Logged {
        fn drop(&mut self) {
            self.1.lock().expect("no panics").push(self.0);
        }
    }
    let log = Arc::new(Mutex::new(Vec::new()));
    let value = |n| Logged(n, Arc::clone(&log));
    let take = || std::mem::take(&mut *log.lock().expect("no panics"));
    let mut arena = tiny();
    let kept = arena.share(value(1));
    arena.scope(|mut outer| {
        outer.share(value(2));
        outer.scope(|inner| {
            inner.share(value(3));
            inner.share(value(4));
        });
        assert_eq!(take(), [4, 3]);
        outer.share(value(5));
    });
    assert_eq!(take(), [5, 2]);
    assert_eq!(arena.get(kept).map(|kept| kept.0), Some(1));
    arena.share(value(6));
    arena.reset();
    assert_eq!(take(), [6, 1]);
}

#[test]
fn a_scope_that_panics_is_rewound_first() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arena = tiny();
    let kept = arena.share([1_u8; 100]);
    let used_bytes = arena.used_bytes();
    let mut told = None;
    assert!(panics(|| {
        arena.scope(|mut scope| {
            scope.share(Droppy(Arc::clone(&drops), false));
            scope.scope(|inner| {
                told = Some(inner.share([2_u8; 1000]));
                inner.share(Droppy(Arc::clone(&drops), true));
                panic!("in the middle");
            });
        });
    }));
    assert_eq!(drops.load(SeqCst), 2);
    assert_eq!(arena.used_bytes(), used_bytes);
    assert_eq!(told.and_then(|told| arena.get(told)), None);
    assert_eq!(arena.get(kept), Some(&[1; 100]));
}

#[test]
fn a_destructor_that_panics_at_the_end_keeps_none_from_running() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arena = tiny();
    let kept = arena.share(Droppy(Arc::clone(&drops), false));
    let used_bytes = arena.used_bytes();
    assert!(panics(|| {
        arena.scope(|scope| {
            for n in 0..5 {
                scope.share(Droppy(Arc::clone(&drops), n % 2 == 0));
            }
        });
    }));
    assert_eq!((drops.load(SeqCst), arena.used_bytes()), (5, used_bytes));
    assert!(arena.get(kept).is_some());
    drop(arena);
    assert_eq!(drops.load(SeqCst), 6);
}

#[test]
#[expect(
    clippy::forget_non_drop,
    reason = "an attack that is expected to do nothing"
)]
fn containers_that_are_forgotten_in_a_scope_harm_nobody() {
    let mut arena = tiny();
    let kept = arena.share(1);
    arena.scope(|scope| {
        let mut list = scope.vec();
        list.extend(0..100);
        std::mem::forget(list);
        std::mem::forget(scope.boxed([0_u8; 100]));
        std::mem::forget(scope);
    });
    arena.alloc([0xFF_u8; 1000]);
    assert_eq!(arena.get(kept), Some(&1));
}

#[test]
fn scratch_has_scopes() {
    let arenas = FrameArenas::default();
    let mut scratch = arenas.scratch();
    let kept = scratch.share(1);
    let inner = scratch.scope(|scope| {
        assert_eq!(scope.get(kept), Some(&1));
        scope.share(2)
    });
    assert_eq!((scratch.get(kept), scratch.get(inner)), (Some(&1), None));
    assert_eq!(arenas.get(inner), None);
}

#[test]
fn stamps_do_not_run_out_with_their_block() {
    let mut arena = tiny();
    let first = arena.scope(|scope| scope.share(0));
    // More than the stamps that an arena takes at a time.
    for _ in 0..if cfg!(miri) { 10 } else { 70_000 } {
        arena.scope(|scope| assert_eq!(scope.get(first), None));
    }
}
