//! Elements in cells: of a grid, and of any key.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use bevy_frame_arena::{ArenaError, FrameArenaSettings, FrameArenas};
use bevy_math::{IVec2, IVec3};

use crate::common::panics::panics;
use crate::{Drops, MANY, THREADS, refusal, small};

#[test]
fn elements_of_many_threads_are_in_their_cells() {
    let arenas = small();
    let full = || {
        let collector = arenas.collector();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let collector = &collector;
                scope.spawn(move || {
                    let mut batch = collector.batch();
                    (0..100).for_each(|n| batch.push(n * THREADS + thread));
                });
            }
        });
        collector
    };
    let cells = &arenas[full().share_cells_sorted_by_key(10, |n| n % 10, |n| *n)];
    let map = &arenas[full().share_cell_map_sorted_by_key(|n| format!("{}", n % 10), |n| *n)];
    assert_eq!((cells.len(), map.len()), (10, 10));
    for cell in 0..10 {
        let expected = || (0..100 * THREADS).filter(|n| n % 10 == cell);
        assert!(cells[cell].iter().copied().eq(expected()));
        assert!(
            map[cell.to_string().as_str()]
                .iter()
                .copied()
                .eq(expected())
        );
    }
    assert_eq!(cells.elements().len(), 100 * THREADS);
    assert!(map["10"].is_empty());
}

#[test]
fn a_range_of_cells_is_one_slice() {
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend([9, 0, 5, 4, 5]);
    let cells = &arenas[collector.share_cells(10, |n| *n)];
    assert_eq!(cells.range(0..10), cells.elements());
    assert_eq!(cells.range(4..6), [4, 5, 5]);
    assert_eq!(cells.range(10..10), []);
    assert_eq!((cells.get(9), cells.get(10)), (Some(&[9][..]), None));
    assert_eq!(cells.get(usize::MAX), None);
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    for range in [0..11, 6..4, 11..11] {
        assert!(panics(|| assert_ne!(cells.range(range).len(), usize::MAX)));
    }
    let message = catch_unwind(AssertUnwindSafe(|| cells[12].len())).unwrap_err();
    assert_eq!(
        message.downcast_ref::<String>().unwrap(),
        "cell 12 of 10 cells"
    );
    assert_eq!(
        format!("{cells:?}"),
        "[[0], [], [], [], [4], [5, 5], [], [], [], [9]]"
    );
}

#[test]
fn a_neighbourhood_ends_at_the_border() {
    let arenas = small();
    let full = || {
        let collector = arenas.collector();
        collector.batch().extend(0..60_usize);
        collector
    };
    let cells = &arenas[full().share_cells(60, |n| *n)];
    for (cell, size) in
        (0..60).flat_map(|cell| [(cell, [4, 5, 3]), (cell, [60, 1, 1]), (cell, [1, 6, 10])])
    {
        let at = |n: usize| [n % size[0], n / size[0] % size[1], n / size[0] / size[1]];
        let is_near = |n: &usize| (0..3).all(|axis| at(*n)[axis].abs_diff(at(cell)[axis]) <= 1);
        assert!(
            cells
                .around(cell, size)
                .copied()
                .eq((0..60).filter(is_near)),
            "{cell} of {size:?}"
        );
    }
    assert!(cells.around(7, [10, 6]).eq(cells.around(7, [10, 6, 1])));
    assert!(cells.around(7, [60]).eq(&[6, 7, 8]));
    for (cell, size) in [
        (60, [10, 6]),
        (0, [10, 5]),
        (0, [usize::MAX, 2]),
        (0, [0, 0]),
    ] {
        assert!(panics(|| assert_ne!(
            cells.around(cell, size).count(),
            usize::MAX
        )));
    }
}

#[test]
fn keys_of_bevy_have_neighbours() {
    let arenas = small();
    let places = (-3..3).flat_map(|x| (-3..3).flat_map(move |y| (-3..3).map(move |z| (x, y, z))));
    let collector = arenas.collector();
    collector.batch().extend(places.map(IVec3::from));
    let cells = &arenas[collector.share_cell_map(|it| *it)];
    assert_eq!(cells.around(IVec3::ZERO).count(), 27);
    assert_eq!(cells.around(IVec3::new(2, 2, 2)).count(), 8);
    assert!(
        cells
            .around(IVec3::ZERO)
            .all(|it| it.abs().max_element() <= 1)
    );
    let collector = arenas.collector();
    collector
        .batch()
        .extend([IVec2::MAX, IVec2::MIN, IVec2::ZERO]);
    let cells = &arenas[collector.share_cell_map(|it| *it)];
    assert!(cells.around(IVec2::MAX).eq(&[IVec2::MAX]));
    assert!(cells.around(IVec2::MIN).eq(&[IVec2::MIN]));
}

#[test]
fn a_cell_that_there_is_not_is_refused_with_the_numbers() {
    for at in 0..5 {
        let drops = Drops::default();
        let arenas = small();
        let full = || {
            let collector = arenas.collector();
            (0..5).for_each(|n| collector.push(drops.tracked(if n == at { 99 } else { n })));
            collector
        };
        let error = refusal(|| full().share_cells(10, |it| it.0)).unwrap_err();
        let expected = ArenaError::NoSuchCell {
            cell: 99,
            cells: 10,
        };
        assert_eq!(error, expected.to_string());
        assert_eq!(full().try_share_cells(10, |it| it.0).err(), Some(expected));
        assert_eq!(
            error,
            "an element has cell 99, and there are 10 cells, numbered from 0"
        );
        assert_eq!(drops.count(), 10);
        assert!(panics(|| _ = full().share_cells(usize::MAX, |it| it.0)));
        assert!(panics(|| _ = full().share_cells(0, |_| 0)));
        assert!(panics(|| _ = full().share_cells(10, |_| usize::MAX)));
        assert_eq!(drops.count(), 25);
    }
}

#[test]
fn a_key_that_changes_between_calls_loses_nothing() {
    let drops = Drops::default();
    let mut arenas = small();
    let full = || {
        let collector = arenas.collector();
        (0..300).for_each(|n| collector.push(drops.tracked(n)));
        collector
    };
    let calls = Cell::new(0);
    let next = || {
        calls.set(calls.get() + 1);
        calls.get() * 7 % 11
    };
    let cells = full().share_cells_sorted_by_key(11, |_| next(), |it| it.0);
    assert_eq!(calls.get(), 300, "each key is computed once");
    let map = full().share_cell_map(|_| next());
    assert_eq!(calls.get(), 600, "each key is computed once");
    let in_map = arenas[map].iter().flat_map(|cell| cell.1);
    let in_cells = arenas[cells].elements().iter();
    for mut numbers in [
        in_map.map(|it| it.0).collect::<Vec<_>>(),
        in_cells.map(|it| it.0).collect(),
    ] {
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..300));
    }
    arenas.swap();
    arenas.swap();
    assert_eq!(drops.count(), 600);
}

#[test]
fn keys_that_lie_about_hash_and_equality_lose_nothing() {
    thread_local! {
        static CALLS: Cell<u64> = const { Cell::new(0) };
    }
    fn lie() -> u64 {
        CALLS.set(CALLS.get() + 1);
        CALLS.get().wrapping_mul(0x9E37_79B9) >> 3
    }
    struct Liar;
    impl Hash for Liar {
        fn hash<H: Hasher>(&self, state: &mut H) {
            lie().hash(state);
        }
    }
    impl PartialEq for Liar {
        fn eq(&self, _: &Self) -> bool {
            lie().is_multiple_of(5)
        }
    }
    impl Eq for Liar {}
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend(0..MANY);
    let cells = &arenas[collector.share_cell_map(|_| Liar)];
    let mut all: Vec<_> = cells
        .iter()
        .flat_map(|(_, values)| values)
        .copied()
        .collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..MANY));
    assert!(cells[&Liar].len() <= MANY);
}

#[test]
fn hashes_that_are_all_the_same_are_only_slow() {
    #[derive(PartialEq, Eq)]
    struct Same(usize);
    impl Hash for Same {
        fn hash<H: Hasher>(&self, _: &mut H) {}
    }
    let arenas = small();
    let collector = arenas.collector();
    collector
        .batch()
        .extend(0..if cfg!(miri) { 150 } else { 1_000 });
    let cells = &arenas[collector.share_cell_map(|n| Same(n % 300))];
    assert_eq!(cells[&Same(7)][0], 7);
    assert!(cells[&Same(300)].is_empty());
}

#[test]
fn a_comparison_that_panics_drops_each_element_and_key_once() {
    thread_local! {
        static LEFT: Cell<usize> = const { Cell::new(0) };
    }
    fn tick() {
        let left = LEFT.get();
        assert_ne!(left, 0, "expected");
        LEFT.set(left - 1);
    }
    struct Bomb(crate::Tracked);
    impl Hash for Bomb {
        fn hash<H: Hasher>(&self, state: &mut H) {
            tick();
            self.0.0.hash(state);
        }
    }
    impl PartialEq for Bomb {
        fn eq(&self, other: &Self) -> bool {
            tick();
            self.0.0 == other.0.0
        }
    }
    impl Eq for Bomb {}
    // The table grows at 2,049 keys, and asks for all hashes then.
    const ELEMENTS: usize = 4_300;
    for last_call in (0..10_000).step_by(if cfg!(miri) { 6_000 } else { 211 }) {
        let (drops, keys) = (Drops::default(), Drops::default());
        let arenas = small();
        let made_keys = Cell::new(0);
        let collector = arenas.collector();
        (0..ELEMENTS).for_each(|n| collector.push(drops.tracked(n)));
        LEFT.set(last_call);
        let shared = catch_unwind(AssertUnwindSafe(|| {
            collector.share_cell_map(|it| {
                made_keys.set(made_keys.get() + 1);
                Bomb(keys.tracked(it.0 % (ELEMENTS - 10)))
            })
        }));
        if shared.is_err() {
            assert_eq!((drops.count(), keys.count()), (ELEMENTS, made_keys.get()));
        }
        drop(arenas);
        assert_eq!((drops.count(), keys.count()), (ELEMENTS, made_keys.get()));
    }
}

#[test]
fn many_sparse_keys_agree_with_a_hash_map() {
    let arenas = small();
    let collector = arenas.collector();
    let mut expected: HashMap<u64, Vec<u64>> = HashMap::new();
    for n in 0..MANY as u64 {
        let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50;
        collector.push((key, n));
        expected.entry(key).or_default().push(n);
    }
    let cells = &arenas[collector.share_cell_map(|it| it.0)];
    assert_eq!(cells.len(), expected.len());
    for (key, values) in &expected {
        assert!(cells[key].iter().map(|it| &it.1).eq(values));
    }
    assert!((1 << 14..1 << 15).all(|key| cells[&key].is_empty()));
}

#[test]
fn cells_are_read_in_the_next_period_and_through_a_lease() {
    let mut arenas = small();
    let collector = arenas.collector();
    (0..10).for_each(|n| collector.push(n.to_string()));
    let map = collector.share_cell_map(String::len);
    let collector = arenas.collector();
    (0..10).for_each(|n| collector.push(n.to_string()));
    let cells = collector.share_cells(2, String::len);
    arenas.swap();
    assert_eq!((arenas[map][&1].len(), arenas[cells][1].len()), (10, 10));
    let (map_lease, cells_lease) = (
        arenas.lease_handle(map).unwrap(),
        arenas.lease_handle(cells).unwrap(),
    );
    (0..5).for_each(|_| arenas.swap());
    assert!(arenas.get(map).is_none() && arenas.get(cells).is_none());
    let task = thread::spawn(move || (map_lease[&1][7].clone(), cells_lease[1][9].clone()));
    assert_eq!(task.join().unwrap(), ("7".to_owned(), "9".to_owned()));
}

#[test]
fn a_collector_within_the_key_of_another_is_fine() {
    let arenas = small();
    let outer = arenas.collector();
    outer.batch().extend(0..20_usize);
    let cells = outer.share_cell_map(|n| {
        let inner = arenas.collector();
        inner.batch().extend(0..=*n);
        arenas[inner.share_cells(5, |n| n % 5)][4].len()
    });
    assert_eq!(arenas[cells][&0], [0, 1, 2, 3]);
    assert_eq!(arenas[cells][&4], [19]);
}

#[test]
fn a_key_that_there_is_not_is_not_found_however_full_the_table_is() {
    let arenas = small();
    for keys in 0..70_u32 {
        let collector = arenas.collector();
        collector.batch().extend(0..keys);
        let cells = &arenas[collector.share_cell_map(|n| *n)];
        assert!((0..keys).all(|key| cells[&key] == [key]));
        assert!((keys..200).all(|key| cells[&key].is_empty()));
    }
}

/// With more, elements of two cells would be put in one place, and another would stay uninitialised.
#[cfg(target_pointer_width = "64")]
#[test]
fn more_cells_than_a_number_of_32_bits_has_are_refused_before_memory_is_taken() {
    let arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(1 << 20),
        ..Default::default()
    });
    let collector = arenas.collector::<u32>();
    let refused = refusal(|| collector.share_cells(1 << 32, |_| 0));
    let expected = ArenaError::TooLong {
        len: 1 << 32,
        element_bytes: 4,
    };
    assert_eq!(refused, Err(expected.to_string()));
    assert_eq!(arenas.local().used_bytes(), 0);
}
