//! Each element is dropped once, whatever becomes of the collector.

use std::hash::{Hash, Hasher};
use std::mem::{self, MaybeUninit};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas};

use crate::common::panics::panics;
use crate::{Drops, Tracked, refusal, small};

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
    for way in 0..7 {
        let collector = arenas.collector();
        for _ in 0..3 {
            let mut batch = collector.batch();
            (0..10).for_each(|_| batch.push(Empty));
            collector.push(Empty);
        }
        match way {
            0 => drop(collector),
            1 => {
                let mut list = arenas.local().vec();
                collector.gather_into(&mut list);
                assert_eq!(list.len(), 33);
            }
            2 => assert_eq!(arenas[collector.share()].len(), 33),
            3 => assert_eq!(arenas[collector.share_sorted()].len(), 33),
            4 => assert_eq!(arenas[collector.share_cells(2, |_| 1)][1].len(), 33),
            5 => assert_eq!(arenas[collector.share_cell_map(|_| "key")]["key"].len(), 33),
            _ => {
                let mut list = vec![Empty];
                collector.gather_sorted_into(&mut list, Ord::cmp);
                assert_eq!(list.len(), 34);
                dropped += 1;
            }
        }
        arenas.swap();
        arenas.swap();
        dropped += 33;
        assert_eq!(DROPS.load(SeqCst), dropped);
    }
}

/// Drops what the collector put into a slot.
#[expect(unsafe_code, reason = "takes a value out of a slot")]
pub(crate) fn drop_filled<T>(slot: MaybeUninit<T>) {
    // SAFETY: the caller passes slots that were filled.
    drop(unsafe { slot.assume_init() });
}

#[test]
fn every_element_is_dropped_once_whatever_becomes_of_the_collector() {
    for way in 0..9 {
        let drops = Drops::default();
        let mut arenas = small();
        let collector = arenas.collector();
        for part in 0..3 {
            let mut batch = collector.batch();
            (0..100).for_each(|n| batch.push(drops.tracked(part * 100 + n)));
        }
        assert_eq!(drops.count(), 0);
        match way {
            0 => drop(collector),
            1 => collector.gather_into(&mut arenas.local().vec()),
            2 => assert_eq!(arenas[collector.share()].len(), 300),
            3 => {
                let list = collector.share_sorted_by_key(|it| 1000 - it.0);
                assert_eq!(arenas[list][0].0, 299);
            }
            4 => {
                let cells = collector.share_cells_sorted_by_key(7, |it| it.0 % 7, |it| it.0);
                assert_eq!((arenas[cells].len(), arenas[cells][1][2].0), (7, 15));
            }
            5 => {
                let cells = collector.share_cell_map_sorted_by_key(|it| it.0 % 7, |it| it.0);
                assert_eq!((arenas[cells].len(), arenas[cells][&1][2].0), (7, 15));
            }
            6 => {
                let mut list = Vec::new();
                collector.gather_into(&mut list);
                assert_eq!((list.len(), drops.count()), (300, 0));
            }
            7 => {
                let mut slots: Vec<_> = (0..301).map(|_| MaybeUninit::uninit()).collect();
                let list = collector.gather_sorted_into(&mut slots[..], |a, b| a.0.cmp(&b.0));
                assert_eq!((list.len(), list[299].0), (300, 299));
                // The slots are the caller's to drop.
                let len = list.len();
                slots.drain(..len).for_each(drop_filled);
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
        block_bytes: 4096,
        trim_after_periods: Some(1),
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
fn a_limit_is_a_panic_and_drops_what_can_not_be_kept() {
    let drops = Drops::default();
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(2048),
        ..FrameArenaSettings::default()
    });
    let collector = arenas.collector();
    let mut batch = collector.batch();
    let mut pushed = 0;
    while !panics(|| batch.push(drops.tracked(pushed))) {
        pushed += 1;
    }
    assert!(pushed > 100, "the last bytes are used: {pushed}");
    assert_eq!(drops.count(), 1);
    assert!(panics(|| collector.push(drops.tracked(0))));
    assert!(panics(|| _ = collector.batch()));
    assert_eq!(drops.count(), 2);
    let error = refusal(|| collector.share()).unwrap_err();
    assert!(error.contains("worker_limit_bytes"), "{error}");
    assert_eq!(drops.count(), pushed + 2);
    arenas.swap();

    for way in 0..6 {
        let drops = Drops::default();
        let collector = arenas.collector();
        let mut batch = collector.batch();
        (0..80).for_each(|n| batch.push(drops.tracked(n)));
        assert!(panics(|| match way {
            0 => _ = collector.share_sorted_by(|a, b| a.0.cmp(&b.0)),
            1 => _ = collector.share(),
            2 => _ = collector.share_cells(80, |it| it.0),
            3 => _ = collector.share_cell_map(|it| it.0),
            4 => collector.gather_into(&mut arenas.local().vec()),
            _ => _ = collector.share_sorted_by_key(|it| it.0),
        }));
        assert_eq!(drops.count(), 80);
        arenas.swap();
        arenas.swap();
    }
}

#[test]
fn a_refusal_at_any_point_drops_each_element_and_key_once() {
    /// Equal for elements whose numbers have the same remainder; with a destructor.
    struct Key(Tracked);
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.0.hash(state);
        }
    }
    impl PartialEq for Key {
        fn eq(&self, other: &Self) -> bool {
            self.0.0 == other.0.0
        }
    }
    impl Eq for Key {}
    const WAYS: usize = 5;
    let (mut refusals, mut grants) = ([0; WAYS], [0; WAYS]);
    let step = if cfg!(miri) { 2048 } else { 64 };
    for limit in (1024..12 << 10).step_by(step) {
        for (is_budget, way) in (0..WAYS).flat_map(|way| [(false, way), (true, way)]) {
            let (drops, keys) = (Drops::default(), Drops::default());
            let made_keys = AtomicUsize::new(0);
            let arenas = FrameArenas::new(FrameArenaSettings {
                block_bytes: 256,
                worker_limit_bytes: (!is_budget).then_some(limit),
                budget_bytes: is_budget.then_some(2 * limit),
                ..FrameArenaSettings::default()
            });
            let collector = arenas.collector();
            let mut made = 0;
            for _ in 0..4 {
                let Ok(mut batch) = refusal(|| collector.batch()) else {
                    continue;
                };
                for n in 0..25 {
                    made += 1;
                    let _refused = refusal(|| batch.push(drops.tracked(n)));
                }
            }
            let key = |it: &Tracked| {
                made_keys.fetch_add(1, SeqCst);
                Key(keys.tracked(it.0 % 20))
            };
            let compare = |a: &Tracked, b: &Tracked| a.0.cmp(&b.0);
            let mut list = arenas.local().vec();
            let len = match way {
                0 => refusal(|| arenas[collector.share()].len()).ok(),
                // The batches overlap, so they are merged.
                1 => refusal(|| arenas[collector.share_sorted_by(compare)].len()).ok(),
                2 => {
                    let shared = refusal(|| collector.share_cells(25, |it| it.0));
                    shared.map(|cells| arenas[cells].elements().len()).ok()
                }
                3 => refusal(|| collector.share_cell_map(key)).ok().map(|cells| {
                    let lens = arenas[cells].iter().map(|(_, values)| values.len());
                    assert!(arenas[cells].len() <= 20);
                    lens.sum()
                }),
                _ => {
                    let is_refused = panics(|| collector.gather_sorted_into(&mut list, compare));
                    assert!(!is_refused || list.is_empty());
                    (!is_refused).then_some(list.len())
                }
            };
            match len {
                Some(len) => {
                    assert_eq!(len + drops.count(), made);
                    grants[way] += 1;
                }
                None => {
                    assert_eq!(drops.count(), made);
                    refusals[way] += 1;
                }
            }
            drop(list);
            drop(arenas);
            assert_eq!(
                (drops.count(), keys.count()),
                (made, made_keys.load(SeqCst))
            );
        }
    }
    let is_tried = refusals.iter().chain(&grants).all(|count| *count > 0);
    assert!(is_tried, "{refusals:?} and {grants:?}");
}
