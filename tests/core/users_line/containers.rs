//! Containers: what they can't grow to, and indices that are out of bounds.

use bevy_frame_arena::{CollectIn, FrameArena};

use crate::common::limits::limit_of;

#[test]
fn each_method_that_can_fail_for_memory_points_at_its_caller() {
    let arena = &FrameArena::with_settings(&limit_of(128));
    let list = &mut arena.collect([1_u64, 2, 3, 4, 5]);
    let text = &mut arena.string();
    let other = &FrameArena::new(4096);
    let many = &mut other.collect(0..100_u64);
    let mut map = arena.map::<u64, [u64; 99]>();
    let mut set = arena.set::<[u64; 99]>();
    let long = "x".repeat(200);
    let tight = &FrameArena::with_settings(&limit_of(128));
    let mut word = tight.string();
    word.push_str(&long[..100]);
    check!((0..99).fold((), |(), n| list.push(n)));
    check!((0..99).fold((), |(), n| list.insert(0, n)));
    check!(list.extend(0..100));
    check!(list.extend(&[1; 100]));
    check!(list.extend_from_slice(&[1; 100]));
    check!(list.append(many));
    check!(list.resize(100, 1));
    check!(list.resize_with(100, || 1));
    check!(list.reserve(100));
    check!(list.clone());
    check!(arena.vec_with_capacity::<u64>(100));
    check!(arena.collect(0..100));
    check!((0..100).collect_in(arena));
    check!(arena.boxed([1_u64; 99]));
    check!(arena.alloc_fmt(format_args!("{long}")));
    check!(text.push_str(&long));
    check!((0..99).fold((), |(), _| text.push('x')));
    check!(text.reserve(100));
    check!(write!(text, "{long}"));
    check!(word.clone());
    check!(*text += &long);
    check!(map.insert(1, [1; 99]));
    check!(map.entry(1).or_insert([1; 99]));
    check!(map.reserve(9));
    check!(map.extend([(1, [1; 99])]));
    check!(set.insert([1; 99]));
    check!(set.reserve(9));
    check!(set.extend([[1; 99]]));
}

#[test]
fn each_index_out_of_bounds_points_at_its_caller() {
    let arena = &FrameArena::new(4096);
    let list = &mut arena.collect([1_u64]);
    let text = &mut arena.string();
    text.push('…');
    check!(list.remove(1));
    check!(list.swap_remove(1));
    check!(list.insert(2, 1));
    check!(list.drain(..2));
    check!(text.truncate(1));
}
