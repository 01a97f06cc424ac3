//! Strings in an arena, against those of std.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bevy_frame_arena::FrameArena;
use proptest::prelude::*;

/// Characters of one to four bytes.
const CHARACTERS: [char; 4] = ['w', 'ä', '€', '🦀'];

fn text_of(numbers: &[u8]) -> String {
    let character = |n: &u8| CHARACTERS[usize::from(*n) % 4];
    numbers.iter().map(character).collect()
}

/// Returns what both return, or nothing if both panic.
fn same<R: PartialEq + std::fmt::Debug>(
    ours: impl FnOnce() -> R,
    theirs: impl FnOnce() -> R,
) -> Option<R> {
    let ours = catch_unwind(AssertUnwindSafe(ours)).ok();
    let theirs = catch_unwind(AssertUnwindSafe(theirs)).ok();
    assert_eq!(ours, theirs);
    ours
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_string_does_what_that_of_std_does_and_panics_where_it_panics(
        first in prop::collection::vec(any::<u8>(), 0..12),
        steps in prop::collection::vec(
            (0..5_u8, 0..24_usize, prop::collection::vec(any::<u8>(), 0..5)),
            0..12
        )
    ) {
        let arena = FrameArena::new(256);
        let mut theirs = text_of(&first);
        let mut ours = arena.string();
        ours += &theirs;
        for (kind, a, numbers) in steps {
            let text = text_of(&numbers);
            match kind {
                0 => _ = same(|| ours.push('€'), || theirs.push('€')),
                1 => _ = same(|| ours.push_str(&text), || theirs.push_str(&text)),
                2 => _ = same(|| ours.truncate(a), || theirs.truncate(a)),
                3 => _ = same(|| ours.pop(), || theirs.pop()),
                _ => {
                    let mut copy = arena.string();
                    copy += &text;
                    copy.clone_from(&ours);
                    ours = copy;
                }
            }
            prop_assert_eq!(&ours, &theirs);
            // It is text in the eyes of std, too.
            prop_assert!(str::from_utf8(ours.as_bytes()).is_ok());
        }
        prop_assert_eq!(&*ours.leak(), &*theirs);
    }
}
