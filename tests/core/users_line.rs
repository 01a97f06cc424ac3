//! Panics point at the user's line, not into the crate: for every public method that panics.

/// Checks a call, which is written once and stands on one line.
macro_rules! check {
    ($call:expr) => {
        $crate::users_line::at_its_line(stringify!($call), || $call)
    };
}

mod containers;
mod made_at;
mod workers;

use std::alloc::Layout;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use bevy_frame_arena::{FrameArena, FrameArenas, FrameHandle, share_format};

use crate::common::limits::limit_of;

thread_local! {
    /// File and line of the last panic of this thread.
    static LAST: RefCell<Option<(String, u32)>> = const { RefCell::new(None) };
}

/// Runs what must panic and checks that the panic names the file and line of the call.
///
/// The closure stands on the line of `check!` itself, so that both lines are one.
#[track_caller]
fn at_its_line<R>(what: &str, panics: impl FnOnce() -> R) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            let line = info.location().map(|at| (at.file().into(), at.line()));
            LAST.set(line);
            usual(info);
        }));
    });
    let here = Location::caller();
    LAST.set(None);
    let outcome = catch_unwind(AssertUnwindSafe(|| drop(panics())));
    assert!(outcome.is_err(), "`{what}` did not panic");
    let at = LAST.take().expect("the hook was called");
    assert_eq!(at, (here.file().to_owned(), here.line()), "`{what}`");
}

const TOO_LARGE: [u64; 64] = [0; 64];

fn full() -> FrameArena {
    let arena = FrameArena::with_settings(&limit_of(128));
    arena.alloc_slice_fill_copy(128, 0_u8);
    arena
}

#[test]
fn allocating_a_value_names_the_line() {
    let arena = &full();
    check!(arena.alloc(7_u64));
    check!(arena.alloc(TOO_LARGE));
    check!(arena.alloc_with(|| 7_u64));
    check!(arena.alloc_with(|| TOO_LARGE));
    check!(arena.alloc_layout(Layout::new::<u64>()));
    check!(FrameArena::new(usize::MAX));
}

#[test]
fn allocating_a_slice_names_the_line() {
    let arena = &full();
    check!(arena.alloc_slice_copy(&TOO_LARGE));
    check!(arena.alloc_slice_fill_copy(3, 7));
    check!(arena.alloc_slice_fill_with(3, |index| index));
    check!(arena.alloc_slice_aligned::<64, _>(3, 7));
    check!(arena.alloc_str("Ferris"));
    // More than there can be.
    check!(arena.alloc_slice_fill_copy(usize::MAX, 7));
    check!(arena.alloc_slice_fill_with(usize::MAX, |index| index));
    check!(arena.alloc_slice_aligned::<64, _>(usize::MAX, 7));
}

#[test]
fn sharing_a_value_names_the_line() {
    let arena = &full();
    check!(arena.share(7_u64));
    check!(arena.share(TOO_LARGE));
    check!(arena.share(String::new()));
    check!(arena.share_str("Ferris"));
    check!(arena.share_fmt(format_args!("{} HP", 3)));
    check!(share_format!(arena, "{} HP", 3));
}

#[test]
fn sharing_a_slice_names_the_line() {
    let arena = &full();
    check!(arena.share_slice_copy(&TOO_LARGE));
    check!(arena.share_iter(0..3));
    check!(arena.share_iter([String::new()]));
    check!(arena.share_iter(0..usize::MAX));
}

#[test]
fn looking_up_a_handle_names_the_line() {
    let mut arenas = FrameArenas::default();
    let stale = arenas.local().share(7);
    arenas.swap();
    arenas.swap();
    let foreign = FrameArena::default().share(7);
    let lease = arenas.lease();
    for handle in [stale, foreign, FrameHandle::default()] {
        check!(arenas[handle]);
        check!(lease[handle]);
    }
}
