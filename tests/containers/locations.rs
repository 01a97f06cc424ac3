//! A failure points at the caller's line, not into this crate.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Once;

use bevy_frame_arena::{CollectIn, FrameArena, FrameArenaSettings, FrameString, FrameVec};
use bevy_frame_arena::{FrameBox, OverflowPolicy};

thread_local! {
    static FAILED_AT: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Returns the line at which a call panics, and whether it is in this file.
fn line_of(call: impl FnOnce()) -> Option<(u32, bool)> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let here = |place: &Location<'_>| (place.line(), place.file() == file!());
            FAILED_AT.set(info.location().map(here));
            before(info);
        }));
    });
    FAILED_AT.set(None);
    catch_unwind(AssertUnwindSafe(call)).expect_err("it should panic");
    FAILED_AT.get()
}

/// Expects each call to panic at its own line.
macro_rules! each_fails_at_its_line {
    ($($call:expr;)*) => {$({
        assert_eq!(line_of(|| { let _ = $call; }), Some((line!(), true)));
    })*};
}

#[test]
fn each_method_that_can_fail_for_memory_points_at_its_caller() {
    let arena = &FrameArena::with_settings(&FrameArenaSettings {
        worker_capacity_bytes: 128,
        overflow: OverflowPolicy::Fail,
        ..FrameArenaSettings::default()
    });
    let list = &mut arena.collect([1_u64, 2, 3, 4, 5]);
    let text = &mut arena.string();
    let other = &FrameArena::new(4096);
    let many = &mut other.collect(0..100_u64);
    let mut map = arena.map::<u64, [u64; 99]>();
    let mut set = arena.set::<[u64; 99]>();
    let long = "x".repeat(200);
    list.reserve_exact(0);
    // `line!()` inside a macro is the line of the whole call, so one call each.
    each_fails_at_its_line! { (0..99).fold((), |(), n| list.push(n)); }
    each_fails_at_its_line! { (0..99).fold((), |(), n| list.insert(0, n)); }
    each_fails_at_its_line! { list.extend(0..100); }
    each_fails_at_its_line! { list.extend(&[1; 100]); }
    each_fails_at_its_line! { list.extend_from_slice(&[1; 100]); }
    each_fails_at_its_line! { list.extend_from_within(..); }
    each_fails_at_its_line! { list.append(many); }
    each_fails_at_its_line! { list.resize(100, 1); }
    each_fails_at_its_line! { list.resize_with(100, || 1); }
    each_fails_at_its_line! { list.reserve(100); }
    each_fails_at_its_line! { list.reserve_exact(100); }
    each_fails_at_its_line! { list.splice(.., 0..100); }
    each_fails_at_its_line! { list.clone(); }
    each_fails_at_its_line! { list.split_off(0); }
    each_fails_at_its_line! { FrameVec::<u64>::with_capacity_in(100, arena); }
    each_fails_at_its_line! { arena.vec_with_capacity::<u64>(100); }
    each_fails_at_its_line! { arena.collect(0..100); }
    each_fails_at_its_line! { (0..100).collect_in(arena); }
    each_fails_at_its_line! { arena.alloc_slice_fill_iter(0..100); }
    each_fails_at_its_line! { arena.boxed([1_u64; 99]); }
    each_fails_at_its_line! { FrameBox::new_in([1_u64; 99], arena); }
    each_fails_at_its_line! { arena.alloc_fmt(format_args!("{long}")); }
    each_fails_at_its_line! { FrameString::with_capacity_in(100, arena); }
    each_fails_at_its_line! { text.push_str(&long); }
    each_fails_at_its_line! { (0..99).fold((), |(), _| text.push('x')); }
    each_fails_at_its_line! { text.reserve(100); }
    each_fails_at_its_line! { write!(text, "{long}"); }
    each_fails_at_its_line! { text.extend([&*long]); }
    each_fails_at_its_line! { map.insert(1, [1; 99]); }
    each_fails_at_its_line! { map.entry(1).or_insert([1; 99]); }
    each_fails_at_its_line! { map.reserve(9); }
    each_fails_at_its_line! { map.extend([(1, [1; 99])]); }
    each_fails_at_its_line! { arena.map_with_capacity::<u64, u64>(100); }
    each_fails_at_its_line! { set.insert([1; 99]); }
    each_fails_at_its_line! { set.reserve(9); }
    each_fails_at_its_line! { set.extend([[1; 99]]); }
    each_fails_at_its_line! { arena.set_with_capacity::<u64>(100); }
}

#[test]
fn each_index_out_of_bounds_points_at_its_caller() {
    let arena = &FrameArena::new(4096);
    let list = &mut arena.collect([1_u64]);
    let text = &mut arena.string();
    text.push('…');
    each_fails_at_its_line! { list.remove(1); }
    each_fails_at_its_line! { list.swap_remove(1); }
    each_fails_at_its_line! { list.insert(2, 1); }
    each_fails_at_its_line! { list.split_off(2); }
    each_fails_at_its_line! { list.drain(..2); }
    each_fails_at_its_line! { list.splice(..2, []); }
    each_fails_at_its_line! { list.extend_from_within(..2); }
    each_fails_at_its_line! { text.truncate(1); }
    each_fails_at_its_line! { arena.map::<u64, u64>()[&1]; }
}
