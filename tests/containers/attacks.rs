//! What safe code can do to the containers: everything here was undefined behaviour somewhere.

use std::cell::Cell;
use std::mem;
use std::ops::{Bound, Range, RangeBounds};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::{CollectIn, FrameArena, FrameBox, FrameVec};

use crate::elements::{
    Aligned, AlignedNothing, Element, Nothing, Tracked, arm_clone, arm_drop, live,
};

/// A range that says something else each time it is asked.
pub(crate) struct Fickle {
    answers: [Range<usize>; 4],
    asked: [Cell<usize>; 2],
}

impl Fickle {
    /// It is `first` at first; then both ends move up.
    pub(crate) fn new(first: Range<usize>, step: usize) -> Self {
        let moved = |by: usize| first.start.wrapping_add(by)..first.end.wrapping_add(by);
        Self {
            answers: [0, 1, 2, 3].map(|n| moved(step.wrapping_mul(n))),
            asked: [Cell::new(0), Cell::new(0)],
        }
    }

    fn answer(&self, end: usize) -> &Range<usize> {
        let asked = self.asked[end].replace(self.asked[end].get() + 1);
        &self.answers[asked % self.answers.len()]
    }
}

impl RangeBounds<usize> for Fickle {
    fn start_bound(&self) -> Bound<&usize> {
        Bound::Included(&self.answer(0).start)
    }

    fn end_bound(&self) -> Bound<&usize> {
        Bound::Excluded(&self.answer(1).end)
    }
}

#[test]
fn a_range_that_changes_its_mind_is_asked_once() {
    for step in [1, 4, 1 << 40, usize::MAX] {
        let arena = FrameArena::new(4096);
        let before = live();
        let mut list = arena.collect([Tracked::make(1)]);
        let _neighbour = arena.collect((2..6).map(Tracked::make));
        assert_eq!(list.drain(Fickle::new(0..0, step)).count(), 0);
        assert_eq!(list.len(), 1);
        assert_eq!(list.drain(Fickle::new(0..1, step)).count(), 1);
        drop(list);
        drop(_neighbour);
        assert_eq!(live(), before);
    }
}

#[test]
fn ranges_out_of_bounds_are_refused() {
    use Bound::{Excluded, Included, Unbounded};
    let arena = FrameArena::new(4096);
    let mut list = arena.collect([1, 2, 3]);
    let max = usize::MAX;
    let ranges = [
        (Included(0), Excluded(4)),
        (Included(3), Included(3)),
        (Included(2), Excluded(1)),
        (Excluded(max), Unbounded),
        (Excluded(2), Excluded(2)),
        (Unbounded, Included(max)),
        (Included(max), Included(max)),
        (Included(4), Unbounded),
    ];
    for range in ranges {
        let mut refused = |call: &mut dyn FnMut(&mut FrameVec<i32>)| {
            catch_unwind(AssertUnwindSafe(|| call(&mut list))).unwrap_err();
        };
        refused(&mut |list| drop(list.drain(range)));
    }
    for index in [3, 4, max] {
        catch_unwind(AssertUnwindSafe(|| list.remove(index))).unwrap_err();
        catch_unwind(AssertUnwindSafe(|| list.swap_remove(index))).unwrap_err();
    }
    for index in [4, max] {
        catch_unwind(AssertUnwindSafe(|| list.insert(index, 7))).unwrap_err();
    }
    assert_eq!(list, [1, 2, 3]);
    assert_eq!(list.drain((Excluded(0), Included(1))).count(), 1);
    list.drain(..);
    assert!(list.is_empty());
}

#[test]
fn values_of_no_size_come_out_once_from_either_end() {
    let arena = FrameArena::new(4096);
    let before = live();
    let list = arena.collect((0..4).map(Nothing::make));
    assert_eq!(list.into_iter().rev().count(), 4);
    let mut some = arena.collect((0..4).map(Nothing::make)).into_iter();
    assert!(some.next_back().is_some() && some.next().is_some());
    assert_eq!(some.len(), 2);
    drop(some);
    assert_eq!(live(), before);

    let aligned = arena.collect((0..4).map(AlignedNothing::make));
    assert!(aligned.into_iter().rev().all(|e| e.number() == 0));
    let aligned = arena.collect((0..4).map(AlignedNothing::make));
    assert!(aligned.iter().all(|e| e.number() == 0));
    assert_eq!(arena.used_bytes(), 0);
}

/// Yields what an iterator yields, and says that it has `says`.
pub(crate) struct Liar<I> {
    says: usize,
    truth: I,
}

impl<I: Iterator> Liar<I> {
    /// One that exaggerates does so within what there is memory for.
    pub(crate) fn new(says: u16, truth: I) -> Self {
        Self {
            says: usize::from(says) % 100,
            truth,
        }
    }
}

impl<I: Iterator> Iterator for Liar<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.truth.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.says, Some(self.says))
    }
}

impl<I: Iterator> ExactSizeIterator for Liar<I> {}

fn liar(says: usize, yields: u32) -> Liar<impl Iterator<Item = Tracked>> {
    let truth = (0..yields).rev().map(Tracked::make);
    Liar { says, truth }
}

/// Yields the elements of `source` again and again, `yields` of them, and says that it has `says`.
struct LyingReferences<'s> {
    source: &'s [u64],
    says: usize,
    yields: usize,
}

impl<'s> Iterator for LyingReferences<'s> {
    type Item = &'s u64;

    fn next(&mut self) -> Option<&'s u64> {
        self.yields = self.yields.checked_sub(1)?;
        Some(&self.source[self.yields % self.source.len()])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.says, Some(self.says))
    }
}

#[test]
fn references_that_lie_about_their_number_fool_nobody() {
    let source = &[7; 5];
    for (says, yields) in [(0, 100), (3, 100), (100, 3), (8, 8), (1, 0)] {
        let arena = FrameArena::new(4096);
        // With an element, so that the spare capacity is less than all of it.
        let mut list = arena.vec_with_capacity::<u64>(says + 1);
        list.push(7);
        let neighbour = arena.alloc(1_u64);
        list.extend(LyingReferences {
            source,
            says,
            yields,
        });
        assert_eq!(list, vec![7; 1 + says.min(yields)]);
        assert_eq!(*neighbour, 1);
    }
}

#[test]
fn a_long_text_grows_between_its_pieces() {
    let arena = FrameArena::new(4096);
    let piece = "twenty bytes of text";
    let text = arena.alloc_fmt(format_args!("{piece}{piece}{piece}{piece}{piece}"));
    let behind = arena.alloc_str("something else entirely, of some length");
    assert_eq!(*text, *piece.repeat(5));
    assert_eq!(behind, "something else entirely, of some length");
}

#[test]
fn an_iterator_that_lies_about_its_length_fools_nobody() {
    for (says, yields) in [(0, 100), (3, 100), (100, 3), (8, 8), (1, 0)] {
        let before = live();
        let arena = FrameArena::new(256);
        let mut list = arena.collect(liar(says, yields));
        assert_eq!(list.len(), yields as usize);
        list.extend(liar(says, yields));
        list.truncate(1);
        list.shrink_to_fit();
        list.extend(liar(says, yields));
        let numbers = list.iter().rev().take(yields as usize).map(Element::number);
        assert!(numbers.eq(0..yields));
        drop(list);
        assert_eq!(live(), before);
    }
    let arena = FrameArena::new(256);
    let mut list = arena.vec();
    list.try_extend(liar(usize::MAX, 1)).unwrap_err();
    arena.try_collect(liar(1 << 61, 1)).unwrap_err();
    assert!(list.is_empty());
}

#[test]
fn an_iterator_may_use_the_arena_while_the_list_grows() {
    let arena = FrameArena::new(128);
    let mut others: Vec<&mut u64> = Vec::new();
    let mut inner = arena.vec();
    let mut outer = arena.vec();
    outer.extend((0..200_u64).filter(|&n| {
        others.push(arena.alloc(n));
        inner.push(n);
        n % 2 == 0
    }));
    assert!(outer.iter().copied().eq((0..200).step_by(2)));
    assert!(inner.iter().copied().eq(0..200));
    assert!(others.iter().map(|n| **n).eq(0..200));
}

#[test]
fn an_element_may_use_the_arena_while_it_is_dropped() {
    struct Greedy<'a>(&'a FrameArena, u64);
    impl Drop for Greedy<'_> {
        fn drop(&mut self) {
            assert_eq!(*self.0.alloc(self.1), self.1);
        }
    }
    let arena = FrameArena::new(128);
    let list = arena.collect((0..20).map(|n| Greedy(&arena, n)));
    let boxed = arena.boxed(Greedy(&arena, 7));
    drop(list);
    drop(boxed);
    let mut list = arena.collect((0..20).map(|n| Greedy(&arena, n)));
    list.retain(|greedy| greedy.1 % 2 == 0);
    assert!(list.iter().map(|greedy| greedy.1).eq((0..20).step_by(2)));
}

#[test]
fn a_leaked_drain_leaks_and_does_no_worse() {
    let before = live();
    let arena = FrameArena::new(4096);
    let mut list = arena.collect((0..8).map(Nothing::make));
    mem::forget(list.drain(2..4));
    assert_eq!(list.len(), 6);
    list.push(Nothing::make(0));
    drop(list);
    // Those of the range.
    assert_eq!(live(), before + 2);

    let mut list = arena.collect(0..8);
    mem::forget(list.drain(2..4));
    list.push(9);
    assert_eq!(list, [0, 1, 4, 5, 6, 7, 9]);
}

#[test]
fn a_destructor_that_panics_runs_once_and_so_do_the_others() {
    let calls: [fn(&mut FrameVec<Tracked>); 6] = [
        |list| list.clear(),
        |list| drop(list.drain(2..5)),
        |list| list.retain(|e| e.number() % 2 == 0),
        |list| list.dedup_by(|_, _| true),
        |list| drop(mem::replace(list, list.arena().vec())),
        |list| drop(mem::replace(list, list.arena().vec()).into_iter()),
    ];
    for call in calls {
        let before = live();
        let arena = FrameArena::new(4096);
        let mut list = arena.collect((0..8).map(Tracked::make));
        arm_drop(1);
        catch_unwind(AssertUnwindSafe(|| call(&mut list))).unwrap_err();
        assert_eq!(list.iter().map(Element::number).count(), list.len());
        drop(list);
        assert_eq!(live(), before);
    }
}

#[test]
fn a_clone_that_panics_leaves_the_list_as_it_was() {
    let before = live();
    let arena = FrameArena::new(4096);
    let mut list = arena.collect((0..5).map(Tracked::make));
    let source: Vec<_> = (5..10).map(Tracked::make).collect();
    for after in 0..5 {
        arm_clone(after);
        catch_unwind(AssertUnwindSafe(|| list.extend_from_slice(&source))).unwrap_err();
        arm_clone(after);
        catch_unwind(AssertUnwindSafe(|| list.clone())).unwrap_err();
        assert!(list.iter().map(Element::number).eq(0..5));
    }
    drop((list, source));
    assert_eq!(live(), before);
}

#[test]
fn a_closure_that_panics_keeps_all_elements() {
    let before = live();
    let arena = FrameArena::new(4096);
    let mut list = arena.collect((0..10).map(Tracked::make));
    let call = AssertUnwindSafe(|| {
        list.retain(|e| {
            assert_ne!(e.number(), 6);
            e.number() % 2 == 1
        });
    });
    catch_unwind(call).unwrap_err();
    let mut numbers: Vec<_> = list.iter().map(Element::number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..10));
    drop(list);
    assert_eq!(live(), before);
}

#[test]
fn a_list_that_could_not_shrink_frees_no_memory_of_others() {
    let arena = FrameArena::new(4096);
    let mut list = arena.vec_with_capacity(100);
    list.extend([1_u64, 2]);
    let newer = arena.alloc(7_u64);
    list.shrink_to_fit();
    let used = arena.used_bytes();
    drop(list);
    assert_eq!(arena.used_bytes(), used);
    arena.alloc([0_u64; 8]);
    assert_eq!(*newer, 7);

    // The same, with nothing newer at last.
    let mut list = arena.vec_with_capacity(10);
    list.extend([1_u64, 2]);
    let newer = arena.boxed(7_u64);
    list.shrink_to_fit();
    drop(newer);
    list.extend(3..20);
    assert!(list.iter().copied().eq(1..20));
}

#[test]
fn boxes_of_all_kinds_are_dropped_once_and_aligned() {
    let before = live();
    let arena = FrameArena::new(4096);
    arena.alloc(1_u8);
    let used = arena.used_bytes();
    let tracked = arena.boxed(Tracked::make(1));
    let nothing = arena.boxed(Nothing::make(1));
    assert_eq!(arena.boxed(AlignedNothing).number(), 0);
    assert_eq!(arena.boxed(Aligned::make(5)).number(), 5);
    let (inner, number) = (FrameBox::into_inner(tracked), live() - before);
    assert_eq!((inner.number(), number), (1, 2));
    drop(inner);
    drop(nothing);
    assert_eq!(live(), before);
    // What lies before the aligned one is padding.
    assert!(arena.used_bytes() < used + 64);
    *FrameBox::leak(arena.boxed(3)) = 4;
    FrameBox::leak(arena.boxed(Nothing::make(3)));
    assert_eq!(live(), before + 1);
}

#[test]
fn lists_of_lists_are_dropped_inside_out() {
    let before = live();
    let arena = FrameArena::new(256);
    let mut lists = arena.vec();
    for n in 0..10 {
        lists.push((0..n).map(Tracked::make).collect_in(&arena));
    }
    let (first, second) = lists.split_at_mut(9);
    second[0].append(&mut first[8]);
    drop(lists);
    assert_eq!(live(), before);
}
