//! Lists that end up in memory of others.

use std::mem::MaybeUninit;

use crate::common::panics::panics;
use crate::{Drops, small};

#[test]
fn elements_are_appended_to_what_a_list_has() {
    let arenas = small();
    let full = || {
        let collector = arenas.collector();
        collector.batch().extend([5, 3]);
        collector.batch().extend([4, 9]);
        collector
    };
    let mut list = vec![7, 1];
    full().gather_into(&mut list);
    full().gather_sorted_into(&mut list, Ord::cmp);
    full().gather_sorted_into(&mut list, |a, b| b.cmp(a));
    assert_eq!(list[..2], [7, 1]);
    assert_eq!(list[6..], [3, 4, 5, 9, 9, 5, 4, 3]);
    let mut list = arenas.local().collect([7, 1]);
    full().gather_sorted_into(&mut list, Ord::cmp);
    assert_eq!(list, [7, 1, 3, 4, 5, 9]);
}

#[test]
fn a_slice_gets_as_many_elements_as_there_are() {
    let arenas = small();
    let mut slots = [MaybeUninit::new(0); 5];
    let collector = arenas.collector();
    collector.batch().extend([3, 1, 2]);
    let filled = collector.gather_sorted_into(&mut slots[1..], Ord::cmp);
    filled[0] += 10;
    assert_eq!(filled, [11, 2, 3]);
    let empty = arenas.collector::<i32>().gather_into(&mut slots[..0]);
    assert!(empty.is_empty());
}

#[test]
fn a_slice_that_is_too_short_is_refused_and_all_elements_are_dropped() {
    for sorted in [false, true] {
        let drops = Drops::default();
        let arenas = small();
        let collector = arenas.collector();
        (0..3).for_each(|n| collector.push(drops.tracked(n)));
        let mut slots = [const { MaybeUninit::uninit() }; 2];
        assert!(panics(|| {
            if sorted {
                collector.gather_sorted_into(&mut slots[..], |a, b| a.0.cmp(&b.0));
            } else {
                collector.gather_into(&mut slots[..]);
            }
        }));
        assert_eq!(drops.count(), 3);
    }
}

#[test]
fn an_order_that_panics_leaves_the_list_as_it_was() {
    let drops = Drops::default();
    let arenas = small();
    let mut list = vec![drops.tracked(0)];
    let mut slots = [const { MaybeUninit::uninit() }; 40];
    for into_slots in [false, true] {
        let collector = arenas.collector();
        (0..40).for_each(|n| collector.push(drops.tracked(n * 7 % 40)));
        let mut calls = 0;
        let compare = |a: &crate::Tracked, b: &crate::Tracked| {
            calls += 1;
            assert!(calls < 50, "expected");
            a.0.cmp(&b.0)
        };
        assert!(panics(|| {
            if into_slots {
                collector.gather_sorted_into(&mut slots[..], compare);
            } else {
                collector.gather_sorted_into(&mut list, compare);
            }
        }));
    }
    assert_eq!((list.len(), drops.count()), (1, 80));
}
