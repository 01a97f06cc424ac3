//! Ways to share: what each gives, and what is left when it fails or panics.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use bevy_frame_arena::{FrameArena, FrameArenas, FrameHandle, share_format};

use super::advance;
use crate::common::limits::limit_of;

#[test]
fn every_way_to_share_resolves_to_its_data() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    for handle in [
        arena.share(7),
        arena.try_share(7).unwrap(),
        arena.boxed(7).share(),
    ] {
        assert_eq!(arenas[handle], 7);
    }
    for handle in [
        arena.share_slice_copy(&[0, 1, 4]),
        arena.try_share_slice_copy(&[0, 1, 4]).unwrap(),
        arena.share_iter((0..3).map(|n| n * n)),
        arena.try_share_iter((0..3).map(|n| n * n)).unwrap(),
        arena.share_iter([0, 1, 4]),
        arena.try_share_iter([0, 1, 4]).unwrap(),
    ] {
        assert_eq!(arenas[handle], [0, 1, 4]);
    }
    let mut text = arena.string();
    for character in "3 HP".chars() {
        text.push(character);
    }
    for handle in [
        arena.share_str("3 HP"),
        arena.try_share_str("3 HP").unwrap(),
        arena.share_fmt(format_args!("{} HP", 3)),
        share_format!(arena, "{} HP", 3),
        text.share(),
    ] {
        assert_eq!(&arenas[handle], "3 HP");
    }
}

/// So many take 120 bytes.
const STRINGS: usize = 120 / size_of::<String>();

#[test]
fn sharing_fails_where_there_is_no_memory() {
    let arena = FrameArena::with_settings(&limit_of(128));
    let large = [0_u8; 200];
    let text = "x".repeat(200);
    assert!(arena.try_share(large).is_err());
    assert!(arena.try_share_slice_copy(&large).is_err());
    assert!(arena.try_share_iter((0..200).map(|_| 0_u8)).is_err());
    assert!(arena.try_share_iter(large).is_err());
    assert!(arena.try_share_str(&text).is_err());
    // The value itself would fit, but not the note that it needs dropping.
    assert!(arena.try_share([const { String::new() }; STRINGS]).is_err());
}

/// What the attacks make: it has a destructor, and may be shared.
struct Counted(&'static AtomicI32);

impl Counted {
    fn new(alive: &'static AtomicI32) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(alive)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert!(self.0.load(Relaxed) < 5, "the clone breaks");
        Self::new(self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[test]
fn clones_made_before_one_panics_are_dropped() {
    static ALIVE: AtomicI32 = AtomicI32::new(0);
    let mut arenas = FrameArenas::default();
    let source = [(); 3].map(|()| Counted::new(&ALIVE));
    let broken = catch_unwind(AssertUnwindSafe(|| {
        arenas.local().share_iter(source.iter().cloned())
    }));
    assert!(broken.is_err());
    assert_eq!(ALIVE.load(Relaxed), 3, "the two clones are gone");
    let fine = arenas.local().share_iter(source[..2].iter().cloned());
    assert_eq!(arenas[fine].len(), 2);
    assert_eq!(ALIVE.load(Relaxed), 5);
    advance(&mut arenas, 2);
    assert_eq!(ALIVE.load(Relaxed), 3, "dropped once each");
}

#[test]
fn what_was_made_before_a_panic_is_dropped_once() {
    static ALIVE: AtomicI32 = AtomicI32::new(0);
    let mut arenas = FrameArenas::default();
    for broken_at in 0..4 {
        let arena = arenas.local();
        let broken = catch_unwind(AssertUnwindSafe(|| {
            arena.share_iter((0..4).map(|index| {
                // Between any two elements, also with a destructor.
                arena.share(Counted::new(&ALIVE));
                assert!(index < broken_at, "it breaks");
                Counted::new(&ALIVE)
            }))
        }));
        assert!(broken.is_err());
        assert_eq!(ALIVE.load(Relaxed), broken_at + 1, "the inner ones");
        assert_eq!(arenas[arena.share(7)], 7);
        advance(&mut arenas, 2);
        assert_eq!(ALIVE.load(Relaxed), 0);
    }
}

#[test]
fn closures_that_share_in_the_same_arena_disturb_nothing() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    let inner = Cell::new(FrameHandle::default());
    let list = arena.share_iter((0..100).inspect(|&index| {
        arena.share_iter(0..index);
        inner.set(arena.share_iter((0..100).map(|_| arena.share_str("inner"))));
    }));
    assert!(arenas[list].iter().copied().eq(0..100));
    assert!(
        arenas[inner.get()]
            .iter()
            .all(|text| &arenas[*text] == "inner")
    );
}

#[test]
fn nothing_is_made_where_there_is_no_memory() {
    let arena = FrameArena::with_settings(&limit_of(128));
    let never = |_| -> String { unreachable!("there is no room") };
    assert!(arena.try_share_iter((0..100).map(never)).is_err());
    // There is room for the elements, but not for the record that they need dropping.
    static ALIVE: AtomicI32 = AtomicI32::new(0);
    let elements = (0..120 / size_of::<Counted>()).map(|_| Counted::new(&ALIVE));
    assert!(arena.try_share_iter(elements).is_err());
    assert_eq!(ALIVE.load(Relaxed), 0, "dropped once each");
}

#[test]
fn zero_sized_values_with_destructors_are_shared_and_dropped() {
    static DROPS: AtomicI32 = AtomicI32::new(0);
    #[repr(align(256))]
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    let mut arenas = FrameArenas::default();
    let list = arenas.local().share_iter((0..7).map(|_| Nothing));
    assert_eq!(arenas[list].len(), 7);
    assert_eq!(arenas[list].as_ptr().addr() % 256, 0);
    let one = arenas.local().share(Nothing);
    assert_eq!((&raw const arenas[one]).addr() % 256, 0);
    let none = arenas.local().share_iter((0..0).map(|_| Nothing));
    assert!(arenas[none].is_empty());
    advance(&mut arenas, 2);
    assert_eq!(DROPS.load(Relaxed), 8);
}
