//! Handles: what they resolve to, and for how long.

mod errors;
mod sharing;

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::mem;
use std::sync::Arc;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle};

/// Swaps until `frames` frames have passed.
fn advance(arenas: &mut FrameArenas, frames: u32) {
    for _ in 0..frames {
        arenas.swap();
    }
}

#[test]
fn every_kind_of_handle_lives_for_two_frames() {
    fn check<T: ?Sized + PartialEq + std::fmt::Debug>(
        make: impl Fn(&FrameArenas) -> FrameHandle<T>,
        expected: &T,
    ) {
        let mut arenas = FrameArenas::default();
        advance(&mut arenas, 3);
        let handle = make(&arenas);
        assert_eq!(arenas.get(handle), Some(expected));
        advance(&mut arenas, 1);
        assert_eq!(arenas.get(handle), Some(expected));
        assert_eq!(&arenas[handle], expected);
        advance(&mut arenas, 1);
        assert_eq!(arenas.get(handle), None);
        advance(&mut arenas, 1);
        assert_eq!(arenas.get(handle), None);
    }

    check(|arenas| arenas.local().share(7_u8), &7);
    check(
        |arenas| arenas.local().share(String::from("a")),
        &String::from("a"),
    );
    check(|arenas| arenas.local().share([1; 3]), &[1; 3]);
    check(|arenas| arenas.local().share(()), &());
    check(|arenas| arenas.local().share_str("text"), "text");
    check(
        |arenas| arenas.local().share_fmt(format_args!("{}", 5)),
        "5",
    );
    check(
        |arenas| arenas.local().share_slice_copy(&[1, 2]),
        &[1, 2][..],
    );
    check(
        |arenas| arenas.local().share_slice_copy(&[0_u64; 0]),
        &[][..],
    );
    check(|arenas| arenas.local().share_iter(5..7), &[5, 6][..]);
    check(|arenas| arenas.local().boxed(4).share(), &4);
    check(
        |arenas| {
            let mut vec = arenas.local().vec();
            vec.extend([String::from("x")]);
            vec.share()
        },
        &[String::from("x")][..],
    );
    check(
        |arenas| {
            let mut text = arenas.local().string();
            "built".chars().for_each(|character| text.push(character));
            text.share()
        },
        "built",
    );

    // And what may fail, but does not.
    check(|arenas| arenas.local().try_share(7_u8).unwrap(), &7);
    check(
        |arenas| arenas.local().try_share_str("text").unwrap(),
        "text",
    );
    check(
        |arenas| arenas.local().try_share_slice_copy(&[1, 2]).unwrap(),
        &[1, 2][..],
    );
    check(
        |arenas| arenas.local().try_share_iter(5..7).unwrap(),
        &[5, 6][..],
    );
}

#[test]
fn handles_of_other_arenas_are_foreign() {
    let mut ours = FrameArenas::default();
    let mut theirs = FrameArenas::default();
    for _ in 0..5 {
        let handle = theirs.local().share(1);
        let error = ours.resolve(handle).unwrap_err();
        assert_eq!(error.age_in_periods(), None);
        assert!(
            error
                .to_string()
                .starts_with("foreign `FrameHandle<i32>`: made")
        );
        assert!(ours.lease().get(handle).is_none());
        assert!(ours.lease_handle(handle).is_err());
        ours.swap();
        theirs.swap();
        theirs.swap();
    }
}

#[test]
fn handles_follow_their_arenas_through_a_mem_swap() {
    let mut a = FrameArenas::default();
    let mut b = FrameArenas::default();
    let in_a = a.local().share("a");
    let in_b = b.local().share("b");
    mem::swap(&mut a, &mut b);
    assert_eq!((a.get(in_b), b.get(in_a)), (Some(&"b"), Some(&"a")));
    assert_eq!((a.get(in_a), b.get(in_b)), (None, None));

    // The arena that the thread remembers is the right one as well.
    let more = a.local().share("more");
    assert_eq!((a.get(more), b.get(more)), (Some(&"more"), None));
    let boxed = Box::new(a);
    assert_eq!(boxed[more], "more");
    let again = boxed.local().share("again");
    assert_eq!(boxed[again], "again");
}

#[test]
fn handles_do_not_outlive_dropped_arenas() {
    let handle = FrameArenas::default().local().share(3);
    for _ in 0..10 {
        let arenas = FrameArenas::default();
        arenas.local().share(4);
        assert_eq!(arenas.get(handle), None);
    }
}

#[test]
fn handles_are_compared_and_hashed_by_identity() {
    let mut arenas = FrameArenas::default();
    let a = arenas.local().share(1);
    let b = arenas.local().share(1);
    let copy = a;
    assert_eq!(a, copy);
    assert_ne!(a, b);
    advance(&mut arenas, 2);
    // The same address, in another frame.
    let later = arenas.local().share(1);
    assert_ne!(a, later);
    assert_eq!(HashSet::from([a, b, copy, later]).len(), 3);
    let hashes =
        [a, b, later].map(|handle| BuildHasherDefault::<DefaultHasher>::new().hash_one(handle));
    assert_eq!(HashSet::from(hashes).len(), 3);
    assert!(format!("{a:?}").starts_with("FrameHandle"));
}

#[test]
fn a_standalone_arena_may_be_reset_for_ever() {
    // More often than it has stamps at a time.
    let resets = if cfg!(miri) { 100 } else { 1 << 17 };
    let mut arena = FrameArena::with_settings(&FrameArenaSettings {
        fill_recycled: false,
        ..Default::default()
    });
    let first = arena.share(0);
    for number in 1..resets {
        arena.reset();
        let handle = arena.share(number);
        assert_eq!((arena.get(handle), arena.get(first)), (Some(&number), None));
    }
}

#[test]
fn shared_values_are_dropped_once_when_their_frame_is_recycled() {
    let mut arenas = FrameArenas::default();
    let value = Arc::new(());
    for frame in 0..10 {
        arenas.local().share(Arc::clone(&value));
        let mut vec = arenas.local().vec();
        vec.extend([Arc::clone(&value), Arc::clone(&value)]);
        vec.share();
        arenas.local().boxed(Arc::clone(&value)).share();
        arenas
            .local()
            .share_iter((0..3).map(|_| Arc::clone(&value)));
        let frames_alive = (frame + 1).min(2);
        assert_eq!(Arc::strong_count(&value), 1 + 7 * frames_alive);
        advance(&mut arenas, 1);
    }
    drop(arenas);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn an_arena_that_stands_alone_resolves_its_own_handles() {
    let mut arena = bevy_frame_arena::FrameArena::new(1024);
    let other = bevy_frame_arena::FrameArena::new(1024);
    let value = Arc::new(5);
    let handle = arena.share(Arc::clone(&value));
    assert_eq!(arena.get(handle).map(|value| **value), Some(5));
    assert_eq!(other.get(handle), None);
    arena.reset();
    assert_eq!(arena.get(handle), None);
    assert_eq!(Arc::strong_count(&value), 1);
    arena.share(Arc::clone(&value));
    drop(arena);
    assert_eq!(Arc::strong_count(&value), 1);
}
