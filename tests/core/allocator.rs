//! The arena as the allocator of vectors, strings, boxes and maps.

use std::alloc::Layout;
use std::rc::Rc;

use allocator_api2::alloc::Allocator;
use bevy_frame_arena::{ArenaError, ArenaLimit, FrameArena, FrameBox, FrameVec};
use bevy_platform::hash::FixedHasher;

use crate::common::limits::limit_of;

const KIB: usize = 1 << 10;

fn limited(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&limit_of(bytes))
}

#[test]
fn the_newest_vector_grows_in_place() {
    let arena = FrameArena::new(64 * KIB);
    let mut vec = arena.vec();
    vec.push(0_u64);
    let start = vec.as_ptr();
    vec.extend(1..4_000);
    assert_eq!(vec.as_ptr(), start);
    assert!(vec.iter().copied().eq(0..4_000));
    assert!(arena.used_bytes() <= 4_096 * 8);
}

#[test]
fn vectors_of_others_give_back_what_they_do_not_need() {
    let arena = FrameArena::new(64 * KIB);
    let mut newest = allocator_api2::vec::Vec::with_capacity_in(1_000, &arena);
    newest.extend([1_u64, 2, 3]);
    newest.shrink_to_fit();
    assert_eq!((newest.capacity(), arena.used_bytes()), (3, 24));
    let behind = arena.alloc(7_u64);
    newest.pop();
    newest.shrink_to_fit();
    assert_eq!(arena.used_bytes(), 32, "it is not the newest any more");
    assert_eq!((&newest[..], *behind), (&[1, 2][..], 7));
}

#[test]
fn the_newest_vector_shrinks_and_frees_in_place() {
    let arena = FrameArena::new(64 * KIB);
    arena.alloc(1_u8);
    let mut vec = arena.vec_with_capacity::<u64>(1_000);
    vec.extend([1, 2, 3]);
    vec.shrink_to_fit();
    assert_eq!(arena.used_bytes(), 8 + 24);
    drop(vec);
    assert_eq!(arena.used_bytes(), 8);
}

#[test]
fn an_older_vector_moves_and_keeps_its_elements() {
    let arena = FrameArena::new(64 * KIB);
    let mut old: FrameVec<u32> = arena.vec();
    old.extend(0..10);
    let newer = arena.alloc(7_u64);
    old.extend(10..1_000);
    assert!(old.iter().copied().eq(0..1_000));
    assert_eq!(*newer, 7);
    drop(old);
    assert_eq!(*arena.alloc(8), 8);
}

#[test]
fn vectors_interleaved_in_one_arena_do_not_disturb_each_other() {
    let arena = FrameArena::new(256);
    let mut vecs: Vec<FrameVec<usize>> = (0..7).map(|_| arena.vec()).collect();
    for n in 0..2_000 {
        vecs[n % 7].push(n);
        if n % 100 == 0 {
            vecs[n % 5].shrink_to_fit();
        }
    }
    for (index, vec) in vecs.iter().enumerate() {
        assert!(vec.iter().copied().eq((index..2_000).step_by(7)));
    }
}

#[test]
fn containers_drop_their_values_at_the_end_of_the_scope() {
    let arena = FrameArena::new(KIB);
    let value = Rc::new(());
    {
        let mut vec = arena.vec();
        vec.push(Rc::clone(&value));
        vec.push(Rc::clone(&value));
        let boxed: FrameBox<_> = arena.boxed(Rc::clone(&value));
        assert_eq!(Rc::strong_count(&value), 4);
        assert_eq!(Rc::strong_count(&boxed), 4);
    }
    assert_eq!(Rc::strong_count(&value), 1);
    assert_eq!(arena.used_bytes(), 0);
}

#[test]
fn a_growing_alignment_is_honoured() {
    // `Vec` never asks for it, but the trait allows it.
    let arena = FrameArena::new(64 * KIB);
    arena.alloc(1_u8);
    let bytes = (&arena)
        .allocate(std::alloc::Layout::from_size_align(8, 1).unwrap())
        .unwrap();
    assert_eq!(bytes.len(), 8);
    let aligned = arena.alloc_layout(Layout::from_size_align(1, 64).unwrap());
    assert_eq!(aligned.addr().get() % 64, 0);
}

#[test]
fn maps_of_hashbrown_work() {
    let arena = FrameArena::new(KIB);
    let mut map = hashbrown::HashMap::new_in(&arena);
    for n in 0..1_000_u32 {
        map.insert(n, n * n);
    }
    map.retain(|key, _| key % 2 == 0);
    assert_eq!(map.len(), 500);
    assert_eq!(map[&30], 900);
}

#[test]
fn maps_with_the_hasher_of_bevy_work() {
    let arena = FrameArena::new(KIB);
    let mut map = hashbrown::HashMap::with_hasher_in(FixedHasher, &arena);
    map.insert("hp", 10);
    *map.get_mut("hp").unwrap() -= 3;
    assert_eq!(map.get("hp"), Some(&7));
}

#[test]
fn strings_are_built_by_pieces() {
    let arena = FrameArena::new(KIB);
    let mut text = arena.string();
    text.push_str("wave ");
    write!(text, "{}", 3).unwrap();
    text.push('…');
    assert_eq!(text.as_str(), "wave 3…");
    assert_eq!(format!("{text} {text:?}"), "wave 3… \"wave 3…\"");
    let copy = text.clone();
    text.clear();
    assert_eq!((text.len(), copy.len()), (0, 9));
    assert_eq!(copy.leak(), "wave 3…");
}

#[test]
fn a_container_beyond_a_hard_limit_fails_and_keeps_what_it_has() {
    let arena = limited(KIB);
    let mut vec = arena.vec();
    vec.extend(0..10_u64);
    vec.try_reserve(1_000).unwrap_err();
    assert!(vec.iter().copied().eq(0..10));

    let mut text = arena.string();
    text.push_str("kept");
    text.try_push_str(&"x".repeat(2 * KIB)).unwrap_err();
    text.try_write_fmt(format_args!("{}", "y".repeat(2 * KIB)))
        .unwrap_err();
    assert_eq!(&*text, "kept");
}

#[test]
fn what_fits_below_a_limit_is_granted_although_room_to_spare_would_not() {
    let arena = limited(128);
    let one = arena.try_vec_with_capacity::<[u8; 100]>(1);
    assert_eq!(one.map(|vec| vec.capacity()), Ok(1));
    let one = arena.try_collect([[7_u8; 100]]);
    assert_eq!(one.map(|slice| slice[0]), Ok([7; 100]));

    let mut unknown_length = [[7_u8; 100]; 3].into_iter().filter(|_| true);
    let arena = limited(256);
    let refused = arena.try_collect(&mut unknown_length);
    assert!(matches!(refused, Err(ArenaError::Exhausted { .. })));
    assert_eq!(unknown_length.next(), None, "the third one did not fit");

    let arena = limited(1024);
    let mut text = arena.string();
    text.push_str(&"x".repeat(400));
    arena.alloc(1_u64);
    text.push_str(&"y".repeat(50));
    assert_eq!(text.len(), 450);
    let used = arena.used_bytes();
    let refused = text.try_push_str(&"z".repeat(500));
    assert_eq!(
        refused,
        Err(ArenaError::Exhausted {
            requested: 950,
            align: 1,
            remaining: 1024 - used,
            limit: ArenaLimit::Worker { bytes: 1024 },
            pace: None,
        })
    );
    assert_eq!(arena.used_bytes(), used, "a failure takes nothing");
}

/// No container does this, but the trait allows it.
#[test]
#[expect(unsafe_code, reason = "calls an allocator as its trait allows")]
fn a_block_that_needs_a_larger_alignment_moves_unless_it_has_it() {
    let arena = &FrameArena::new(4096);
    let old = Layout::new::<[u64; 4]>();
    for (place, new_bytes) in [(8, 16), (8, 64), (64, 16), (64, 64)] {
        let place = Layout::from_size_align(8, place).expect("a valid layout");
        arena.try_alloc_layout(place).expect("room");
        let block = arena.allocate(old).expect("room").cast::<[u64; 4]>();
        // SAFETY: the block was just allocated for this type.
        unsafe { block.write([1, 2, 3, 4]) };
        let new = Layout::from_size_align(new_bytes, 64).expect("a valid layout");
        let resize = if new_bytes > old.size() {
            <&FrameArena as Allocator>::grow
        } else {
            <&FrameArena as Allocator>::shrink
        };
        // SAFETY: the block was allocated with `old` by this allocator.
        let moved = unsafe { resize(&arena, block.cast(), old, new) }.expect("room");
        assert_eq!(moved.len(), new_bytes);
        assert_eq!(moved.addr().get() % 64, 0);
        // SAFETY: at least two of the four words are left.
        assert_eq!(unsafe { moved.cast::<[u64; 2]>().read() }, [1, 2]);
    }
}
