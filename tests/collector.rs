//! The collector: one list out of many workers, whatever panics, leaks or lies meanwhile.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts is an unsafe impl"
)]

mod collector {
    mod model;
}
#[path = "counting/counting_allocator.rs"]
mod counting;

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::thread;

use bevy_ecs::prelude::{Component, Entity, World};
use bevy_ecs::query::With;
use bevy_frame_arena::{
    ArenaError, Batch, FrameArenaSettings, FrameArenas, FrameCollector, FrameGroup, OverflowPolicy,
};
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use static_assertions::{assert_impl_all, assert_not_impl_any};

use counting::calls_in;

// Workers add through a shared reference; what they add moves to another thread.
assert_impl_all!(FrameCollector<'static, u8>: Sync);
assert_impl_all!(FrameCollector<'static, Cell<u8>>: Sync);
assert_not_impl_any!(FrameCollector<'static, u8>: Send, Clone);
// The header and the arena behind a batch belong to its thread.
assert_not_impl_any!(Batch<'static, u8>: Send, Sync, Clone);
assert_impl_all!(FrameGroup<u8, u8>: Send, Sync, Copy);
assert_not_impl_any!(FrameGroup<Rc<u8>, u8>: Send, Sync);

const MANY: usize = if cfg!(miri) { 300 } else { 20_000 };
const THREADS: usize = if cfg!(miri) { 3 } else { 6 };

fn small() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 4096,
        ..FrameArenaSettings::default()
    })
}

fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

/// Counts how often it is dropped, and is not zero-sized.
#[derive(Debug)]
struct Tracked(usize, Arc<AtomicUsize>);

impl Drop for Tracked {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

#[derive(Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn tracked(&self, n: usize) -> Tracked {
        Tracked(n, Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

#[test]
fn a_batch_is_one_word_without_a_destructor() {
    assert_eq!(size_of::<Batch<'_, String>>(), size_of::<usize>());
    assert!(!mem::needs_drop::<Batch<'_, String>>());
}

#[test]
fn one_batch_keeps_its_order() {
    let arenas = small();
    let mut collector = arenas.collector();
    assert!(collector.is_empty());
    let mut batch = collector.batch();
    for n in 0..MANY {
        batch.push(n);
    }
    assert_eq!((collector.len(), collector.is_empty()), (MANY, false));
    assert!(collector.iter().copied().eq(0..MANY));
    let list = collector.share();
    assert!(arenas[list].iter().copied().eq(0..MANY));
}

#[test]
fn nothing_gives_an_empty_list() {
    let arenas = small();
    assert_eq!(arenas[arenas.collector::<u8>().share()], []);
    let collector = arenas.collector::<String>();
    collector.batch();
    assert_eq!(arenas[collector.share_sorted()], [""; 0]);
    let collector = arenas.collector::<u8>();
    assert!(arenas[collector.share_grouped_by_key(|_| 1, |_| ())].is_empty());
    assert!(arenas.collector::<u8>().into_vec().is_empty());
}

#[test]
fn all_that_many_threads_add_is_there_once() {
    let mut arenas = small();
    for _ in 0..if cfg!(miri) { 2 } else { 20 } {
        let collector = arenas.collector();
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let collector = &collector;
                scope.spawn(move || {
                    for part in 0..5 {
                        let mut batch = collector.batch();
                        for n in 0..100 {
                            batch.push((thread, part, n));
                            collector.push((thread, part, 100 + n));
                        }
                    }
                });
            }
        });
        let list = collector.share_sorted();
        let all = (0..THREADS).flat_map(|thread| {
            (0..5).flat_map(move |part| (0..200).map(move |n| (thread, part, n)))
        });
        assert!(arenas[list].iter().copied().eq(all));
        arenas.swap();
        assert_eq!(arenas[list].len(), THREADS * 1000);
    }
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
fn elements_that_borrow_can_be_collected_into_a_vector() {
    let arenas = small();
    let text = String::from("a b c");
    let collector = arenas.collector();
    text.split(' ').for_each(|word| collector.push(word));
    let mut words = collector.into_vec();
    words.push("d");
    assert_eq!(words[..], ["a", "b", "c", "d"]);
}

#[test]
fn zero_sized_elements_are_counted_and_dropped() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    #[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct Empty;
    impl Drop for Empty {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let mut arenas = small();
    let mut dropped = 0;
    for way in 0..5 {
        let mut collector = arenas.collector();
        for _ in 0..3 {
            let mut batch = collector.batch();
            (0..10).for_each(|_| batch.push(Empty));
            collector.push(Empty);
        }
        assert_eq!((collector.len(), collector.iter().count()), (33, 33));
        match way {
            0 => drop(collector),
            1 => assert_eq!(collector.into_vec().len(), 33),
            2 => assert_eq!(arenas[collector.share()].len(), 33),
            3 => assert_eq!(arenas[collector.share_sorted()].len(), 33),
            _ => {
                let groups = collector.share_grouped_by_key(|_| 0, |_| ());
                assert_eq!(arenas[arenas[groups][0].values].len(), 33);
            }
        }
        arenas.swap();
        arenas.swap();
        dropped += 33;
        assert_eq!(DROPS.load(SeqCst), dropped);
    }
}

#[test]
fn alignment_is_kept_for_every_element() {
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Wide(u8);
    #[repr(align(4096))]
    struct Page;
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    for n in 0..100 {
        arenas.local().alloc(1_u8);
        batch.push(Wide(n));
    }
    let list = &arenas[collector.share()];
    assert_eq!(list.as_ptr().addr() % 64, 0);
    assert!(list.iter().map(|wide| wide.0).eq(0..100));
    let pages = arenas.collector();
    pages.push(Page);
    pages.push(Page);
    let pages = &arenas[pages.share()];
    assert_eq!((pages.len(), pages.as_ptr().addr() % 4096), (2, 0));
    let large = arenas.collector();
    (0..5_u8).for_each(|n| large.push([n; 3000]));
    assert!(arenas[large.share()].iter().map(|it| it[2999]).eq(0..5));
}

#[test]
fn other_allocations_of_the_worker_lie_between_pushes_unharmed() {
    let arenas = small();
    let collector = arenas.collector();
    let mut batches = [collector.batch(), collector.batch()];
    let mut others = Vec::new();
    let mut growing = arenas.local().vec();
    for n in 0..1000 {
        batches[n % 2].push(n);
        others.push(arenas.local().alloc(n));
        growing.push(n);
        collector.push(n + 1000);
        drop(arenas.local().boxed([n; 3]));
    }
    assert!(others.into_iter().map(|n| *n).eq(0..1000));
    assert!(growing.into_iter().eq(0..1000));
    assert!(arenas[collector.share_sorted()].iter().copied().eq(0..2000));
}

#[test]
fn every_element_is_dropped_once_whatever_becomes_of_the_collector() {
    for way in 0..6 {
        let drops = Drops::default();
        let mut arenas = small();
        let mut collector = arenas.collector();
        for part in 0..3 {
            let mut batch = collector.batch();
            (0..100).for_each(|n| batch.push(drops.tracked(part * 100 + n)));
            mem::forget(batch);
        }
        assert_eq!((collector.len(), drops.count()), (300, 0));
        match way {
            0 => drop(collector),
            1 => drop(collector.into_vec()),
            2 => assert_eq!(arenas[collector.share()].len(), 300),
            3 => {
                let list = collector.share_sorted_by_key(|it| 1000 - it.0);
                assert_eq!(arenas[list][0].0, 299);
            }
            4 => {
                let groups = collector.share_grouped_by_key(|it| it.0 % 7, |it| it.0);
                assert_eq!(arenas[groups].len(), 7);
                assert_eq!(arenas[arenas[groups][1].values][2].0, 15);
            }
            _ => {
                // With the arenas.
                collector.share();
                drop(mem::take(&mut arenas));
            }
        }
        arenas.swap();
        arenas.swap();
        drop(arenas);
        assert_eq!(drops.count(), 300, "way {way}");
    }
}

#[test]
fn a_forgotten_collector_drops_nothing_and_its_memory_is_used_again() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted(usize);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(self.0, SeqCst);
        }
    }
    let mut arenas = small();
    for _ in 0..5 {
        let collector = arenas.collector();
        (0..100).for_each(|_| collector.push(Counted(1)));
        mem::forget(collector);
        arenas.swap();
    }
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!(reserved_bytes <= 2 * 8192, "{reserved_bytes}");
    drop(arenas);
    assert_eq!(DROPS.load(SeqCst), 0);
}

#[test]
fn shared_elements_outlive_the_workers_that_made_them() {
    let drops = Drops::default();
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 4096,
        trim_after_frames: Some(1),
        ..FrameArenaSettings::default()
    });
    let collector = arenas.collector();
    thread::scope(|scope| {
        let add = || (0..10).for_each(|n| collector.push(drops.tracked(n)));
        scope.spawn(add).join().unwrap();
    });
    let list = collector.share();
    let lease = arenas.lease();
    (0..6).for_each(|_| arenas.swap());
    assert_eq!((lease[list].len(), drops.count()), (10, 0));
    drop(lease);
    arenas.swap();
    assert_eq!(drops.count(), 10);
}

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
fn destructors_that_panic_do_not_keep_others_from_running() {
    struct Bomb(Tracked);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(self.0.0 % 3 != 0, "expected");
        }
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
                collector.share_sorted_by_key(|bomb| assert!(bomb.0.0 < 1, "expected"));
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
    for last_call in 0..if cfg!(miri) { 12 } else { 400 } {
        for grouped in [false, true] {
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
            let shared = catch_unwind(AssertUnwindSafe(|| {
                if grouped {
                    collector.share_grouped_by_key(key, |it| it.0);
                } else {
                    collector.share_sorted_by_key(&mut key);
                }
            }));
            assert_eq!(drops.count(), if shared.is_ok() { 0 } else { 21 });
            // Scratch that the sort used went back.
            assert_eq!(arenas.scratch().used_bytes(), 0);
            arenas.swap();
            arenas.swap();
            assert_eq!(drops.count(), 21);
        }
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
    let arenas = small();
    let collector = arenas.collector();
    thread::scope(|scope| {
        for thread in 0..4_u32 {
            let collector = &collector;
            scope.spawn(move || {
                let mut batch = collector.batch();
                (0..250).for_each(|n| batch.push(n * 4 + thread));
            });
        }
    });
    let groups = collector.share_grouped_by_key(|n| format!("{}", n % 10), |n| *n);
    let groups = &arenas[groups];
    assert!(groups.iter().map(|it| &it.key).is_sorted());
    assert_eq!(groups.len(), 10);
    for group in groups {
        let remainder: u32 = group.key.parse().unwrap();
        let expected = (0..1000).filter(|n| n % 10 == remainder);
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
    let groups = collector.share_grouped_by_key(String::len, |_| ());
    let values = arenas[groups][0].values;
    arenas.swap();
    assert_eq!(arenas[values], ["a"]);
    arenas.swap();
    assert_eq!((arenas.get(groups), arenas.get(values)), (None, None));
}

#[test]
fn several_collectors_are_pushed_to_in_turn() {
    let (a, b) = (small(), small());
    let collectors: Vec<_> = (0..20).map(|n| [&a, &b][n % 2].collector()).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 0..50 {
                    for (index, collector) in collectors.iter().enumerate() {
                        collector.push(index * 1000 + n);
                    }
                }
            });
        }
    });
    for (index, collector) in collectors.into_iter().enumerate() {
        let list = collector.share_sorted();
        let expected = (0..150).map(|n| index * 1000 + n / 3);
        assert!([&a, &b][index % 2][list].iter().copied().eq(expected));
    }
}

#[test]
fn a_collector_may_move_between_pushes() {
    let arenas = small();
    let first = arenas.collector();
    first.push(1);
    let moved = Box::new(first);
    moved.push(2);
    // Perhaps at the address of the first.
    let second = arenas.collector();
    second.push(10);
    moved.push(3);
    assert_eq!(arenas[second.share()], [10]);
    assert_eq!(arenas[moved.share()], [1, 2, 3]);
}

#[test]
fn a_limit_is_an_error_and_drops_what_can_not_be_kept() {
    let drops = Drops::default();
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 2048,
        overflow: OverflowPolicy::Fail,
        ..FrameArenaSettings::default()
    });
    let collector = arenas.collector();
    let mut batch = collector.batch();
    let mut pushed = 0;
    while batch.try_push(drops.tracked(pushed)).is_ok() {
        pushed += 1;
    }
    assert!(pushed > 100, "the last bytes are used: {pushed}");
    assert_eq!(drops.count(), 1);
    assert!(panics(|| collector.push(drops.tracked(0))));
    assert!(collector.try_push(drops.tracked(0)).is_err());
    assert!(collector.try_batch().is_err());
    assert_eq!(drops.count(), 3);
    let error = collector.try_share().unwrap_err();
    assert!(matches!(error, ArenaError::Exhausted { .. }));
    assert_eq!(drops.count(), pushed + 3);
    arenas.swap();

    for way in 0..4 {
        let drops = Drops::default();
        let collector = arenas.collector();
        let mut batch = collector.batch();
        (0..80).for_each(|n| batch.push(drops.tracked(n)));
        let failed = match way {
            0 => collector.try_share_sorted_by_key(|it| it.0).is_err(),
            1 => collector.try_into_vec().is_err(),
            2 => collector
                .try_share_grouped_by_key(|it| it.0, |_| ())
                .is_err(),
            _ => panics(|| drop(collector.into_vec())),
        };
        assert!(failed);
        assert_eq!(drops.count(), 80);
        arenas.swap();
        arenas.swap();
    }
}

#[test]
fn once_warm_nothing_comes_from_the_global_allocator() {
    let mut arenas = small();
    let frame = |arenas: &mut FrameArenas| {
        for way in 0..4 {
            let collector = arenas.collector();
            for part in 0..5_u64 {
                collector
                    .batch()
                    .extend((0..200).map(|n| n * 31 % 101 + part));
                collector.push(part);
            }
            match way {
                0 => drop(collector.into_vec()),
                1 => drop(collector.share()),
                2 => drop(collector.share_sorted()),
                _ => drop(collector.share_grouped_by_key(|n| n % 3, |n| *n)),
            }
        }
        arenas.swap();
    };
    (0..4).for_each(|_| frame(&mut arenas));
    assert_eq!(calls_in(|| (0..10).for_each(|_| frame(&mut arenas))), 0);
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

#[derive(Component)]
struct Number(usize);

fn world(entities: usize) -> World {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    let mut world = World::new();
    (0..entities).for_each(|n| drop(world.spawn(Number(n))));
    world
}

#[test]
fn a_parallel_query_gives_the_same_list_each_time() {
    let mut world = world(MANY);
    let mut arenas = small();
    let mut query = world.query::<(Entity, &Number)>();
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        let even = arenas.collector();
        let odd = arenas.collector();
        query.par_iter(&world).for_each_init(
            || even.batch(),
            |batch, (entity, number)| match number.0 % 2 {
                0 => batch.push(entity),
                _ => odd.push(number.0),
            },
        );
        let (even, odd) = (even.share_sorted(), odd.share_sorted());
        assert_eq!(arenas[even].len(), MANY / 2);
        assert!(arenas[even].is_sorted());
        assert!(arenas[odd].iter().copied().eq((0..MANY).skip(1).step_by(2)));
        arenas.swap();
    }
}

#[test]
fn a_scope_nested_on_the_same_worker_collects_too() {
    let mut world = world(if cfg!(miri) { 8 } else { 64 });
    let arenas = small();
    let mut query = world.query_filtered::<Entity, With<Number>>();
    query.update_archetypes(&world);
    let query = query.query_manual(&world);
    let outer = arenas.collector();
    // A worker that waits for the inner loop may run a part of the outer one.
    query.par_iter().for_each_init(
        || outer.batch(),
        |batch, entity| {
            let mut inner = arenas.collector();
            query.par_iter().for_each_init(
                || inner.batch(),
                |batch, entity| {
                    batch.push(entity);
                    let scratch = arenas.scratch();
                    assert_eq!(*scratch.alloc(entity), entity);
                },
            );
            batch.push((entity, inner.len()));
        },
    );
    let list = outer.share_sorted();
    let all = query.iter().count();
    assert_eq!(arenas[list].len(), all);
    assert!(arenas[list].iter().all(|(_, inner)| *inner == all));
}

#[test]
fn a_panic_in_a_parallel_query_drops_each_element_once() {
    let mut world = world(if cfg!(miri) { 40 } else { 2_000 });
    let drops = Drops::default();
    let pushed = AtomicUsize::new(0);
    let arenas = small();
    let mut query = world.query::<&Number>();
    assert!(panics(|| {
        let collector = arenas.collector();
        query.par_iter(&world).for_each_init(
            || collector.batch(),
            |batch, number| {
                assert_ne!(number.0, 33, "expected");
                pushed.fetch_add(1, SeqCst);
                batch.push(drops.tracked(number.0));
            },
        );
    }));
    assert_eq!(drops.count(), pushed.load(SeqCst));
}
