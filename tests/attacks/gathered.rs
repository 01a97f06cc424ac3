//! Orders, keys, targets and maps that lie, panic or are in the way while a collector moves its elements.

use std::cell::Cell;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::mem::{self, MaybeUninit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, FrameCollector, Pool};

use crate::common::panics::panics;
use crate::common::settings::blocks_of;

/// Counts its drops; over-aligned, so that nothing lies where it lay by accident.
#[repr(align(32))]
struct Element(usize, Option<Arc<AtomicUsize>>);

impl Drop for Element {
    fn drop(&mut self) {
        if let Some(drops) = &self.1 {
            drops.fetch_add(1, SeqCst);
        }
    }
}

const ELEMENTS: usize = 90;

/// Several sorted batches that overlap, so that they are merged.
fn fill<'a>(arenas: &'a FrameArenas, drops: &Arc<AtomicUsize>) -> FrameCollector<'a, Element> {
    drops.store(0, SeqCst);
    let collector = arenas.collector();
    for run in 0..3 {
        let mut batch = collector.batch();
        batch.extend((0..ELEMENTS / 3).map(|n| Element(3 * n + run, Some(drops.clone()))));
    }
    collector
}

fn numbers<'a>(elements: impl IntoIterator<Item = &'a Element>) -> Vec<usize> {
    let mut numbers: Vec<_> = elements.into_iter().map(|element| element.0).collect();
    numbers.sort_unstable();
    numbers
}

/// Orders that contradict themselves.
fn lie(kind: usize, calls: usize, a: &Element, b: &Element) -> Ordering {
    match kind {
        0 => Ordering::Less,
        1 => Ordering::Greater,
        2 => [Ordering::Less, Ordering::Equal, Ordering::Greater][calls % 3],
        3 => (a.0 * 7919 % 31).cmp(&(b.0 * 104_729 % 29)),
        _ => a.0.cmp(&b.0),
    }
}

#[test]
fn an_order_that_lies_loses_no_element_and_doubles_none() {
    let mut arenas = FrameArenas::new(blocks_of(1024));
    let drops = Arc::new(AtomicUsize::new(0));
    for kind in 0..5 {
        let calls = Cell::new(0_usize);
        let compare = |a: &Element, b: &Element| {
            calls.set(calls.get() + 1);
            if calls.get().is_multiple_of(16) {
                // Scratch within scratch that is in use.
                mem::forget(arenas.scratch());
            }
            lie(kind, calls.get(), a, b)
        };
        let collector = fill(&arenas, &drops);
        // std's sort may panic if it notices.
        let mut shared = None;
        let panicked = panics(|| shared = Some(collector.share_sorted_by(compare)));
        match shared {
            Some(list) => assert!(numbers(&arenas[list]).into_iter().eq(0..ELEMENTS)),
            None => assert!(panicked && drops.load(SeqCst) == ELEMENTS),
        }
        (0..3).for_each(|_| arenas.swap());
        assert_eq!(drops.load(SeqCst), ELEMENTS, "kind {kind}");
    }
}

#[test]
fn an_order_that_panics_at_any_call_drops_each_element_once() {
    let arenas = FrameArenas::default();
    let drops = Arc::new(AtomicUsize::new(0));
    let step = if cfg!(miri) { 97 } else { 1 };
    for kind in [2, 3, 4] {
        for last in (0..).step_by(step) {
            let mut calls = 0;
            let compare = |a: &Element, b: &Element| {
                calls += 1;
                assert!(calls <= last, "expected");
                lie(kind, calls, a, b)
            };
            let collector = fill(&arenas, &drops);
            let mut list = Vec::new();
            let mut keys = 0;
            let panicked = panics(|| {
                if last % 2 == 0 {
                    _ = collector.share_sorted_by(compare);
                } else {
                    collector.gather_sorted_into(&mut list, |a, b| {
                        keys += 1;
                        assert!(keys <= last, "expected");
                        a.0.cmp(&b.0)
                    });
                }
            });
            let in_list = list.len();
            drop(list);
            if panicked {
                assert_eq!((drops.load(SeqCst), in_list), (ELEMENTS, 0));
            } else {
                assert!(last > ELEMENTS, "each element was looked at");
                break;
            }
        }
    }
}

#[test]
fn a_target_that_has_no_room_takes_nothing_and_one_with_room_takes_all() {
    let arenas = FrameArenas::default();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut slots: Vec<_> = (0..ELEMENTS + 1)
        .map(|_| MaybeUninit::<Element>::uninit())
        .collect();
    for room in [0, 1, ELEMENTS - 1] {
        let collector = fill(&arenas, &drops);
        assert!(panics(|| _ = collector.gather_into(&mut slots[..room])));
        assert_eq!(drops.load(SeqCst), ELEMENTS);
    }
    let filled = fill(&arenas, &drops).gather_into(&mut slots[1..]);
    let taken: Vec<Element> = filled
        .iter_mut()
        .map(|it| mem::replace(it, Element(0, None)))
        .collect();
    assert!(numbers(&taken).into_iter().eq(0..ELEMENTS));
    drop(taken);
    assert_eq!(drops.load(SeqCst), ELEMENTS);
    // Zero-sized elements, more than there is room for in a number.
    let collector = arenas.collector::<()>();
    collector.batch().extend([(); 1000]);
    let mut list = vec![(); usize::MAX - 10];
    assert!(panics(|| collector.gather_into(&mut list)));
}

/// An iterator whose size hint is exact and wrong, and which does anything before it yields an element.
struct Promise<F>(usize, usize, F);

impl<F: FnMut(usize) -> Element> Iterator for Promise<F> {
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
            let element = |n| Element(n, Some(drops.clone()));
            let mut batch = collector.batch();
            batch.push(element(count));
            let made = AtomicUsize::new(1);
            let liar = Promise(claimed, count, |n| {
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

/// A key whose hash and equality depend on how often they were asked for.
struct Liar(usize);

impl Liar {
    fn ask(&self) -> usize {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        ASKED.fetch_add(1, SeqCst)
    }
}

impl Hash for Liar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 + self.ask() % 3).hash(state);
    }
}

impl PartialEq for Liar {
    fn eq(&self, other: &Self) -> bool {
        self.ask().is_multiple_of(5) || self.0 == other.0
    }
}

impl Eq for Liar {}

#[test]
fn keys_that_lie_have_cells_of_some_kind_with_each_element_once() {
    let mut arenas = FrameArenas::default();
    let drops = Arc::new(AtomicUsize::new(0));
    for buckets in [1, 2, 7, 90] {
        let collector = fill(&arenas, &drops);
        let cells = collector.share_cell_map(|element| Liar(element.0 % buckets));
        let cells = &arenas[cells];
        assert!(
            numbers(cells.iter().flat_map(|(_, of_key)| of_key))
                .into_iter()
                .eq(0..ELEMENTS)
        );
        assert_eq!(
            cells.iter().map(|(_, of_key)| of_key.len()).sum::<usize>(),
            ELEMENTS
        );
        for key in 0..buckets {
            assert!(cells[&Liar(key)].len() <= ELEMENTS);
        }
        (0..3).for_each(|_| arenas.swap());
        assert_eq!(drops.load(SeqCst), ELEMENTS);
    }
}

/// Whoever lends a map's memory can make maps of their own with it.
#[test]
fn maps_in_memory_that_a_map_lent_are_whole_when_the_arena_refuses() {
    let arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(16 << 10),
        ..Default::default()
    });
    let drops = Arc::new(AtomicUsize::new(0));
    let element = |n| Element(n, Some(drops.clone()));
    let mut map = arenas.local().map();
    map.insert(0, element(0));
    let memory = map.allocator().clone();
    let mut own = hashbrown::HashMap::<usize, Element, _, _>::with_hasher_in(
        map.hasher().clone(),
        memory.clone(),
    );
    assert!(panics(
        || (0..10_000).for_each(|n| _ = own.insert(n, element(n)))
    ));
    let len = own.len();
    assert!(len > 20 && (0..len).all(|n| own[&n].0 == n));
    let refused = (*map).len() + own.len();
    assert!(panics(|| own.reserve(10_000)));
    assert!(panics(|| own.shrink_to(len)) || own.len() == len);
    assert_eq!((*map).len() + own.len(), refused);
    let before = drops.load(SeqCst);
    drop(own);
    assert_eq!(drops.load(SeqCst) - before, len);
    assert_eq!(map[&0].0, 0);
}

#[test]
fn a_pool_is_whole_after_panics_and_refuses_keys_of_the_pool_before() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = FrameArenas::default();
    let mut stale = Vec::new();
    for round in 0..3 {
        let mut pool = Pool::with_store_of(&arenas);
        for key in &stale {
            assert!(pool.get(*key).is_none() && pool.remove(*key).is_none());
        }
        let keys: Vec<_> = (0..50)
            .map(|n| pool.insert(Element(n, Some(drops.clone()))))
            .collect();
        let mut visited = 0;
        assert!(panics(|| pool.retain(|_, element| {
            visited += 1;
            assert!(visited < 30, "expected");
            element.0 % 2 == 0
        })));
        assert_eq!(pool.len(), 50 - 14);
        assert!(pool.iter().all(|(key, element)| pool[key].0 == element.0));
        stale.extend(keys);
        drop(pool);
        assert_eq!(drops.load(SeqCst), 50 * (round + 1));
        arenas.swap();
        arenas.swap();
    }
}
