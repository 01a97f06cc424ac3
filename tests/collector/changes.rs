//! What has changed since the last period.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bevy_frame_arena::{Change, FrameArenas, TwoFrames, changes};

use crate::common::counting_allocator::calls_in;
use crate::common::panics::panics;
use crate::small;

fn set(arenas: &FrameArenas, frames: &mut TwoFrames<u32>, list: &[u32]) {
    frames.set(arenas.local().share_slice_copy(list));
}

/// The lists of two periods.
fn two_frames<T>(arenas: &mut FrameArenas, before: &[T], now: &[T]) -> TwoFrames<T>
where
    T: Copy + Send + Sync + 'static,
{
    let mut frames = TwoFrames::default();
    frames.set(arenas.local().share_slice_copy(before));
    arenas.swap();
    frames.set(arenas.local().share_slice_copy(now));
    frames
}

/// Returns what was added, and what was removed.
fn told(arenas: &FrameArenas, frames: &TwoFrames<u32>) -> (Vec<u32>, Vec<u32>) {
    let added = frames.changes(arenas).filter_map(Change::added);
    let removed = frames.changes(arenas).filter_map(Change::removed);
    (added.copied().collect(), removed.copied().collect())
}

#[test]
fn changes_are_the_differences_of_the_two_sets() {
    let mut random = 7_u32;
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let [before, now] = [(); 2].map(|()| {
            let numbers = (0..40).map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random >> 26
            });
            let set: BTreeSet<_> = numbers.collect();
            set.into_iter().collect::<Vec<_>>()
        });
        let added = now.iter().filter(|n| !before.contains(n));
        let removed = before.iter().filter(|n| !now.contains(n));
        assert!(changes(&before, &now).filter_map(Change::added).eq(added));
        assert!(
            changes(&before, &now)
                .filter_map(Change::removed)
                .eq(removed)
        );
    }
}

#[test]
fn an_element_counts_as_often_as_a_list_has_it() {
    let all: Vec<_> = changes(&[1, 1, 2], &[1, 2, 2, 2]).collect();
    let expected = [Change::Removed(&1), Change::Added(&2), Change::Added(&2)];
    assert_eq!(all, expected);
}

#[test]
fn a_value_that_differs_has_changed() {
    let before = [(1, 'a'), (2, 'b'), (3, 'c')];
    let now = [(2, 'x'), (3, 'c'), (4, 'd')];
    let mut arenas = small();
    let frames = two_frames(&mut arenas, &before, &now);
    let all: Vec<_> = frames.changes_by_key(&arenas, |it| it.0).collect();
    let changed = Change::Changed {
        before: &(2, 'b'),
        now: &(2, 'x'),
    };
    assert_eq!(
        all,
        [
            Change::Removed(&(1, 'a')),
            changed,
            Change::Added(&(4, 'd'))
        ]
    );
    assert_eq!((changed.added(), changed.removed()), (None, None));
}

#[test]
fn changes_are_between_this_period_and_the_last() {
    let mut arenas = small();
    let mut frames = TwoFrames::default();
    assert_eq!(told(&arenas, &frames), (vec![], vec![]));
    set(&arenas, &mut frames, &[1, 2, 3]);
    assert_eq!(told(&arenas, &frames), (vec![1, 2, 3], vec![]));
    arenas.swap();
    set(&arenas, &mut frames, &[2, 3, 4]);
    assert_eq!(told(&arenas, &frames), (vec![4], vec![1]));
    // Once more in the same period: the old list stays.
    set(&arenas, &mut frames, &[2, 3, 5]);
    assert_eq!(told(&arenas, &frames), (vec![5], vec![1]));
    assert_eq!(arenas[frames.now()], [2, 3, 5]);
}

#[test]
fn a_period_without_a_new_list_has_no_changes() {
    let mut arenas = small();
    let mut frames = TwoFrames::default();
    set(&arenas, &mut frames, &[1]);
    arenas.swap();
    set(&arenas, &mut frames, &[1, 2]);
    arenas.swap();
    // The old list is stale now, yet nothing came.
    assert_eq!(told(&arenas, &frames), (vec![], vec![]));
    assert!(!frames.has_gap(&arenas));
    set(&arenas, &mut frames, &[2]);
    assert_eq!(told(&arenas, &frames), (vec![], vec![1]));
}

#[test]
fn after_a_pause_all_is_new_and_no_stale_lookup_is_counted() {
    let mut arenas = small();
    let mut frames = TwoFrames::default();
    set(&arenas, &mut frames, &[1, 2]);
    assert!(!frames.has_gap(&arenas));
    (0..3).for_each(|_| arenas.swap());
    assert_eq!(told(&arenas, &frames), (vec![], vec![]));
    set(&arenas, &mut frames, &[2, 3]);
    assert!(frames.has_gap(&arenas));
    assert_eq!(told(&arenas, &frames), (vec![2, 3], vec![]));
    arenas.swap();
    set(&arenas, &mut frames, &[3]);
    assert!(!frames.has_gap(&arenas));
    assert_eq!(told(&arenas, &frames), (vec![], vec![2]));
    arenas.swap();
    assert_eq!(arenas.usage().stale_lookups, 0);
}

#[test]
fn nothing_is_allocated() {
    let mut arenas = small();
    let mut frames = TwoFrames::default();
    set(&arenas, &mut frames, &[1, 2, 3]);
    arenas.swap();
    set(&arenas, &mut frames, &[2, 3, 4]);
    let used_bytes = arenas.local().used_bytes();
    assert_eq!(
        calls_in(|| assert_eq!(frames.changes(&arenas).count(), 2)),
        0
    );
    assert_eq!(arenas.local().used_bytes(), used_bytes);
}

#[test]
fn an_order_that_lies_ends() {
    #[derive(PartialEq, Eq)]
    struct Liar(Ordering);
    impl Ord for Liar {
        fn cmp(&self, _: &Self) -> Ordering {
            self.0
        }
    }
    impl PartialOrd for Liar {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    let mixed = || {
        let orders = [Ordering::Less, Ordering::Greater, Ordering::Equal];
        (0..20)
            .map(move |n| Liar(orders[n * 7 % 3]))
            .collect::<Vec<_>>()
    };
    let (before, now) = (mixed(), mixed());
    let count = changes(&before, &now).count();
    assert!(count <= 40);
    // Two lists that are not sorted.
    assert_eq!(changes(&[3, 1], &[1, 3]).count(), 2);
}

#[test]
fn a_comparison_that_panics_can_be_followed_by_another_try() {
    let mut arenas = small();
    let frames = two_frames(&mut arenas, &[1, 2, 3], &[2, 3, 4]);
    let mut calls = 0;
    let mut all = frames.changes_by_key(&arenas, |n| {
        calls += 1;
        assert_ne!(calls, 3, "expected");
        *n
    });
    assert_eq!(all.next(), Some(Change::Removed(&1)));
    assert!(panics(|| assert_eq!(all.next(), None)));
    assert!(all.eq([Change::Added(&4)]));
}
