//! What workers add comes out as one list.

use std::mem;
use std::thread;

use bevy_frame_arena::{Batch, FrameArenas};

use crate::common::counting_allocator::calls_in;
use crate::{MANY, THREADS, small};

#[test]
fn a_batch_is_one_word_without_a_destructor() {
    assert_eq!(size_of::<Batch<'_, String>>(), size_of::<usize>());
    assert!(!mem::needs_drop::<Batch<'_, String>>());
}

#[test]
fn one_batch_keeps_its_order() {
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    for n in 0..MANY {
        batch.push(n);
    }
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
    let cells = collector.share_cells(3, |_| 1);
    assert!(arenas[cells].iter().map(<[_]>::len).eq([0, 0, 0]));
    assert!(arenas[arenas.collector::<u8>().share_cells(0, |_| 1)].is_empty());
    let map = arenas.collector::<u8>().share_cell_map(|n| *n);
    assert!(arenas[map].is_empty() && arenas[map][&7].is_empty());
    let mut list = vec![7];
    arenas.collector::<u8>().gather_into(&mut list);
    assert_eq!(list, [7]);
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
fn elements_that_borrow_can_be_collected_into_a_vector() {
    let arenas = small();
    let text = String::from("a b c");
    let collector = arenas.collector();
    text.split(' ').for_each(|word| collector.push(word));
    let mut words = arenas.local().vec();
    collector.gather_into(&mut words);
    words.push("d");
    assert_eq!(words[..], ["a", "b", "c", "d"]);
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
fn several_collectors_are_pushed_to_in_turn() {
    const EACH: usize = if cfg!(miri) { 4 } else { 50 };
    let (a, b) = (small(), small());
    // More than a thread remembers.
    let collectors: Vec<_> = (0..70).map(|n| [&a, &b][n % 2].collector()).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for n in 0..EACH {
                    for (index, collector) in collectors.iter().enumerate() {
                        collector.push(index * 1000 + n);
                    }
                }
            });
        }
    });
    for (index, collector) in collectors.into_iter().enumerate() {
        let list = collector.share_sorted();
        let expected = (0..3 * EACH).map(|n| index * 1000 + n / 3);
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
fn once_warm_nothing_comes_from_the_global_allocator() {
    const EACH: u64 = if cfg!(miri) { 20 } else { 200 };
    let mut arenas = small();
    let frame = |arenas: &mut FrameArenas, list: &mut Vec<u64>| {
        for way in 0..6 {
            let collector = arenas.collector();
            for part in 0..5_u64 {
                collector
                    .batch()
                    .extend((0..EACH).map(|n| n * 31 % 101 + part));
                collector.push(part);
            }
            match way {
                0 => collector.gather_into(&mut arenas.local().vec()),
                1 => drop(collector.share()),
                2 => drop(collector.share_sorted()),
                3 => drop(collector.share_cells(3, |n| *n as usize % 3)),
                4 => drop(collector.share_cell_map_sorted_by_key(|n| n % 300, |n| *n)),
                _ => collector.gather_sorted_into(&mut *list, Ord::cmp),
            }
        }
        list.clear();
        arenas.swap();
    };
    let mut list = Vec::new();
    (0..4).for_each(|_| frame(&mut arenas, &mut list));
    let frames = if cfg!(miri) { 2 } else { 10 };
    assert_eq!(
        calls_in(|| (0..frames).for_each(|_| frame(&mut arenas, &mut list))),
        0
    );
}

#[test]
fn a_thread_that_pushes_does_so_in_its_own_arena() {
    let arenas = small();
    let collector = arenas.collector();
    for n in 0..THREADS {
        let add = || {
            collector.push(n);
            assert!(arenas.local().used_bytes() > size_of::<usize>());
        };
        thread::scope(|scope| scope.spawn(add).join()).expect("no panic");
    }
    assert!(
        arenas[collector.share_sorted()]
            .iter()
            .copied()
            .eq(0..THREADS)
    );
}
