//! A global allocator that asks for the names of paces while they are listed.

use std::cell::Cell;
use std::sync::LazyLock;

use bevy_frame_arena::{ArenasOf, FrameArenas, FrameHandle};

use crate::hostile_allocator::{Trick, with};

struct Level;

static STALE: LazyLock<FrameHandle<u64>> =
    LazyLock::new(|| FrameArenas::default().local().share(7));

thread_local! {
    static ARENAS: FrameArenas = FrameArenas::default();
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Resolves a handle in vain: the error has the names of the paces of both arenas.
fn resolve_in_vain() {
    CALLS.set(CALLS.get() + 1);
    let error = ARENAS.with(|arenas| arenas.resolve(*STALE).copied());
    assert!(error.is_err_and(|error| error.age_in_periods().is_none()));
}

#[test]
fn a_global_allocator_may_resolve_stale_handles_while_a_pace_gets_its_name() {
    LazyLock::force(&STALE);
    ARENAS.with(|arenas| assert_eq!(arenas.period(), 0));
    let new = || ArenasOf::<Level>::default();
    let paces: Vec<_> = (0..40)
        .map(|_| with(Trick::EachCall(resolve_in_vain), new))
        .collect();
    assert!(CALLS.get() > 40, "the allocator called back");
    // Each has its name, and so has the last one after the others are gone.
    let foreign = paces[39].local().share(8_u64);
    let text = |paces: &ArenasOf<Level>| paces.resolve(*STALE).unwrap_err().to_string();
    assert!(paces.iter().all(|pace| text(pace).contains("Level")));
    let last = paces.into_iter().next_back().expect("there are 40");
    assert!(text(&last).contains("Level"), "{}", text(&last));
    assert_eq!(last[foreign], 8);
}
