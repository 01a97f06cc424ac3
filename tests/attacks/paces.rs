//! The names of paces: listed while a global allocator asks for them, and too many for their table.

use std::cell::Cell;
use std::sync::{LazyLock, Mutex, PoisonError};

use bevy_frame_arena::{ArenasOf, FrameArenas, FrameHandle};

use crate::hostile_allocator::{Trick, with};

struct Level;

static STALE: LazyLock<FrameHandle<u64>> =
    LazyLock::new(|| FrameArenas::default().local().share(7));

/// Held by each test, because all paces of the process share the table.
static TABLE: Mutex<()> = Mutex::new(());

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
    let _table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
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

#[test]
fn paces_that_find_no_room_for_their_name_work_without_it() {
    let _table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || ArenasOf::<Level>::default();
    let has_name = |pace: &ArenasOf<Level>| {
        let error = pace.resolve(*STALE).unwrap_err();
        error.to_string().contains("Level")
    };
    for _ in 0..2 {
        let mut paces: Vec<_> = (0..300).map(|_| new()).collect();
        assert_eq!(paces.iter().filter(|pace| has_name(pace)).count(), 256);
        let mut foreign = *STALE;
        for pace in &mut paces {
            let own = pace.local().share(7_u64);
            assert_eq!((pace[own], pace.get(foreign)), (7, None));
            pace.swap();
            pace.swap();
            let error = pace.resolve(own).unwrap_err();
            assert_eq!(error.age_in_periods(), Some(2), "{error}");
            foreign = own;
        }
        // One without a name takes none away from others, and one with a name leaves room for another.
        paces.truncate(280);
        assert!(!has_name(&new()) && paces[..256].iter().all(has_name));
        paces.swap_remove(100);
        assert!(has_name(&new()));
    }
}
