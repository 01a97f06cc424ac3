//! Lists that a collector sorts and shares where they lie, iterators that lie about their length, and slots of a
//! pool whose values are smaller than a link or over-aligned.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::{FrameArenas, FrameCollector, Pool};

use crate::common::droppy::Droppy;
use crate::common::limits::limit_of;
use crate::common::panics::panics;
use crate::common::settings::blocks_of;

/// Over-aligned, and counts its drops.
#[repr(align(64))]
struct Element(usize, Droppy);

fn elements(count: usize, drops: &Arc<AtomicUsize>) -> impl ExactSizeIterator<Item = Element> {
    (0..count).map(move |n| Element(n * 7 % count, Droppy(drops.clone(), false)))
}

/// One batch in one piece.
fn one_piece<'a>(arenas: &'a FrameArenas, drops: &Arc<AtomicUsize>) -> FrameCollector<'a, Element> {
    drops.store(0, SeqCst);
    let collector = arenas.collector();
    drop(collector.batch_at(3));
    collector.batch().extend(elements(ELEMENTS, drops));
    drop(collector.batch());
    collector
}

const ELEMENTS: usize = if cfg!(miri) { 40 } else { 200 };

#[test]
fn an_order_that_lies_panics_or_allocates_in_place_loses_no_element() {
    let mut arenas = FrameArenas::new(blocks_of(256));
    let drops = Arc::new(AtomicUsize::new(0));
    let step = if cfg!(miri) { 37 } else { 1 };
    for kind in 0..4 {
        for last in (0..).step_by(step) {
            let (mut calls, arena) = (0, arenas.local());
            let mut grown = arena.vec();
            let compare = |a: &Element, b: &Element| {
                calls += 1;
                assert!(calls <= last, "expected");
                // It leaves blocks behind, and takes those of others.
                grown.extend([calls; 9]);
                arenas.scratch().alloc([0_u8; 300]);
                match kind {
                    0 => Ordering::Less,
                    1 => [Ordering::Less, Ordering::Greater][calls % 2],
                    2 => (a.0 * 7919 % 31).cmp(&(b.0 * 104_729 % 29)),
                    _ => a.0.cmp(&b.0),
                }
            };
            let collector = one_piece(&arenas, &drops);
            let mut shared = None;
            let panicked = panics(|| shared = Some(collector.share_sorted_by(compare)));
            assert_eq!(drops.load(SeqCst), if panicked { ELEMENTS } else { 0 });
            assert!(grown.chunks(9).zip(1..).all(|(nine, n)| nine == [n; 9]));
            drop(grown);
            if let Some(list) = shared {
                let mut numbers: Vec<_> = arenas[list].iter().map(|it| it.0).collect();
                assert!(kind < 3 || numbers.is_sorted());
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..ELEMENTS));
            }
            (0..3).for_each(|_| arenas.swap());
            assert_eq!(drops.load(SeqCst), ELEMENTS, "kind {kind}, call {last}");
            // std's sort may panic for reasons of its own.
            if calls < last {
                break;
            }
        }
    }
}

#[test]
fn elements_without_a_record_or_a_size_or_with_bombs_are_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    // The limit has room for the elements, and not for the record of their destructors.
    let mut refused = 0;
    for limit in (1024..3072).step_by(8) {
        let mut arenas = FrameArenas::new(limit_of(limit));
        drops.store(0, SeqCst);
        let collector = arenas.collector();
        let full = panics(|| collector.batch().extend(elements(16, &drops)));
        let in_place = collector.try_share_sorted_by(|a, b| b.0.cmp(&a.0));
        refused += u32::from(!full && in_place.is_err());
        if let (false, Ok(list)) = (full, in_place) {
            assert!(arenas[list].iter().map(|it| it.0).eq((0..16).rev()));
        }
        (0..3).for_each(|_| arenas.swap());
        assert_eq!(Arc::strong_count(&drops), 1, "limit {limit}");
        assert!(full || drops.load(SeqCst) == 16);
    }
    assert_ne!(refused, 0, "a record was refused");

    static NOTHINGS: AtomicUsize = AtomicUsize::new(0);
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            NOTHINGS.fetch_add(1, SeqCst);
        }
    }
    let mut arenas = FrameArenas::default();
    let collector = arenas.collector();
    collector.batch().extend((0..9).map(|_| Nothing));
    let nothings = collector.share_sorted();
    let collector = arenas.collector();
    drops.store(0, SeqCst);
    collector
        .batch()
        .extend((0..9).map(|n| Droppy(drops.clone(), n % 2 == 0)));
    let bombs = collector.share();
    assert_eq!((arenas[nothings].len(), arenas[bombs].len()), (9, 9));
    let panics = (0..3).filter(|_| panics(|| arenas.swap())).count();
    assert_eq!(
        (panics, NOTHINGS.load(SeqCst), drops.load(SeqCst)),
        (1, 9, 9)
    );
}

/// A handle keeps only the memory of the arena that made it.
#[test]
fn the_one_piece_of_another_thread_is_not_shared_in_place() {
    let mut arenas = FrameArenas::new(blocks_of(256));
    let drops = Arc::new(AtomicUsize::new(0));
    let collector = arenas.collector();
    thread::scope(|scope| {
        // It may end before or after this thread has an arena.
        scope.spawn(|| collector.batch_at(1).extend(elements(50, &drops)));
    });
    let list = collector.share_sorted_by(|a, b| a.0.cmp(&b.0));
    arenas.swap();
    // The blocks that were not kept are used by others.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| arenas.local().alloc([0xFF_u8; 5000]));
        }
    });
    assert!(arenas[list].iter().map(|it| it.0).eq(0..50));
    assert!(arenas[list].iter().all(|it| Arc::ptr_eq(&it.1.0, &drops)));
    (0..3).for_each(|_| arenas.swap());
    assert_eq!((drops.load(SeqCst), Arc::strong_count(&drops)), (50, 1));
}

/// An iterator whose size hint is exact and wrong, and which does anything before it yields an element.
struct Liar<F>(usize, usize, F);

impl<F: FnMut(usize) -> Element> Iterator for Liar<F> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        self.1 = self.1.checked_sub(1)?;
        Some((self.2)(self.1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0, Some(self.0))
    }
}

#[test]
fn an_iterator_may_lie_about_its_length_panic_and_add_to_the_same_collector() {
    let drops = Arc::new(AtomicUsize::new(0));
    for claimed in [0, 1, 3, 40, 1000, usize::MAX / 64, usize::MAX] {
        for (count, bomb) in [(0, 0), (1, 0), (40, 0), (40, 40), (40, 17), (300, 1)] {
            let mut arenas = FrameArenas::new(blocks_of(256));
            let collector = arenas.collector();
            let element = |n| Element(n, Droppy(drops.clone(), false));
            let mut batch = collector.batch();
            batch.push(element(count));
            let made = AtomicUsize::new(1);
            let liar = Liar(claimed, count, |n| {
                assert_ne!(n + 1, bomb, "expected");
                collector.push(element(n));
                collector.batch().extend([element(n)]);
                arenas.local().alloc([0xEE_u8; 100]);
                made.fetch_add(3, SeqCst);
                element(n)
            });
            assert_eq!(panics(|| batch.extend(liar)), bomb != 0 && bomb <= count);
            let list = collector.share_sorted_by(|a, b| b.0.cmp(&a.0));
            let numbers = arenas[list].iter().map(|it| it.0);
            let threefold = (0..count).rev().flat_map(|n| [n; 3]);
            let expected = [count].into_iter().chain(threefold).take(made.load(SeqCst));
            assert!(numbers.eq(expected), "{claimed}, {count}, {bomb}");
            (0..3).for_each(|_| arenas.swap());
            assert_eq!(Arc::strong_count(&drops), 1);
        }
    }
}

#[test]
fn slots_of_any_size_and_alignment_hold_a_value_or_a_link() {
    fn check<T: Copy + PartialEq>(values: [T; 3]) {
        let mut pool = Pool::new();
        let mut keys = Vec::new();
        for round in 0..60 {
            keys.extend(values.map(|value| (pool.insert(value), value)));
            let (key, value) = keys.swap_remove(round * 5 % keys.len());
            assert!(pool.remove(key) == Some(value) && pool.get(key).is_none());
            assert!(pool.iter_mut().all(|(_, it)| (&raw const *it).is_aligned()));
            assert!(keys.iter().all(|&(key, value)| pool[key] == value));
        }
        pool.retain(|key, _| key != keys[0].0);
        assert_eq!((pool.len(), pool.iter().count()), (119, 119));
    }
    #[derive(Clone, Copy, PartialEq)]
    #[repr(align(64))]
    struct Wide<T>(T);
    check([(); 3]);
    check([1_u8, 2, 3]);
    check([Wide(()); 3]);
    check([Wide(1_u8), Wide(2), Wide(3)]);
    check([[1_u16; 700], [2; 700], [3; 700]]);
}
