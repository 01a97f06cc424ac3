//! Lists whose order does not depend on which worker was faster.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::{Drops, Tracked, small};

#[test]
fn a_list_is_sorted_as_the_comparison_says() {
    let arenas = small();
    let full = || {
        let collector = arenas.collector();
        collector.batch().extend([2, 5, 1]);
        collector.batch().extend([4, 3]);
        collector
    };
    let list = full().share_sorted_by(|a, b| b.cmp(a));
    assert_eq!(arenas[list], [5, 4, 3, 2, 1]);
    let list = full().share_sorted();
    assert_eq!(arenas[list], [1, 2, 3, 4, 5]);
}

#[test]
fn the_order_of_batches_does_not_matter_to_the_sorted_list() {
    let arenas = small();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let collector = arenas.collector();
        for part in order {
            collector.batch().extend(part * 1000..part * 1000 + 900);
            collector.batch();
        }
        let mut calls = 0;
        let list = collector.share_sorted_by_key(|n| {
            calls += 1;
            *n
        });
        let expected = (0..3).flat_map(|part| part * 1000..part * 1000 + 900);
        assert!(arenas[list].iter().copied().eq(expected));
        assert!(calls < 3 * 2700, "sorted in one pass: {calls} calls");
    }
}

#[test]
fn batches_of_a_reversed_list_give_the_sorted_one() {
    let arenas = small();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let collector = arenas.collector();
        for part in order {
            collector
                .batch()
                .extend((part * 1000..part * 1000 + 900).rev());
        }
        let mut calls = 0;
        let list = collector.share_sorted_by_key(|n| {
            calls += 1;
            *n
        });
        let expected = (0..3).flat_map(|part| part * 1000..part * 1000 + 900);
        assert!(arenas[list].iter().copied().eq(expected));
        assert!(calls < 3 * 2700, "sorted in one pass: {calls} calls");
    }
}

#[test]
fn what_is_not_sorted_by_its_batches_is_sorted() {
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend((0..500).map(|n| n * 7 % 501));
    collector.batch().extend((0..500).rev());
    let mut expected: Vec<_> = collector_values();
    expected.sort_unstable();
    assert_eq!(arenas[collector.share_sorted_by_key(|n| *n)], expected[..]);

    fn collector_values() -> Vec<i32> {
        (0..500)
            .map(|n| n * 7 % 501)
            .chain((0..500).rev())
            .collect()
    }
}

#[test]
fn an_order_that_contradicts_itself_loses_nothing() {
    struct Liar(Tracked, Arc<AtomicUsize>);
    impl Ord for Liar {
        fn cmp(&self, _: &Self) -> Ordering {
            [Ordering::Less, Ordering::Greater, Ordering::Equal]
                [self.1.fetch_add(1, SeqCst) * 7 % 3]
        }
    }
    impl PartialOrd for Liar {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl PartialEq for Liar {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }
    impl Eq for Liar {}
    let drops = Drops::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let collector = arenas.collector();
    for part in 0..4 {
        let mut batch = collector.batch();
        (0..30).for_each(|n| batch.push(Liar(drops.tracked(part * 30 + n), Arc::clone(&calls))));
    }
    // The standard library's sort may notice, and panic.
    let list = catch_unwind(AssertUnwindSafe(|| collector.share_sorted()));
    if let Ok(list) = list {
        let all: HashSet<_> = arenas[list].iter().map(|liar| liar.0.0).collect();
        assert_eq!(all.len(), 120);
    }
    arenas.swap();
    arenas.swap();
    assert_eq!(drops.count(), 120);
}

#[test]
fn sorted_batches_that_overlap_are_merged() {
    let arenas = small();
    for (runs, is_reversed) in (2..=9).flat_map(|runs| [(runs, false), (runs, true)]) {
        let drops = Drops::default();
        let collector = arenas.collector();
        let each = if cfg!(miri) { 40 } else { 400 };
        for run in 0..runs {
            // Two batches each, of which the second continues the first.
            let mut of_run = (0..each).map(|n| drops.tracked(n * runs + run));
            collector.batch().extend(of_run.by_ref().take(each / 2));
            collector.batch().extend(of_run);
        }
        let mut calls = 0;
        let list = collector.share_sorted_by_key(|it| {
            calls += 1;
            if is_reversed { usize::MAX - it.0 } else { it.0 }
        });
        let numbers = || arenas[list].iter().map(|it| it.0);
        if is_reversed {
            assert!(numbers().eq((0..each * runs).rev()));
        } else {
            assert!(numbers().eq(0..each * runs));
        }
        if runs == 2 {
            let two_for_each_comparison = 2 * 2 * runs * each;
            assert!(
                calls < two_for_each_comparison + 100,
                "merged: {calls} calls"
            );
        }
        assert_eq!(drops.count(), 0);
    }
}

#[test]
fn batches_come_in_the_order_of_their_numbers() {
    let arenas = small();
    let full = || {
        let collector = arenas.collector();
        collector.push(100);
        let mut last = collector.batch();
        for chunk in [3, 0, 2, 1] {
            collector.batch_at(chunk * 10).extend([chunk, chunk + 20]);
            last.push(50);
        }
        collector.batch_at(5);
        collector
    };
    let expected = [0, 20, 1, 21, 2, 22, 3, 23, 50, 50, 50, 50, 100];
    assert_eq!(arenas[full().share()], expected);
    let mut list = Vec::new();
    full().gather_into(&mut list);
    assert_eq!(list, expected);
    let cells = full().share_cells(2, |n| n % 2);
    assert_eq!(arenas[cells][1], [1, 21, 3, 23]);
    let cells = full().share_cell_map(|n| n % 2);
    assert!(arenas[cells].iter().map(|cell| cell.0).eq(&[0, 1]));
    assert_eq!(arenas[cells][&1], [1, 21, 3, 23]);
    assert!(arenas[full().share_sorted()].is_sorted());
}

#[test]
fn an_order_that_contradicts_itself_across_batches_loses_nothing() {
    let arenas = small();
    for seed in 0..if cfg!(miri) { 4 } else { 200 } {
        let drops = Drops::default();
        let collector = arenas.collector();
        for part in 0..6 {
            let mut batch = collector.batch();
            (0..20).for_each(|n| batch.push(drops.tracked(part * 20 + n)));
        }
        // Each batch is sorted, so they are merged, whatever is said of elements of two.
        let mut random = seed * 7919;
        let list = collector.share_sorted_by(|a, b| {
            if a.0 / 20 == b.0 / 20 {
                return a.0.cmp(&b.0);
            }
            random = (random * 1_103_515_245 + 12_345) % (1 << 31);
            [Ordering::Less, Ordering::Greater, Ordering::Equal][(random >> 16) % 3]
        });
        let all: HashSet<_> = arenas[list].iter().map(|it| it.0).collect();
        assert_eq!(
            (all.len(), arenas[list].len(), drops.count()),
            (120, 120, 0)
        );
    }
}
