//! The family of `alloc_*` methods: what each returns, and what its closures may do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings};

fn limited(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..Default::default()
    })
}

#[test]
fn closures_that_panic_leave_the_arena_usable() {
    let arena = FrameArena::new(1024);
    let before = arena.alloc(1_u64);
    type Attack = fn(&FrameArena) -> usize;
    let attacks: [Attack; 2] = [
        |arena| arena.alloc_slice_fill_with(3, |i| [10_u64, 0][i]).len(),
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
