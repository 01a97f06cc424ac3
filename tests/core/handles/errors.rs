//! Handles that do not resolve: what they give, what their errors say, and how they are counted.

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, LivesFor};

use super::advance;

#[test]
fn a_stale_handle_names_its_age() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    advance(&mut arenas, 2);
    let error = arenas.resolve(handle).unwrap_err();
    assert_eq!(error.age_in_periods(), Some(2));
    advance(&mut arenas, 98);
    let error = arenas.resolve(handle).unwrap_err();
    assert_eq!(error.age_in_periods(), Some(100));
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
    assert_eq!(first.error.age_in_periods(), Some(2));
    let text = first.to_string();
    assert!(text.contains("stale `FrameHandle<[u8]>`: made 2 frames ago"), "{text}");
    let file = file!();
    assert!(text.starts_with(&format!("at {file}:{read}, stale")), "{text}");
    assert_eq!(text.contains(&format!("{file}:{made}")), cfg!(debug_assertions), "{text}");
    // Another frame has its own, whoever looks it up.
    let later = arenas.local().share_str("later");
    let (read, nothing) = (line!(), lease.text(later));
    assert_eq!(nothing, "");
    advance(&mut arenas, 1);
    let first = arenas.usage().first_stale_lookup.unwrap();
    let text = first.to_string();
    assert!(text.contains("made in frame 3") && text.contains("the lease is of frame 0"), "{text}");
    assert_eq!(first.read_at.line(), read);
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
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("unset `FrameHandle<{type_name}>`"))
            );
            assert_eq!(error.age_in_periods(), None);
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
    assert_eq!(error.age_in_periods(), Some(3));
    let text = error.to_string();
    assert!(
        text.starts_with("stale `FrameHandle<[Option<u8>]>`: made 3 frames ago, in frame 10"),
        "{text}"
    );
    assert!(
        text.contains("its own frame and the next; share it again"),
        "{text}"
    );
    assert_eq!(text.contains("handles/errors.rs:"), cfg!(debug_assertions));
    assert_eq!(error.made_at().is_some(), cfg!(debug_assertions));

    let standalone = FrameArena::default().share(1_u8);
    let error = arenas.resolve(standalone).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("foreign `FrameHandle<u8>`: made in a standalone `FrameArena`"),
        "{text}"
    );
    let in_scratch = arenas.scratch().vec::<u8>().share();
    let error = arenas.resolve(in_scratch).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("foreign `FrameHandle<[u8]>`: made in scratch"),
        "{text}"
    );
    assert!(text.contains("readers in `FrameArenas::local`"), "{text}");
    let other = FrameArenas::default().local().share(1_u8);
    let error = arenas.resolve(other).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("by other `FrameArenas`"), "{text}");
}

#[test]
fn errors_say_how_long_data_lives() {
    for (lives_for, life) in [
        (LivesFor::OnePeriod, "for its own frame only;"),
        (LivesFor::TwoPeriods, "for its own frame and the next;"),
        (LivesFor::ThreePeriods, "for its own frame and the next 2;"),
    ] {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            lives_for,
            ..FrameArenaSettings::default()
        });
        let handle = arenas.local().share(1);
        advance(&mut arenas, lives_for.periods() as u32);
        let text = arenas.resolve(handle).unwrap_err().to_string();
        assert!(text.contains(life), "{text}");
        assert_eq!(
            text.contains("made 1 frame ago"),
            lives_for == LivesFor::OnePeriod
        );
    }
}
