//! What the containers are for.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bevy_frame_arena::{CollectIn, FrameArena, FrameArenas, FrameBox, FrameString, FrameVec};

use crate::elements::{Element, Tracked};

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn lists_are_compared_hashed_and_shown_like_slices() {
    let arena = FrameArena::new(4096);
    let list = arena.collect([1, 2, 3]);
    assert_eq!(list, [1, 2, 3]);
    assert_eq!(list, &[1, 2, 3]);
    assert_eq!(list, [1, 2, 3][..]);
    assert_eq!(list, &[1, 2, 3][..]);
    assert_eq!(list, vec![1, 2, 3]);
    assert_eq!(*[1, 2, 3].as_slice(), list);
    assert_eq!(&[1, 2, 3][..], list);
    assert_ne!(list, [1, 2]);
    assert!(list < arena.collect([1, 3]));
    assert!(list.cmp(&arena.collect([1])).is_gt());
    assert_eq!(hash_of(&list), hash_of([1, 2, 3].as_slice()));
    assert_eq!(format!("{list:?}"), "[1, 2, 3]");
    let slice: &[i32] = list.as_ref();
    assert_eq!(slice, list.as_slice());
}

/// `par_chunk_map_mut` of Bevy is a method of all types with `AsMut`.
#[test]
fn lists_are_slices_for_functions_that_take_any_slice() {
    fn negate(numbers: &mut impl AsMut<[i32]>) {
        numbers.as_mut().iter_mut().for_each(|it| *it = -*it);
    }
    let arena = FrameArena::new(4096);
    let mut list = arena.collect([1, 2, 3]);
    negate(&mut list);
    assert_eq!(list, [-1, -2, -3]);
}

#[test]
fn lists_are_walked_like_slices() {
    let arena = FrameArena::new(4096);
    let mut list: FrameVec<i32> = arena.vec();
    list.extend(&[3, 1, 2]);
    for number in &mut list {
        *number *= 10;
    }
    list.sort();
    list[0] += 1;
    assert_eq!((&list).into_iter().sum::<i32>(), 61);
    assert!(list.into_iter().eq([11, 20, 30]));
}

#[test]
fn collecting_takes_no_more_than_it_needs() {
    let arena = FrameArena::new(4096);
    let exact = arena.collect(0..10_u64);
    assert_eq!((exact.capacity(), arena.used_bytes()), (10, 80));
    let filtered = (0..100_u64).filter(|n| n % 10 == 0).collect_in(&arena);
    assert_eq!((filtered.capacity(), arena.used_bytes()), (10, 160));
    let none: FrameVec<u64> = (0..100).filter(|_| false).collect_in(&arena);
    assert_eq!((none.capacity(), arena.used_bytes()), (0, 160));
    assert_eq!(arena.collect([1, 2]).leak(), [1, 2]);
}

#[test]
fn a_list_that_is_not_the_newest_keeps_its_capacity() {
    let arena = FrameArena::new(4096);
    let mut list = arena.vec_with_capacity(10);
    list.push(1_u64);
    let newer = arena.boxed(2_u64);
    list.shrink_to_fit();
    assert_eq!(list.capacity(), 10);
    drop(newer);
    list.clear();
    list.shrink_to_fit();
    assert_eq!((list.capacity(), arena.used_bytes()), (0, 0));
    list.push(7);
    assert_eq!(list, [7]);
}

#[test]
fn containers_are_shared_without_an_import_and_dropped_at_the_recycle() {
    let dropped = Arc::new(());
    let mut arenas = FrameArenas::default();
    let arena = arenas.local();
    let list = arena.collect((0..3).map(|n| n.to_string())).share();
    let counted = arena
        .collect([Arc::clone(&dropped), Arc::clone(&dropped)])
        .share();
    let boxed = arena.boxed(String::from("boxed")).share();
    let mut text = arena.string();
    text.push_str("text");
    let text = text.share();
    assert_eq!(arenas[list], ["0", "1", "2"]);
    assert_eq!(&arenas[boxed], "boxed");
    assert_eq!(&arenas[text], "text");
    arenas.swap();
    assert_eq!(
        (arenas[list].len(), Arc::strong_count(&arenas[counted][0])),
        (3, 3)
    );
    arenas.swap();
    assert!(arenas.get(list).is_none());
    assert_eq!(Arc::strong_count(&dropped), 1);
}

#[test]
fn boxes_are_like_their_values() {
    let arena = FrameArena::new(4096);
    let mut one = arena.boxed(1);
    *one += 1;
    assert_eq!(format!("{one:?}"), "2");
    assert_eq!(FrameBox::into_inner(one), 2);
    assert_eq!(arena.used_bytes(), 0, "taken out, and given back");
}

#[test]
fn strings_have_what_text_needs() {
    let arena = FrameArena::new(4096);
    let mut text: FrameString = arena.string();
    text.reserve(4);
    text.push_str("wave ");
    text.push('3');
    text.push('…');
    assert_eq!(text, "wave 3…");
    assert_eq!(text.pop(), Some('…'));
    text.truncate(4);
    text.truncate(9);
    assert_eq!(text, String::from("wave"));
    assert_eq!("wave", text);
    assert!(text > text.clone().tap(|other| other.truncate(2)));
    assert_eq!(hash_of(&text), hash_of("wave"));
    text.reserve(100);
    text.try_reserve(100).unwrap();
    assert!(text.capacity() >= 104);
    text.make_ascii_uppercase();
    assert_eq!(text, "WAVE");
    let mut empty = arena.string();
    assert_eq!(empty.pop(), None);
}

#[test]
#[should_panic(expected = "byte 1 is within a character")]
fn a_string_is_not_cut_within_a_character() {
    let arena = FrameArena::new(4096);
    let mut text = arena.string();
    text.push('…');
    text.truncate(1);
}

#[test]
fn text_gets_shorter_by_whole_characters() {
    let arena = FrameArena::new(4096);
    let mut text = arena.string();
    text.push_str("");
    assert_eq!(arena.used_bytes(), 0, "nothing takes no memory");
    text.push_str("a€b…");
    assert_eq!(text.pop(), Some('…'));
    assert_eq!(text, "a€b");
    text.truncate(5);
    text.truncate(6);
    assert_eq!(text, "a€b");
    assert_eq!(
        (text.pop(), text.pop(), text.pop()),
        (Some('b'), Some('€'), Some('a'))
    );
    assert_eq!((text.pop(), text.len()), (None, 0));
}

#[test]
fn a_formatter_that_fails_is_not_taken_for_the_arena() {
    struct Refuses;
    impl std::fmt::Display for Refuses {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    let arena = FrameArena::new(4096);
    let mut text = arena.string();
    write!(text, "so far{Refuses}").unwrap_err();
    assert_eq!(text, "so far");
    let call = std::panic::AssertUnwindSafe(|| text.try_write_fmt(format_args!("{Refuses}")));
    std::panic::catch_unwind(call).unwrap_err();
}

#[test]
fn what_lies_behind_a_full_list_is_neither_read_nor_written() {
    let arena = FrameArena::new(4096);
    let mut list = arena.vec_with_capacity(3);
    list.extend([1_u64, 2, 3]);
    let behind = arena.alloc([7_u64, 8, 9]);
    assert_eq!(list.remove(0), 1);
    assert_eq!((&list[..], &*behind), (&[2, 3][..], &[7, 8, 9]));
    list.insert(1, 5);
    assert_eq!(list.swap_remove(0), 2);
    assert_eq!((&list[..], &*behind), (&[3, 5][..], &[7, 8, 9]));
}

#[test]
fn lists_are_moved_into_one_another_where_there_is_room() {
    let arena = FrameArena::new(4096);
    let mut near = arena.collect([1, 2].map(Tracked::make));
    let mut far = arena.collect([3].map(Tracked::make));
    near.append(&mut far);
    assert!(far.is_empty());
    let numbers = near.iter().map(|it| it.number()).collect::<Vec<_>>();
    assert_eq!(numbers, [1, 2, 3]);
    // References that do not say how many they are.
    let mut list = arena.collect([0_u8]);
    list.extend([1, 2, 3, 4].iter().filter(|n| *n % 2 == 0));
    assert_eq!(list, [0, 2, 4]);
}

#[test]
fn an_iterator_that_has_ended_is_not_asked_again() {
    /// Says that it yields four, yields two, and goes on after its end.
    struct Blinking(u32);
    impl Iterator for Blinking {
        type Item = u32;
        fn next(&mut self) -> Option<u32> {
            self.0 += 1;
            (!self.0.is_multiple_of(3) && self.0 < 100).then_some(self.0)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (4, None)
        }
    }
    let arena = FrameArena::new(4096);
    let mut list = arena.vec();
    list.extend(Blinking(0));
    list.try_extend(Blinking(3)).unwrap();
    assert_eq!(list, [1, 2, 4, 5]);
    assert_eq!(arena.collect(Blinking(0)), [1, 2]);
}

#[test]
fn room_that_is_there_is_not_made_again() {
    let arena = FrameArena::new(4096);
    let mut list = arena.vec_with_capacity::<u64>(10);
    list.extend([1, 2, 3]);
    list.reserve(7);
    list.try_reserve(7).unwrap();
    list.extend([4; 7]);
    assert_eq!((list.capacity(), arena.used_bytes()), (10, 80));
    list.reserve(0);
    assert_eq!(list.capacity(), 10);
}

#[test]
fn a_list_of_values_of_no_size_always_has_room() {
    let arena = FrameArena::new(4096);
    let mut units = arena.vec();
    units.push(());
    units.shrink_to_fit();
    assert_eq!((units.len(), units.capacity()), (1, usize::MAX));
}

/// Changes a value in an expression.
trait Tap: Sized {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl<T> Tap for T {}

#[test]
fn a_list_may_outlive_what_its_elements_point_to_being_declared_first() {
    let number = 7;
    let arena = FrameArena::new(4096);
    let mut list = arena.vec();
    list.push(&number);
    assert_eq!(*list[0], 7);
    let shorter: FrameVec<'_, &i32> = list;
    assert_eq!(Tracked::make(1).number() as usize, shorter.len());
}

#[test]
fn clones_into_lists_reuse_their_memory() {
    let arena = FrameArena::new(4096);
    let long = arena.collect((0..9).map(Tracked::make));
    let mut list = arena.collect((0..20).map(Tracked::make));
    let used = arena.used_bytes();
    let start = list.as_ptr();
    list.clone_from(&long);
    assert_eq!((&list, list.as_ptr()), (&long, start));
    assert_eq!(arena.used_bytes(), used);
}
