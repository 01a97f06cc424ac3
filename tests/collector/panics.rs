//! Closures, iterators and destructors that panic meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::thread;

use bevy_frame_arena::{FrameArenas, FrameCollector};

use crate::common::panics::panics;
use crate::{Drops, THREADS, Tracked, small};

#[test]
fn what_was_pushed_before_a_panic_is_dropped_with_the_collector() {
    let drops = Drops::default();
    let arenas = small();
    assert!(panics(|| {
        let collector = arenas.collector();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (collector, drops) = (&collector, &drops);
                scope.spawn(move || {
                    let mut batch = collector.batch();
                    (0..50).for_each(|n| batch.push(drops.tracked(n)));
                    assert_ne!(thread, 1, "expected");
                });
            }
        });
    }));
    assert_eq!(drops.count(), THREADS * 50);
}

#[test]
fn an_iterator_that_panics_leaves_what_it_yielded() {
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    assert!(panics(
        || batch.extend((0..100).inspect(|n| assert!(*n < 60, "expected")))
    ));
    batch.push(60);
    assert!(arenas[collector.share()].iter().copied().eq(0..=60));
}

#[test]
fn an_iterator_may_push_to_the_collector_that_it_fills() {
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    batch.extend((0..200).inspect(|&n| {
        collector.push(1000 + n);
        collector.batch().extend([2000 + n]);
        collector.batch_at(n).push(3000 + n);
    }));
    let list = &arenas[collector.share_sorted()];
    let expected = (0..4).flat_map(|way| (0..200).map(move |n| way * 1000 + n));
    assert!(list.iter().copied().eq(expected));
}

#[test]
fn a_comparison_may_use_a_collector_of_its_own() {
    let arenas = small();
    let collector = arenas.collector();
    for part in 0..3 {
        collector.batch().extend((0..40).map(|n| n * 3 + part));
    }
    let list = collector.share_sorted_by(|a, b| {
        let inner = arenas.collector();
        inner.batch().extend([*b, *a]);
        let inner = &arenas[inner.share_sorted()];
        (*a == inner[1]).cmp(&(*b == inner[1]))
    });
    assert_eq!(arenas[list].len(), 120);
    assert!(arenas[list].is_sorted());
}

#[test]
fn destructors_that_panic_do_not_keep_others_from_running() {
    struct Bomb(Tracked);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0.0.is_multiple_of(3), "expected");
        }
    }
    if cfg!(miri) {
        // A panic within a panic prints a backtrace, whatever the settings. Miri would interpret that.
        std::panic::set_hook(Box::new(|_| ()));
    }
    for sorted in [None, Some(false), Some(true)] {
        let drops = Drops::default();
        let arenas = small();
        let collector = arenas.collector();
        for _ in 0..2 {
            let mut batch = collector.batch();
            (0..90).for_each(|n| batch.push(Bomb(drops.tracked(n))));
        }
        let panicked = match sorted {
            None => panics(|| drop(collector)),
            Some(false) => panics(|| {
                collector.share_sorted_by_key(|bomb| {
                    assert!(bomb.0.0 < 1, "expected");
                    bomb.0.0
                });
            }),
            Some(true) => panics(|| {
                let mut calls = 0;
                collector.share_sorted_by_key(|bomb| {
                    calls += 1;
                    assert!(calls < 300, "expected");
                    bomb.0.0
                });
            }),
        };
        assert!(panicked);
        assert_eq!(drops.count(), 180, "{sorted:?}");
    }
}

#[test]
fn a_key_that_panics_at_any_call_drops_each_element_once() {
    for last_call in (0..400).step_by(if cfg!(miri) { 37 } else { 1 }) {
        for way in 0..7 {
            let drops = Drops::default();
            let mut arenas = small();
            let collector = arenas.collector();
            for part in 0..3 {
                let mut batch = collector.batch();
                (0..7).for_each(|n| batch.push(drops.tracked((part * 5 + n * 11) % 13)));
            }
            let mut calls = 0;
            let mut key = |it: &Tracked| {
                calls += 1;
                assert!(calls <= last_call, "expected");
                it.0
            };
            let mut list = Vec::new();
            let shared = catch_unwind(AssertUnwindSafe(|| match way {
                0 => drop(collector.share_sorted_by_key(&mut key)),
                1 => drop(collector.share_cells_sorted_by_key(13, |it| it.0, &mut key)),
                2 => drop(collector.share_cells(13, &mut key)),
                3 => drop(collector.share_cell_map(&mut key)),
                4 => collector.gather_sorted_into(&mut list, |a, b| key(a).cmp(&key(b))),
                5 => drop(collector.share_cell_map_sorted_by_key(|it| it.0, &mut key)),
                _ => drop(collector.share_sorted_by(|a, b| key(b).cmp(&key(a)))),
            }));
            assert_eq!(drops.count(), if shared.is_ok() { 0 } else { 21 });
            assert_eq!(list.len(), if shared.is_ok() && way == 4 { 21 } else { 0 });
            drop(list);
            // Scratch that the sort used went back.
            assert_eq!(arenas.scratch().used_bytes(), 0);
            arenas.swap();
            arenas.swap();
            assert_eq!(drops.count(), 21);
        }
    }
}

#[test]
fn destructors_may_push_also_while_unwinding() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(small);
    let collector = ARENAS.collector();
    struct Pushes<'c>(&'c FrameCollector<'static, usize>);
    impl Drop for Pushes<'_> {
        fn drop(&mut self) {
            self.0.push(1);
            self.0.batch().push(2);
        }
    }
    drop(Pushes(&collector));
    assert!(panics(|| {
        let _pushes = Pushes(&collector);
        panic!("expected");
    }));
    assert_eq!(ARENAS[collector.share_sorted()], [1, 1, 2, 2]);
}
