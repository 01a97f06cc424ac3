//! Elements whose number is known beforehand lie in one piece, and are shared where they are.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas};

use crate::common::panics::panics;
use crate::{Drops, Tracked, refusal, small};

/// Numbers, with a size hint that may be wrong.
struct Hinted {
    numbers: Range<usize>,
    hint: (usize, Option<usize>),
}

impl Iterator for Hinted {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.numbers.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.hint
    }
}

#[test]
fn a_list_in_one_piece_is_shared_where_it_is() {
    let arenas = small();
    for is_sorted in [false, true] {
        let collector = arenas.collector();
        collector.batch().extend((0..900_usize).rev());
        let used_bytes = arenas.local().used_bytes();
        let list = if is_sorted {
            collector.share_sorted()
        } else {
            collector.share()
        };
        assert_eq!(arenas.local().used_bytes(), used_bytes);
        assert_eq!(arenas[list][0], if is_sorted { 0 } else { 899 });
    }
}

#[test]
fn a_list_of_another_worker_is_not_shared_in_its_arena() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        fill_recycled: true,
        ..FrameArenaSettings::default()
    });
    let collector = arenas.collector();
    let add = || collector.batch().extend(0..900_usize);
    thread::scope(|scope| scope.spawn(add).join()).expect("no panic");
    let list = collector.share_sorted();
    // The other worker shared nothing, so its memory is free from here on.
    arenas.swap();
    assert!(arenas[list].iter().copied().eq(0..900));
}

#[test]
fn pieces_in_several_arenas_or_batches_all_come_out() {
    for is_own_first in [false, true] {
        let arenas = small();
        let collector = arenas.collector();
        let other = || collector.batch().extend(0..50_usize);
        let own = || collector.batch().extend(50..100);
        if is_own_first {
            own();
        }
        thread::scope(|scope| scope.spawn(other).join()).expect("no panic");
        if !is_own_first {
            own();
        }
        assert!(arenas[collector.share_sorted()].iter().copied().eq(0..100));
    }
}

#[test]
fn single_elements_and_known_numbers_take_turns() {
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    let mut next = 0;
    for count in [0, 1, 31, 5, 700, 0, 3, 4000, 1] {
        batch.push(next);
        batch.extend(next + 1..next + 1 + count);
        batch.extend(&mut (0..0));
        next += count + 1;
        let slice: Vec<_> = (next..next + count).collect();
        batch.extend_from_slice(&slice);
        next += count;
    }
    assert!(arenas[collector.share()].iter().copied().eq(0..next));
}

#[test]
fn a_slice_is_added_as_far_as_there_is_memory() {
    for limit in (1024..4096).step_by(64) {
        let arenas = FrameArenas::new(FrameArenaSettings {
            block_bytes: 1024,
            worker_limit_bytes: Some(limit),
            ..FrameArenaSettings::default()
        });
        let collector = arenas.collector();
        let mut batch = collector.batch();
        let others = arenas.local().alloc([7; 8]);
        let is_refused = panics(|| batch.extend_from_slice(&(0..200_u64).collect::<Vec<_>>()));
        assert_eq!(*others, [7; 8]);
        let mut list = Vec::new();
        collector.gather_into(&mut list);
        assert!(list.iter().copied().eq(0..list.len() as u64));
        assert_eq!(list.len() < 200, is_refused);
    }
    let arenas = small();
    let collector = arenas.collector();
    collector.batch().extend_from_slice(&[(); 7]);
    collector.batch().extend_from_slice(&[]);
    assert_eq!(arenas[collector.share()].len(), 7);
    let collector = arenas.collector::<u8>();
    collector.batch().extend_from_slice(&[]);
    assert!(arenas[collector.share()].is_empty());
}

#[test]
fn a_size_hint_that_lies_loses_nothing_that_it_promised() {
    let (few, many) = ((7, Some(7)), (300, Some(300)));
    let huge = (usize::MAX, Some(usize::MAX));
    for (hint, len) in [
        // As many as promised, or fewer.
        (few, 7),
        (many, 300),
        (many, 0),
        (many, 299),
        (huge, 200),
        ((usize::MAX / 8, Some(usize::MAX / 8)), 200),
        // Only a part is promised.
        ((7, None), 300),
        ((7, Some(3)), 300),
        ((300, Some(301)), 5),
        (huge, 300),
        ((usize::MAX, None), 300),
    ] {
        let arenas = small();
        let collector = arenas.collector();
        let mut batch = collector.batch();
        batch.push(1000);
        let numbers = 0..len;
        batch.extend(Hinted { numbers, hint });
        batch.push(1001);
        let expected = [1000].into_iter().chain(0..len).chain([1001]);
        assert!(arenas[collector.share()].iter().copied().eq(expected));
    }
    // More than promised.
    let arenas = small();
    let collector = arenas.collector();
    let mut batch = collector.batch();
    let others = arenas.local().alloc([7; 8]);
    let numbers = 0..300;
    batch.extend(Hinted { numbers, hint: few });
    assert_eq!(*others, [7; 8]);
    assert!(arenas[collector.share()].iter().copied().eq(0..300));
}

#[test]
fn an_iterator_that_has_ended_is_not_asked_again() {
    /// Yields two elements at a time, and goes on after its end.
    struct Blinking<T>(usize, Option<usize>, T);
    impl<T: Copy> Iterator for Blinking<T> {
        type Item = T;

        fn next(&mut self) -> Option<T> {
            self.0 += 1;
            (!self.0.is_multiple_of(3) && self.0 < 100).then_some(self.2)
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.1.unwrap_or_default(), self.1)
        }
    }
    fn blink<T: Copy + Send + Sync + 'static>(element: T) {
        let arenas = small();
        for hint in [None, Some(0), Some(1), Some(2), Some(4)] {
            let collector = arenas.collector();
            let mut batch = collector.batch();
            for _ in 0..40 {
                batch.extend(Blinking(0, hint, element));
            }
            assert_eq!(arenas[collector.share()].len(), 80, "{hint:?}");
        }
    }
    blink(7_u64);
    blink(());
}

#[test]
fn an_order_that_panics_or_lies_in_place_drops_each_element_once() {
    for last_call in (0..600).step_by(if cfg!(miri) { 97 } else { 3 }) {
        let drops = Drops::default();
        let mut arenas = small();
        let collector = arenas.collector();
        let numbers = (0..60).map(|n| drops.tracked(n * 37 % 61));
        collector.batch().extend(numbers);
        let mut calls = 0;
        let shared = catch_unwind(AssertUnwindSafe(|| {
            collector.share_sorted_by(|a, b| {
                calls += 1;
                assert!(calls <= last_call, "expected");
                // Contradicts itself now and then.
                (a.0 * calls % 7).cmp(&(b.0 % 7))
            })
        }));
        assert_eq!(drops.count(), if shared.is_ok() { 0 } else { 60 });
        if let Ok(list) = shared {
            let mut numbers: Vec<_> = arenas[list].iter().map(|it| it.0).collect();
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq((0..61).filter(|n| *n != 24)));
        }
        arenas.swap();
        arenas.swap();
        assert_eq!(drops.count(), 60);
    }
}

#[test]
fn a_refusal_in_place_drops_each_element_once() {
    let (mut refusals, mut grants) = (0, 0);
    for limit in (256..1600).step_by(8) {
        let drops = Drops::default();
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            block_bytes: 4096,
            worker_limit_bytes: Some(limit),
            ..FrameArenaSettings::default()
        });
        let collector = arenas.collector();
        let mut made = 0;
        let numbers = (0..20).map(|n| {
            made += 1;
            drops.tracked(n)
        });
        let is_refused = panics(|| collector.batch().extend(numbers));
        let kept = made - drops.count();
        assert!(is_refused || kept == 20);
        let compare = |a: &Tracked, b: &Tracked| b.0.cmp(&a.0);
        match refusal(|| collector.share_sorted_by(compare)) {
            Ok(list) => {
                grants += 1;
                assert_eq!(arenas[list].len(), kept);
            }
            Err(_) => {
                refusals += 1;
                assert_eq!(drops.count(), made);
            }
        }
        arenas.swap();
        arenas.swap();
        assert_eq!(drops.count(), made);
    }
    assert!(refusals > 0 && grants > 0, "{refusals} and {grants}");
}

#[test]
fn zero_sized_elements_are_shared_in_place() {
    thread_local! {
        static DROPS: Cell<usize> = const { Cell::new(0) };
    }
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Empty;
    impl Drop for Empty {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    let mut arenas = small();
    let collector = arenas.collector();
    collector.batch().extend((0..50).map(|_| Empty));
    assert_eq!(arenas[collector.share_sorted()].len(), 50);
    arenas.swap();
    assert_eq!(DROPS.get(), 0);
    arenas.swap();
    assert_eq!(DROPS.get(), 50);
}

#[test]
fn slices_of_zero_sized_elements_are_added_whatever_their_alignment() {
    #[derive(Clone, Copy)]
    #[repr(align(4096))]
    struct Empty;
    fn add<T: Copy + Send + Sync + 'static>(element: T) {
        let arenas = small();
        let collector = arenas.collector();
        let mut batch = collector.batch();
        for count in 0..5 {
            batch.extend_from_slice(&vec![element; count]);
            batch.push(element);
        }
        assert_eq!(arenas[collector.share()].len(), 15);
    }
    add(());
    add([0_u64; 0]);
    add(Empty);
}

#[test]
fn a_smaller_segment_in_place_of_a_refused_one_is_no_refusal() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(4096),
        ..FrameArenaSettings::default()
    });
    let collector = arenas.collector();
    let mut batch = collector.batch();
    let numbers = 0..300;
    let hint = (1 << 40, Some(1 << 40));
    batch.extend(Hinted { numbers, hint });
    drop(collector);
    arenas.swap();
    assert_eq!(arenas.usage().refusals, 0);
    let collector = arenas.collector();
    assert!(panics(|| collector.batch().extend(0..10_000_usize)));
    drop(collector);
    arenas.swap();
    assert_eq!(arenas.usage().refusals, 1);
}
