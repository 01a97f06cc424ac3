//! Panics and re-entrancy: the arenas stay usable, and nothing uninitialised is reachable.

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bevy_frame_arena::{FrameArena, FrameArenas};

use crate::common::droppy::Droppy;
use crate::common::panics::panics;

/// An iterator whose length hint is whatever it is told to be.
struct Liar(std::ops::Range<u32>, usize, Option<usize>);

impl Iterator for Liar {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, self.2)
    }
}

impl ExactSizeIterator for Liar {
    fn len(&self) -> usize {
        self.1
    }
}

#[test]
fn closures_that_panic_leave_the_arena_usable() {
    let arena = FrameArena::new(1024);
    let kept = arena.alloc(1_u64);
    assert!(panics(|| {
        arena.alloc_with::<u64>(|| panic_any("no value"));
    }));
    assert!(panics(|| {
        arena.alloc_slice_fill_with(10, |index| {
            if index < 5 {
                index
            } else {
                panic_any("no more")
            }
        });
    }));
    assert!(panics(|| {
        arena.collect((0..10).inspect(|&n| assert!(n < 5))).leak();
    }));
    assert_eq!(*kept, 1);
    assert_eq!(arena.alloc_slice_fill_copy(3, 2), [2; 3]);
}

#[test]
fn iterators_that_panic_drop_what_they_yielded() {
    let arena = FrameArena::new(1024);
    let drops = Arc::new(AtomicUsize::new(0));
    assert!(panics(|| {
        arena.share_iter((0..10).map(|index| {
            assert!(index < 5);
            Droppy(Arc::clone(&drops), false)
        }));
    }));
    assert_eq!(drops.load(Relaxed), 5);
    drop(arena);
    assert_eq!(drops.load(Relaxed), 5);
}

#[test]
fn iterators_that_lie_about_their_length_are_believed_in_nothing() {
    let arena = FrameArena::new(64);
    for hint in [0, 1, 50, 200, 100_000] {
        for upper in [None, Some(0), Some(hint)] {
            let slice = arena.collect(Liar(0..100, hint, upper)).leak();
            assert!(slice.iter().copied().eq(0..100));
            let arenas = FrameArenas::default();
            let handle = arenas.local().share_iter(Liar(0..100, hint, upper));
            assert!(arenas[handle].iter().copied().eq(0..100));
        }
    }
    // A promise of more than there is memory is an error, not an abort.
    let error = arena.try_collect(Liar(0..100, usize::MAX, None));
    assert!(error.is_err());
}

#[test]
fn every_destructor_runs_once_when_some_of_them_panic() {
    for on_exit in [false, true] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut arenas = FrameArenas::default();
        for n in 0..10 {
            arenas.local().share(Droppy(Arc::clone(&drops), n % 3 == 0));
        }
        let mut vec = arenas.local().vec();
        vec.extend((0..10).map(|n| Droppy(Arc::clone(&drops), n % 2 == 0)));
        vec.share();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                arenas.local().share(Droppy(Arc::clone(&drops), true));
            });
        });
        let expected = if on_exit {
            assert!(panics(|| drop(arenas)));
            21
        } else {
            arenas.swap();
            assert_eq!(drops.load(Relaxed), 0);
            assert!(panics(|| arenas.swap()));
            assert_eq!(drops.load(Relaxed), 21);
            // The swap was completed, and the next frames are ordinary ones.
            assert_eq!(arenas.period(), 2);
            let handle = arenas.local().share(5);
            arenas.swap();
            assert_eq!(arenas[handle], 5);
            arenas.swap();
            21
        };
        assert_eq!(drops.load(Relaxed), expected);
    }
}

#[test]
fn both_generations_run_their_destructors_when_both_panic_on_exit() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = FrameArenas::default();
    arenas.local().share(Droppy(Arc::clone(&drops), true));
    arenas.swap();
    arenas.local().share(Droppy(Arc::clone(&drops), true));
    assert!(panics(|| drop(arenas)));
    assert_eq!(drops.load(Relaxed), 2);
}

#[test]
fn a_reset_that_panics_leaves_an_empty_arena() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arena = FrameArena::new(1024);
    let handle = arena.share(Droppy(Arc::clone(&drops), true));
    arena.share(Droppy(Arc::clone(&drops), false));
    assert!(panics(|| arena.reset()));
    assert_eq!((drops.load(Relaxed), arena.used_bytes()), (2, 0));
    assert!(arena.get(handle).is_none());
    arena.reset();
    assert_eq!(drops.load(Relaxed), 2);
}

#[test]
fn formatting_that_fails_panics_like_format() {
    struct Broken;
    impl std::fmt::Display for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    let arena = FrameArena::new(1024);
    assert!(panics(|| {
        arena.alloc_fmt(format_args!("{Broken}"));
    }));
    assert_eq!(arena.alloc_str("fine"), "fine");
}
