//! Handles: what they resolve to, and for how long.

use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use bevy_frame_arena::{
    FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, HandleError, OverflowPolicy,
    share_format,
};

use crate::common::settings::settings;

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
    check(|arenas| arenas.local().share_with(|| [1; 3]), &[1; 3]);
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
    check(
        |arenas| arenas.local().share_slice_fill_with(3, |i| i),
        &[0, 1, 2][..],
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
        |arenas| arenas.local().try_share_with(|| [1; 3]).unwrap(),
        &[1; 3],
    );
    check(
        |arenas| arenas.local().try_share_str("text").unwrap(),
        "text",
    );
    check(
        |arenas| arenas.local().try_share_fmt(format_args!("{}", 5)).unwrap(),
        "5",
    );
    check(
        |arenas| arenas.local().try_share_slice_copy(&[1, 2]).unwrap(),
        &[1, 2][..],
    );
    check(
        |arenas| {
            let local = arenas.local();
            local.try_share_slice_fill_with(3, |i| i).unwrap()
        },
        &[0, 1, 2][..],
    );
    check(
        |arenas| arenas.local().try_share_iter(5..7).unwrap(),
        &[5, 6][..],
    );
}

#[test]
fn a_stale_handle_names_its_age() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    advance(&mut arenas, 2);
    let error = arenas.resolve(handle).unwrap_err();
    assert_eq!(error.age_in_frames(), Some(2));
    advance(&mut arenas, 98);
    let error = arenas.resolve(handle).unwrap_err();
    assert_eq!(error.age_in_frames(), Some(100));
    assert!(
        error
            .to_string()
            .starts_with("stale `FrameHandle<i32>`: made 100 frames ago")
    );
}

#[test]
#[should_panic = "stale `FrameHandle<i32>`: made 2 frames ago"]
fn indexing_with_a_stale_handle_panics_with_its_age() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    advance(&mut arenas, 2);
    let _ = arenas[handle];
}

#[test]
fn handles_of_other_arenas_are_foreign() {
    let mut ours = FrameArenas::default();
    let mut theirs = FrameArenas::default();
    for _ in 0..5 {
        let handle = theirs.local().share(1);
        let error = ours.resolve(handle).unwrap_err();
        assert_eq!(error.age_in_frames(), None);
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
fn failed_lookups_are_counted() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    advance(&mut arenas, 2);
    for _ in 0..5 {
        assert!(arenas.get(handle).is_none());
    }
    assert!(arenas.lease().get(handle).is_none());
    assert!(arenas.lease_handle(handle).is_err());
    advance(&mut arenas, 1);
    assert_eq!(arenas.usage().stale_lookups, 7);
    advance(&mut arenas, 1);
    assert_eq!(arenas.usage().stale_lookups, 0);
    assert_eq!(arenas.usage().first_stale_lookup, None);
}

#[test]
#[rustfmt::skip]
fn the_first_failed_lookup_of_a_frame_is_told_with_its_lines() {
    let mut arenas = FrameArenas::default();
    let (made, list) = (line!(), arenas.local().share_slice_copy(&[1_u8]));
    let other = arenas.local().share(1);
    let lease = arenas.lease();
    advance(&mut arenas, 2);
    let (read, nothing) = (line!(), arenas.slice(list).len());
    assert_eq!((nothing, arenas.get(other)), (0, None));
    advance(&mut arenas, 1);
    let first = arenas.usage().first_stale_lookup.unwrap();
    assert!(matches!(first.error, HandleError::Stale { age_in_frames: 2, .. }));
    let text = first.to_string();
    assert!(text.contains("stale `FrameHandle<[u8]>`: made 2 frames ago"), "{text}");
    if cfg!(debug_assertions) {
        let file = file!();
        assert!(text.starts_with(&format!("at {file}:{read}, stale")), "{text}");
        assert!(text.contains(&format!("{file}:{made}")), "{text}");
    }
    // Another frame has its own, whoever looks it up.
    let later = arenas.local().share_str("later");
    let (read, nothing) = (line!(), lease.text(later));
    assert_eq!(nothing, "");
    advance(&mut arenas, 1);
    let first = arenas.usage().first_stale_lookup.unwrap();
    assert!(matches!(first.error, HandleError::OtherFrame { leased_frame: 0, .. }));
    let known = cfg!(debug_assertions) || cfg!(feature = "sites");
    assert_eq!(first.read_at.map(|at| at.line()), known.then_some(read));
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
            .share_slice_fill_with(3, |_| Arc::clone(&value));
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

#[test]
fn every_way_to_share_resolves_to_its_data() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    for handle in [
        arena.share(7),
        arena.try_share(7).unwrap(),
        arena.share_with(|| 7),
        arena.try_share_with(|| 7).unwrap(),
        arena.boxed(7).share(),
    ] {
        assert_eq!(arenas[handle], 7);
    }
    for handle in [
        arena.share_slice_copy(&[0, 1, 4]),
        arena.try_share_slice_copy(&[0, 1, 4]).unwrap(),
        arena.share_slice_fill_with(3, |n| n * n),
        arena.try_share_slice_fill_with(3, |n| n * n).unwrap(),
        arena.share_slice_clone(&[0, 1, 4]),
        arena.try_share_slice_clone(&[0, 1, 4]).unwrap(),
        arena.share_iter([0, 1, 4]),
        arena.try_share_iter([0, 1, 4]).unwrap(),
    ] {
        assert_eq!(arenas[handle], [0, 1, 4]);
    }
    for handle in [
        arena.share_slice_fill_copy(3, 0),
        arena.try_share_slice_fill_copy(3, 0).unwrap(),
        arena.share_slice_fill_default(3),
        arena.try_share_slice_fill_default(3).unwrap(),
        arena.share_slice_aligned::<256, _>(3, 0),
        arena.try_share_slice_aligned::<256, _>(3, 0).unwrap(),
    ] {
        assert_eq!(arenas[handle], [0; 3]);
    }
    let aligned = arena.share_slice_aligned::<4096, _>(3, 0_u8);
    assert_eq!(arenas[aligned].as_ptr().addr() % 4096, 0);
    let mut text = arena.string();
    for character in "3 HP".chars() {
        text.push(character);
    }
    for handle in [
        arena.share_str("3 HP"),
        arena.try_share_str("3 HP").unwrap(),
        arena.share_fmt(format_args!("{} HP", 3)),
        arena.try_share_fmt(format_args!("{} HP", 3)).unwrap(),
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
    let arena = FrameArena::with_settings(&settings(128, OverflowPolicy::Fail));
    let large = [0_u8; 200];
    let text = "x".repeat(200);
    assert!(arena.try_share(large).is_err());
    assert!(arena.try_share_with(|| large).is_err());
    assert!(arena.try_share_slice_copy(&large).is_err());
    assert!(arena.try_share_slice_fill_with(200, |_| 0_u8).is_err());
    assert!(arena.try_share_iter(large).is_err());
    assert!(arena.try_share_str(&text).is_err());
    assert!(arena.try_share_fmt(format_args!("{text}")).is_err());
    // The value itself would fit, but not the note that it needs dropping.
    assert!(arena.try_share([const { String::new() }; STRINGS]).is_err());
}

#[test]
fn an_unset_handle_resolves_nowhere() {
    fn check<T: ?Sized + std::fmt::Debug>(unset: FrameHandle<T>, type_name: &str)
    where
        FrameHandle<T>: Default,
    {
        assert!(unset.is_unset());
        assert_eq!(unset, FrameHandle::default());
        assert_eq!(format!("{unset:?}"), "FrameHandle(unset)");
        // Fresh arenas hold a generation that was never used; parked ones are spares.
        let mut arenas = FrameArenas::default();
        let mut leases = Vec::new();
        for frame in 0..8 {
            assert!(arenas.get(unset).is_none());
            assert!(arenas.lease().get(unset).is_none());
            let error = arenas.resolve(unset).unwrap_err();
            assert!(matches!(error, HandleError::Unset { .. }));
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("unset `FrameHandle<{type_name}>`"))
            );
            assert_eq!(error.age_in_frames(), None);
            assert_eq!(arenas.lease_of(unset).unwrap_err(), error);
            assert_eq!(arenas.lease_handle(unset).unwrap_err(), error);
            assert_eq!(arenas.lease().resolve(unset).unwrap_err(), error);
            assert!(arenas.local().get(unset).is_none());
            leases.push(arenas.lease());
            if frame == 4 {
                leases.clear();
            }
            arenas.swap();
            assert_eq!(arenas.usage().stale_lookups, 0, "unset is not stale");
        }
        assert!(FrameArena::default().get(unset).is_none());
        assert!(FrameArena::new(64).get(unset).is_none());
    }

    #[derive(Debug)]
    enum Never {}
    check(FrameHandle::<u64>::default(), "u64");
    check(FrameHandle::<Never>::default(), "Never");
    check(FrameHandle::<&'static str>::default(), "&str");
    check(FrameHandle::<[String]>::default(), "[String]");
    check(FrameHandle::<[()]>::default(), "[()]");
    check(FrameHandle::<str>::default(), "str");
}

#[test]
fn lists_and_texts_are_empty_where_a_handle_does_not_resolve() {
    let mut arenas = FrameArenas::default();
    let (mut list, mut text) = (FrameHandle::default(), FrameHandle::default());
    assert_eq!((arenas.slice(list), arenas.text(text)), (&[][..], ""));
    list = arenas.local().share_slice_copy(&[1, 2]);
    text = arenas.local().share_str("two");
    let lease = arenas.lease();
    for frame in 0..4 {
        let expected = if frame < 2 {
            (&[1, 2][..], "two")
        } else {
            (&[][..], "")
        };
        assert_eq!((arenas.slice(list), arenas.text(text)), expected);
        assert_eq!((lease.slice(list), lease.text(text)), (&[1, 2][..], "two"));
        arenas.swap();
        // The stale ones are counted, the unset ones of the first frame are not.
        assert_eq!(arenas.usage().stale_lookups, if frame < 2 { 0 } else { 2 });
    }
    let later = arenas.lease();
    assert_eq!((later.slice(list), later.text(text)), (&[][..], ""));
}

#[test]
fn errors_name_type_age_and_frame() {
    let mut arenas = FrameArenas::default();
    advance(&mut arenas, 10);
    let handle = arenas.local().share_slice_copy(&[Some(1_u8)]);
    advance(&mut arenas, 3);
    let error = arenas.resolve(handle).unwrap_err();
    assert!(
        matches!(
            error,
            HandleError::Stale {
                age_in_frames: 3,
                frame: 10,
                lives_for_frames: 2,
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.starts_with("stale `FrameHandle<[Option<u8>]>`: made 3 frames ago, in frame 10"),
        "{text}"
    );
    assert!(
        text.contains("its own frame and the next; share it again"),
        "{text}"
    );
    assert_eq!(text.contains("core/handles.rs:"), cfg!(debug_assertions));
    assert_eq!(error.made_at().is_some(), cfg!(debug_assertions));

    let standalone = FrameArena::default().share(1_u8);
    let error = arenas.resolve(standalone).unwrap_err();
    assert!(matches!(
        error,
        HandleError::Foreign {
            is_standalone: true,
            ..
        }
    ));
    let text = error.to_string();
    assert!(
        text.starts_with("foreign `FrameHandle<u8>`: made in a standalone `FrameArena`"),
        "{text}"
    );
    let in_scratch = arenas.scratch().vec::<u8>().share();
    let error = arenas.resolve(in_scratch).unwrap_err();
    assert!(matches!(
        error,
        HandleError::Foreign {
            is_standalone: false,
            is_scratch: true,
            ..
        }
    ));
    let text = error.to_string();
    assert!(
        text.starts_with("foreign `FrameHandle<[u8]>`: made in scratch"),
        "{text}"
    );
    assert!(text.contains("made in `FrameArenas::local`"), "{text}");
    let in_a_scope = arenas.scratch().scope(|scope| scope.share(1_u8));
    let text = arenas.resolve(in_a_scope).unwrap_err().to_string();
    assert!(text.contains("made in scratch"), "{text}");
    let other = FrameArenas::default().local().share(1_u8);
    let error = arenas.resolve(other).unwrap_err();
    assert!(matches!(
        error,
        HandleError::Foreign {
            is_standalone: false,
            ..
        }
    ));
}

#[test]
fn handles_are_ordered_by_frame_and_then_by_address() {
    let mut arenas = FrameArenas::default();
    let first = arenas.local().share(9);
    let second = arenas.local().share(8);
    advance(&mut arenas, 2);
    // At the address of the first one.
    let later = arenas.local().share(7);
    let mut handles = [later, second, first, FrameHandle::default()];
    handles.sort();
    assert_eq!(handles, [FrameHandle::default(), first, second, later]);
    let long = arenas.local().share_str("ab");
    assert_eq!(long.cmp(&long), std::cmp::Ordering::Equal);
    assert_eq!(long.partial_cmp(&long), Some(std::cmp::Ordering::Equal));
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
        arenas.local().share_slice_clone(&source)
    }));
    assert!(broken.is_err());
    assert_eq!(ALIVE.load(Relaxed), 3, "the two clones are gone");
    let fine = arenas.local().share_slice_clone(&source[..2]);
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
            arena.share_slice_fill_with(4, |index| {
                // Between any two elements, also with a destructor.
                arena.share(Counted::new(&ALIVE));
                assert!(index < broken_at, "it breaks");
                Counted::new(&ALIVE)
            })
        }));
        assert!(broken.is_err());
        assert_eq!(ALIVE.load(Relaxed), broken_at as i32 + 1, "the inner ones");
        let broken = catch_unwind(AssertUnwindSafe(|| {
            arena.share_with(|| -> Counted { panic!("it breaks") })
        }));
        assert!(broken.is_err());
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
    let outer = arena.share_with(|| {
        inner.set(arena.share_slice_fill_with(100, |_| arena.share_str("inner")));
        [1_u64; 100]
    });
    let list = arena.share_slice_fill_with(100, |index| {
        arena.share_iter(0..index);
        index
    });
    assert_eq!(arenas[outer], [1; 100]);
    assert!(arenas[list].iter().copied().eq(0..100));
    assert!(
        arenas[inner.get()]
            .iter()
            .all(|text| &arenas[*text] == "inner")
    );
}

#[test]
fn nothing_is_made_where_there_is_no_memory() {
    let arena = FrameArena::with_settings(&settings(128, OverflowPolicy::Fail));
    let large = [0_u8; 200];
    let never = |_| -> String { unreachable!("there is no room") };
    assert!(
        arena
            .try_share_with(|| -> [u8; 200] { unreachable!() })
            .is_err()
    );
    assert!(arena.try_share_slice_fill_with(100, never).is_err());
    assert!(arena.try_share_slice_clone(&large).is_err());
    assert!(arena.try_share_slice_fill_copy(200, 0_u8).is_err());
    assert!(arena.try_share_slice_fill_default::<u64>(200).is_err());
    assert!(arena.try_share_slice_aligned::<4096, _>(200, 0_u8).is_err());
    // There is room for the elements, but not for the note that they need dropping.
    assert!(arena.try_share_slice_fill_with(STRINGS, never).is_err());
    assert!(arena.try_alloc_slice_clone(&large).is_err());
    assert!(arena.try_alloc_slice_fill_default::<u64>(200).is_err());
}

#[test]
fn zero_sized_values_with_destructors_are_shared_and_dropped() {
    static DROPS: AtomicI32 = AtomicI32::new(0);
    #[derive(Default)]
    #[repr(align(256))]
    struct Nothing;
    impl Drop for Nothing {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    let mut arenas = FrameArenas::default();
    let list = arenas.local().share_slice_fill_default::<Nothing>(7);
    assert_eq!(arenas[list].len(), 7);
    assert_eq!(arenas[list].as_ptr().addr() % 256, 0);
    let one = arenas.local().share_with(|| Nothing);
    assert_eq!((&raw const arenas[one]).addr() % 256, 0);
    let none = arenas.local().share_slice_fill_default::<Nothing>(0);
    assert!(arenas[none].is_empty());
    advance(&mut arenas, 2);
    assert_eq!(DROPS.load(Relaxed), 8);
}
