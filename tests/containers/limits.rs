//! A setting never aborts: at a limit containers panic with the arena's error, or return it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings, FrameVec};

pub(crate) fn limited(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..FrameArenaSettings::default()
    })
}

fn budgeted(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: 64,
        budget_bytes: Some(bytes),
        ..FrameArenaSettings::default()
    })
}

/// Runs until it panics, and returns the text.
fn panic_of(call: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it should panic");
    *payload.downcast::<String>().expect("a formatted text")
}

type Call = fn(&mut FrameVec<u64>);

/// Each method that grows, called in a way that asks for more than there is.
const GROWING: [(&str, Call); 9] = [
    ("push", |list| (0..1000).for_each(|n| list.push(n))),
    ("insert", |list| (0..1000).for_each(|n| list.insert(0, n))),
    ("extend", |list| list.extend(0..1000)),
    ("extend of references", |list| list.extend(&[0; 1000])),
    ("extend, unknown length", |list| {
        list.extend((0..1000).filter(|_| true));
    }),
    ("extend_from_slice", |list| {
        list.extend_from_slice(&[0; 1000]);
    }),
    ("resize", |list| list.resize(1000, 0)),
    ("resize_with", |list| list.resize_with(1000, || 0)),
    ("reserve", |list| list.reserve(1000)),
];

#[test]
fn each_growing_method_panics_with_the_reason_and_its_numbers() {
    for (name, call) in GROWING {
        for (arena, limit) in [
            (limited(1024), "of 1 KiB; raise"),
            (budgeted(2048), "of 2 KiB; raise"),
        ] {
            let mut list = arena.vec();
            list.extend([1, 2]);
            let text = panic_of(|| call(&mut list));
            assert!(
                text.contains("exhausted") && text.contains(limit),
                "{name}: {text}"
            );
            assert!(list.len() >= 2, "{name}: what was there is there");
        }
    }
}

#[test]
fn each_try_twin_returns_the_reason() {
    let arena = limited(1024);
    let mut list = arena.collect([1_u64, 2]);
    let refused = |result: Result<(), ArenaError>| {
        assert!(
            matches!(result, Err(ArenaError::Exhausted { .. })),
            "{result:?}"
        );
    };
    refused((0..1000).try_for_each(|n| list.try_push(n)));
    refused(list.try_extend(0..1000));
    refused(list.try_extend_from_slice(&[0; 1000]));
    refused(list.try_resize(1000, 0));
    refused(list.try_reserve(1000));
    refused(arena.try_collect(0..1000).map(drop));
    refused(arena.try_boxed([0; 1000]).map(drop));
    refused(arena.try_vec_with_capacity::<u64>(1000).map(drop));
    refused(arena.map::<u64, u64>().try_reserve(1000));
    refused(arena.set::<u64>().try_reserve(1000));
    let another = FrameArena::new(64);
    let mut other = another.collect(0..1000);
    assert!(panic_of(|| list.append(&mut other)).contains("exhausted"));
    assert_eq!(other.len(), 1000);
}

#[test]
fn what_fits_is_granted_where_doubling_is_refused() {
    for arena in [limited(1024), budgeted(1024)] {
        let mut list = arena.vec();
        let pushed = (0..10_000_u64)
            .take_while(|&n| list.try_push(n).is_ok())
            .count();
        assert_eq!(list.len(), pushed);
        assert!(pushed * 8 > 1024 / 4, "{pushed} fit");
    }
    // In place, down to the last byte.
    let arena = limited(1024);
    let mut list = arena.vec();
    list.extend((0..128_u64).filter(|_| true));
    assert_eq!((list.len(), arena.block_remaining_bytes()), (128, 0));
    assert_eq!(arena.collect((0..0_u64).filter(|_| true)).len(), 0);
}

#[test]
fn an_iterator_of_unknown_length_whose_elements_fit_is_collected() {
    for count in [1_u32, 31, 32, 33, 100, 127, 128] {
        let arena = limited(1024);
        let list = arena.collect((0..count).filter(|_| true).map(u64::from));
        assert_eq!(list.len(), count as usize);
    }
}

#[test]
fn a_string_keeps_the_reason_however_it_is_written() {
    let arena = limited(64);
    let mut text = arena.string();
    text.push_str("kept");
    let long = "x".repeat(2000);
    let expected = "exhausted: 2004 bytes (2.0 KiB) requested";
    assert!(panic_of(|| text.push_str(&long)).contains(expected));
    assert!(panic_of(|| _ = write!(text, "{long}")).contains(expected));
    assert!(panic_of(|| _ = text.write_str(&long)).contains(expected));
    assert!(panic_of(|| (0..2000).for_each(|_| text.push('y'))).contains("exhausted"));
    assert!(panic_of(|| drop(text.clone())).contains("exhausted"));
    assert!(text.starts_with("kept"));
    text.try_push_str(&long).unwrap_err();
    text.try_write_fmt(format_args!("{long}")).unwrap_err();
    text.try_reserve(2000).unwrap_err();
}

#[test]
fn bytes_that_do_not_fit_are_an_error_with_the_reason_inside() {
    let arena = limited(64);
    let mut bytes = arena.vec();
    bytes.write_all(b"kept").unwrap();
    let error = bytes.write_all(&[0; 2000]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    let reason = error.get_ref().and_then(|reason| reason.downcast_ref());
    assert!(
        matches!(reason, Some(ArenaError::Exhausted { .. })),
        "{error}"
    );
    assert_eq!(bytes, *b"kept");
}

#[test]
fn maps_and_sets_panic_with_the_reason_instead_of_aborting() {
    for (arena, limit) in [
        (limited(1024), "of 1 KiB; raise"),
        (budgeted(2048), "of 2 KiB; raise"),
    ] {
        let mut map = arena.map();
        let text = panic_of(|| (0..1000).for_each(|n| _ = map.insert(n, n)));
        assert!(text.contains(limit), "{text}");
        let text = panic_of(|| (2000..3000).for_each(|n| *map.entry(n).or_insert(n) += 1));
        assert!(text.contains(limit), "{text}");
        assert!(panic_of(|| map.extend((0..1000).map(|n| (n, n)))).contains(limit));
        assert!(map.contains_key(&0) && !map.contains_key(&999));
        assert!(panic_of(|| map.reserve(1000)).contains(limit));
        map.try_reserve(1000).unwrap_err();
        assert!(matches!(
            map.try_reserve(usize::MAX),
            Err(ArenaError::TooLong { .. })
        ));
        while map.try_reserve(1).is_ok() {
            map.insert(map.len() + 5000, 1);
        }

        let mut set = arena.set();
        assert!(panic_of(|| (0..10_000).for_each(|n| _ = set.insert(n))).contains(limit));
        assert!(panic_of(|| set.extend(0..10_000)).contains(limit));
        assert!(panic_of(|| set.reserve(10_000)).contains(limit));
        set.try_reserve(10_000).unwrap_err();
    }
}
