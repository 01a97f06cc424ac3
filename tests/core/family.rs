//! The family of `alloc_*` methods: what each returns, and what its closures may do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::FrameArena;

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
