//! The family of `alloc_*` methods: what each returns, and what its closures may do.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bevy_frame_arena::{
    AllocOrInitError, ArenaError, FrameArena, FrameArenaSettings, OverflowPolicy,
};

fn limited(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        worker_capacity_bytes: bytes,
        overflow: OverflowPolicy::Fail,
        ..Default::default()
    })
}

#[test]
fn slices_are_cloned_and_filled_with_defaults() {
    let arena = FrameArena::new(1024);
    let source: [Range<u8>; 2] = [0..3, 7..9];
    for clones in [
        arena.alloc_slice_clone(&source),
        arena.try_alloc_slice_clone(&source).unwrap(),
    ] {
        assert_eq!(clones, source);
        clones[0].next();
    }
    assert_eq!(source[0], 0..3);
    for defaults in [
        arena.alloc_slice_fill_default::<Option<u8>>(3),
        arena.try_alloc_slice_fill_default(3).unwrap(),
    ] {
        assert_eq!(defaults, [None; 3]);
    }
    assert!(arena.alloc_slice_clone::<Range<u8>>(&[]).is_empty());
    assert!(arena.alloc_slice_fill_default::<u64>(0).is_empty());
}

#[test]
fn what_could_not_be_made_is_given_back() {
    let arena = FrameArena::new(1024);
    let kept = arena.alloc(1_u64);
    assert_eq!(arena.alloc_try_with(|| Err::<[u64; 8], _>("no")), Err("no"));
    assert_eq!(
        arena.try_alloc_try_with(|| Err::<[u64; 8], _>("no")),
        Err(AllocOrInitError::Init("no"))
    );
    assert_eq!(arena.used_bytes(), 8);
    let made = arena.alloc_try_with(|| Ok::<_, ()>([2_u64; 8])).unwrap();
    let tried = arena.try_alloc_try_with(|| Ok::<_, ()>(3_u64)).unwrap();
    assert_eq!((*kept, *made, *tried), (1, [2; 8], 3));
    assert_eq!(arena.used_bytes(), 80);
    // Nothing is taken for no bytes, and nothing is given back.
    assert_eq!(arena.alloc_try_with(|| Err::<(), _>("no")), Err("no"));
    assert_eq!(arena.used_bytes(), 80);
}

#[test]
fn what_could_not_be_made_is_not_shared_and_given_back() {
    let mut arena = FrameArena::new(1024);
    arena.alloc(1_u64);
    let failed = arena.share_try_with(|| Err::<[u64; 8], _>("no"));
    assert_eq!(failed, Err("no"));
    // With a destructor there is a note of it, which goes as well.
    let failed = arena.share_try_with(|| Err::<String, _>("no"));
    assert_eq!(failed, Err("no"));
    let failed = arena.try_share_try_with(|| Err::<String, _>("no"));
    assert_eq!(failed, Err(AllocOrInitError::Init("no")));
    assert_eq!(arena.used_bytes(), 8);

    let alive = Arc::new(());
    let made = arena.share_try_with(|| Ok::<_, ()>(Arc::clone(&alive)));
    let tried = arena.try_share_try_with(|| Ok::<_, ()>([3_u64; 2]));
    assert!(Arc::ptr_eq(arena.get(made.unwrap()).unwrap(), &alive));
    assert_eq!(arena.get(tried.unwrap()), Some(&[3; 2]));
    arena.reset();
    assert_eq!(Arc::strong_count(&alive), 1, "dropped with the reset");

    let full = limited(128);
    let refused = full.try_share_try_with(|| -> Result<[u8; 200], ()> { unreachable!() });
    assert!(matches!(refused, Err(AllocOrInitError::Alloc(_))));
    // There is room for the value, and none for the note.
    full.alloc_slice_fill_copy(128 - size_of::<String>(), 0_u8);
    let refused = full.try_share_try_with(|| -> Result<String, ()> { unreachable!() });
    assert!(matches!(refused, Err(AllocOrInitError::Alloc(_))));
}

#[test]
fn what_could_not_be_shared_is_not_given_back_below_what_was_made_meanwhile() {
    let arena = FrameArena::new(1024);
    let inner = Cell::new(None);
    let failed = arena.share_try_with(|| {
        inner.set(Some(arena.alloc(5_u64)));
        Err::<String, _>("no")
    });
    assert_eq!(failed, Err("no"));
    let after = arena.alloc_slice_fill_copy(16, 6_u64);
    assert_eq!(inner.take().copied(), Some(5));
    assert_eq!(after, [6; 16]);
}

#[test]
fn what_could_not_be_made_is_not_given_back_below_what_was_made_meanwhile() {
    let arena = FrameArena::new(1024);
    let inner = Cell::new(None);
    let failed = arena.alloc_try_with(|| {
        inner.set(Some(arena.alloc(5_u64)));
        Err::<u64, _>("no")
    });
    assert_eq!(failed, Err("no"));
    let after = arena.alloc_slice_fill_copy(4, 6_u64);
    assert_eq!(inner.take().copied(), Some(5));
    assert_eq!(after, [6; 4]);
    // A vector that came and went behind it is no obstacle.
    let used = arena.used_bytes();
    let failed = arena.alloc_try_with(|| {
        let mut list = arena.vec();
        list.push(7_u64);
        Err::<[u64; 3], _>(list[0])
    });
    assert_eq!(failed, Err(7));
    assert_eq!(arena.used_bytes(), used);
}

#[test]
fn what_could_not_be_made_in_a_full_chunk_is_not_given_back_in_the_next() {
    for bytes in [8, 64, 120, 128] {
        let arena = FrameArena::new(128);
        arena.alloc_slice_fill_copy(128 - bytes.min(64), 1_u8);
        let inner = Cell::new(None);
        let failed = arena.alloc_try_with(|| {
            inner.set(Some(arena.alloc_slice_fill_copy(bytes, 5_u8)));
            Err::<[u64; 8], _>("no")
        });
        assert_eq!(failed, Err("no"));
        let after = arena.alloc_slice_fill_copy(64, 6_u8);
        assert!(inner.take().unwrap().iter().all(|byte| *byte == 5));
        assert_eq!(after, [6; 64]);
    }
}

#[test]
fn nothing_is_made_where_there_is_no_room() {
    let arena = limited(128);
    let refused = arena.try_alloc_try_with(|| -> Result<[u8; 200], ()> { unreachable!() });
    assert!(matches!(
        refused,
        Err(AllocOrInitError::Alloc(ArenaError::Exhausted { .. }))
    ));
    let Err(AllocOrInitError::Alloc(error)) = refused else {
        unreachable!("as above")
    };
    let text = AllocOrInitError::<ArenaError>::Alloc(error).to_string();
    assert!(text.contains("exhausted"), "{text}");
    assert_eq!(*arena.alloc(1), 1);
}

#[test]
fn closures_that_panic_leave_the_arena_usable() {
    #[derive(Default)]
    struct Fragile;
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            panic!("the clone breaks")
        }
    }
    let arena = FrameArena::new(1024);
    let before = arena.alloc(1_u64);
    type Attack = fn(&FrameArena) -> usize;
    let attacks: [Attack; 4] = [
        |arena| arena.alloc_slice_clone(&[Fragile, Fragile]).len(),
        |arena| arena.alloc_slice_fill_with(3, |i| [10_u64, 0][i]).len(),
        |arena| {
            *arena
                .alloc_try_with(|| -> Result<_, ()> { panic!("it breaks") })
                .unwrap()
        },
        |arena| *arena.alloc_with(|| panic!("it breaks")),
    ];
    for attack in attacks {
        assert!(catch_unwind(AssertUnwindSafe(|| attack(&arena))).is_err());
        let after = arena.alloc_slice_fill_copy(4, 2_u64);
        assert_eq!((*before, &*after), (1, &[2; 4][..]));
    }
}

#[test]
fn an_alignment_is_not_blamed_on_the_number_of_elements() {
    let arena = limited(256);
    arena.alloc(1_u8);
    // Far beyond what there is, but a valid alignment: it is the memory that is missing.
    let error = arena.try_alloc_slice_aligned::<{ 1 << 29 }, _>(1, 0_u8);
    assert!(
        !matches!(error, Ok(_) | Err(ArenaError::TooLong { .. })),
        "{error:?}"
    );
    let error = arena.try_alloc_slice_aligned::<64, _>(usize::MAX, 0_u16);
    assert!(matches!(
        error,
        Err(ArenaError::TooLong {
            len: usize::MAX,
            ..
        })
    ));
}
