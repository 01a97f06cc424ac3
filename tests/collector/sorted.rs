//! Lists whose order does not depend on which worker was faster, and one list for each key.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::FrameGroup;

use crate::{Drops, Tracked, small};

#[test]
fn groups_are_equal_if_key_and_list_are() {
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend([3, 1, 2]);
    let groups = collector.share_grouped_by_key(|n| n % 2, |n| *n);
    let [even, odd] = arenas[groups] else {
        panic!("two groups")
    };
    assert_eq!(even, even.clone());
    assert_ne!(even, odd);
    for (key, values) in [(odd.key, even.values), (even.key, odd.values)] {
        assert_ne!(FrameGroup { key, values }, even);
    }
    assert_eq!(
        format!("{:?}", arenas.collector::<u8>().batch()),
        "Batch { .. }"
    );
    let text = format!("{odd:?}");
    assert!(
        text.starts_with("FrameGroup { key: 1, values: Frame"),
        "{text}"
    );
}

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
    let list = full().try_share_sorted_by(Ord::cmp).unwrap();
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
fn each_key_has_a_list_of_its_own() {
    let each = if cfg!(miri) { 25 } else { 250 };
    let arenas = small();
    let collector = arenas.collector();
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let collector = &collector;
            scope.spawn(move || {
                let mut batch = collector.batch();
                (0..each).for_each(|n| batch.push(n * 4 + thread));
            });
        }
    });
    let groups = collector.share_grouped_by_key(|n| format!("{}", n % 10), |n| *n);
    let groups = &arenas[groups];
    assert!(groups.iter().map(|it| &it.key).is_sorted());
    assert_eq!(groups.len(), 10);
    for group in groups {
        let remainder: u32 = group.key.parse().unwrap();
        let expected = (0..4 * each).filter(|n| n % 10 == remainder);
        assert!(arenas[group.values].iter().copied().eq(expected));
    }
    let found = groups
        .binary_search_by(|it| it.key.as_str().cmp("7"))
        .unwrap();
    assert_eq!(groups[found].key, "7");
}

#[test]
fn a_group_key_that_changes_its_mind_still_ends() {
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend(0..100);
    let mut calls = 0;
    let groups = collector.share_grouped_by_key(
        |_| {
            calls += 1;
            calls
        },
        |n| *n,
    );
    let all: usize = arenas[groups]
        .iter()
        .map(|it| arenas[it.values].len())
        .sum();
    assert_eq!(all, 100);
}

#[test]
fn groups_are_stale_with_their_frame() {
    let mut arenas = small();
    let collector = arenas.collector();
    collector.push(String::from("a"));
    let groups = collector.share_grouped_by_key(String::len, |_| 0);
    let values = arenas[groups][0].values;
    arenas.swap();
    assert_eq!(arenas[values], ["a"]);
    arenas.swap();
    assert_eq!((arenas.get(groups), arenas.get(values)), (None, None));
}
