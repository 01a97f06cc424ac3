//! Whose an arena is, and for how long.

use std::collections::HashSet;
use std::mem;
use std::ptr;
use std::rc::Rc;

use bevy_frame_arena::FrameArenas;

use crate::{MANY, address, small};

#[test]
fn the_same_memory_is_used_again_and_again() {
    let arenas = small();
    let places: HashSet<_> = (0..MANY)
        .map(|n| {
            let scratch = arenas.scratch();
            let value = scratch.alloc(n);
            assert_eq!((*value, scratch.used_bytes()), (n, 8));
            ptr::from_ref(value).addr()
        })
        .collect();
    assert_eq!(places.len(), 1);
    assert_eq!(arenas.used_bytes_so_far(), 0);
}

#[test]
fn nested_guards_have_arenas_of_their_own() {
    let arenas = small();
    let outer = arenas.scratch();
    let value = outer.alloc(1_u64);
    for _ in 0..3 {
        let inner = arenas.scratch();
        assert_ne!(address(&inner), address(&outer));
        inner.alloc(2_u64);
    }
    assert_eq!(*value, 1);
    assert_ne!(address(arenas.local()), address(&outer));
}

#[test]
fn guards_may_end_in_any_order() {
    let arenas = small();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let mut guards: [_; 3] = std::array::from_fn(|_| Some(arenas.scratch()));
        let places: HashSet<_> = guards.iter().flatten().map(|g| address(g)).collect();
        assert_eq!(places.len(), 3);
        for index in order {
            guards[index] = None;
        }
    }
}

#[test]
fn arenas_may_move_and_change_places_between_guards() {
    let mut a = small();
    let mut b = small();
    let of = |arenas: &FrameArenas| address(&arenas.scratch());
    let (in_a, in_b) = (of(&a), of(&b));
    assert_ne!(in_a, in_b);
    mem::swap(&mut a, &mut b);
    assert_eq!((of(&a), of(&b)), (in_b, in_a));
    let moved = Box::new(a);
    assert_eq!(of(&moved), in_b);
    drop(moved);
    // Another one, perhaps at the same place, has nothing in common with it.
    let c = small();
    assert_eq!(c.scratch().used_bytes(), 0);
    assert_eq!(of(&b), in_a);
}

#[test]
fn nested_guards_of_two_arenas_do_not_mix() {
    let (a, b) = (small(), small());
    for _ in 0..3 {
        let in_a = a.scratch();
        let in_b = b.scratch();
        let also_in_a = a.scratch();
        let places = [&in_a, &in_b, &also_in_a].map(|guard| address(guard));
        assert_eq!(HashSet::from(places).len(), 3);
    }
}

#[test]
fn no_handle_resolves_after_its_guard() {
    let mut arenas = small();
    let scratch = arenas.scratch();
    let handle = scratch.share(7);
    assert_eq!(scratch.get(handle), Some(&7));
    assert_eq!(arenas.get(handle), None);
    let place = address(&scratch);
    drop(scratch);
    let again = arenas.scratch();
    assert_eq!(address(&again), place);
    again.share(8);
    assert_eq!(again.get(handle), None);
    drop(again);
    arenas.swap();
    assert_eq!(arenas.scratch().get(handle), None);
}

#[test]
fn a_handle_is_stale_after_as_many_guards_as_there_are_stamps_in_a_block() {
    if cfg!(miri) {
        return;
    }
    let arenas = small();
    let handle = arenas.scratch().share(7);
    for _ in 0..(1 << 16) + 2 {
        assert_eq!(arenas.scratch().get(handle), None);
    }
}

#[test]
fn values_that_are_not_send_stay_in_boxes_of_the_guard() {
    let arenas = small();
    let shared = Rc::new(1);
    {
        let scratch = arenas.scratch();
        let _boxed = scratch.boxed(Rc::clone(&shared));
        assert_eq!(Rc::strong_count(&shared), 2);
    }
    assert_eq!(Rc::strong_count(&shared), 1);
}
