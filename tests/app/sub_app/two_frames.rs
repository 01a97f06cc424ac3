//! A world that holds the frame before the last as well.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ExtractedFrame, FrameArenaPlugin, FrameArenaSettings, FrameArenaSubAppPlugin, FrameArenas,
    FrameHandle, FrameLease, LivesFor,
};

use super::game::{RenderApp, arenas, empty_sub_app, generations, parked};

fn app(frames: usize, lives_for: LivesFor) -> App {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                lives_for,
                ..Default::default()
            },
            ..Default::default()
        },
        FrameArenaSubAppPlugin {
            frames,
            ..FrameArenaSubAppPlugin::new(RenderApp)
        },
    ))
    .insert_sub_app(RenderApp, empty_sub_app());
    app.finish();
    app
}

fn extracted(app: &App) -> &ExtractedFrame {
    app.sub_app(RenderApp).world().resource()
}

#[test]
fn the_frame_before_resolves_and_costs_one_generation() {
    for (frames, lives_for, all, leased) in [
        (1, LivesFor::TwoPeriods, 2, 0),
        (2, LivesFor::TwoPeriods, 3, 1),
        (2, LivesFor::ThreePeriods, 3, 0),
        (3, LivesFor::ThreePeriods, 4, 1),
        (0, LivesFor::TwoPeriods, 2, 0),
    ] {
        let mut app = app(frames, lives_for);
        let mut handles = Vec::new();
        for frame in 1..=8 {
            app.update();
            handles.push(arenas(&app).local().share(frame));
            let held = extracted(&app);
            for (age, &handle) in handles.iter().rev().enumerate() {
                assert_eq!(held.get(handle).is_some(), age < frames.max(1));
            }
            assert_eq!(held.lease().map(FrameLease::period), Some(frame));
            if frame > 4 {
                assert_eq!((generations(&app), parked(&app)), (all, leased));
            }
        }
    }
}

#[test]
fn a_number_beyond_all_memory_holds_all_frames() {
    for frames in [usize::MAX / 64, usize::MAX] {
        let mut app = app(frames, LivesFor::OnePeriod);
        let mut handles = Vec::new();
        for frame in 1..=8 {
            app.update();
            handles.push(arenas(&app).local().share(frame));
        }
        let held = extracted(&app);
        assert!(handles.iter().all(|&handle| held.get(handle).is_some()));
    }
}

#[test]
fn a_list_of_every_other_frame_is_always_there() {
    #[derive(Resource, Clone, Copy, Default)]
    struct Lights(FrameHandle<[u64]>);
    fn find_lights(arenas: Res<FrameArenas>, mut lights: ResMut<Lights>) {
        if arenas.period() % 2 == 1 {
            lights.0 = arenas.local().share_slice_copy(&[arenas.period()]);
        }
    }
    let mut app = app(2, LivesFor::TwoPeriods);
    app.init_resource::<Lights>()
        .add_systems(Update, find_lights);
    for frame in 1..=10 {
        app.update();
        let lights = app.world().resource::<Lights>().0;
        assert_eq!(extracted(&app).slice(lights), [frame - (1 - frame % 2)]);
    }
}

#[test]
fn an_extract_of_the_same_frame_pushes_nothing_out() {
    let mut app = app(2, LivesFor::TwoPeriods);
    app.update();
    let before = arenas(&app).local().share(1);
    app.update();
    let mut render = app.remove_sub_app(RenderApp).unwrap();
    for _ in 0..3 {
        render.extract(app.world_mut());
        let held = render.world().resource::<ExtractedFrame>();
        assert_eq!(held.get(before), Some(&1));
    }
    assert_eq!(arenas(&app).usage().stale_lookups, 0);
}

#[test]
fn the_error_says_type_frame_and_what_to_do() {
    let mut app = app(1, LivesFor::TwoPeriods);
    let never = ExtractedFrame::default();
    app.update();
    let old = arenas(&app).local().share_slice_copy(&[Some(1_u8)]);
    app.update();
    app.update();
    let held = extracted(&app);
    let error = held.resolve(old).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "`FrameHandle<[Option<u8>]>` of a frame that is not extracted: made in frame 1"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "that is 2 frames before the last one that was extracted, of which 1 is held"
        ),
        "{text}"
    );
    assert!(
        text.contains("raise `FrameArenaSubAppPlugin::frames`"),
        "{text}"
    );
    assert_eq!(text.contains("two_frames.rs:"), cfg!(debug_assertions));

    let text = never.resolve(old).unwrap_err().to_string();
    assert!(text.contains("nothing was extracted"), "{text}");
    let unset = held.resolve(FrameHandle::<u8>::default()).unwrap_err();
    assert!(unset.to_string().starts_with("unset"), "{unset}");
    let own = app.sub_app(RenderApp).world().resource::<FrameArenas>();
    let foreign = held.resolve(own.local().share(1)).unwrap_err();
    assert!(foreign.to_string().starts_with("foreign"), "{foreign}");

    // Made after the extract, which the other world has not seen yet.
    app.update();
    let render = app.remove_sub_app(RenderApp).unwrap();
    app.update();
    let new = arenas(&app).local().share_str("new");
    let held = render.world().resource::<ExtractedFrame>();
    let text = held.resolve(new).unwrap_err().to_string();
    assert!(text.contains("frame 4 was extracted last"), "{text}");
    assert_eq!((held.text(new), held.slice(old)), ("", &[][..]));
}

#[test]
fn lookups_that_fail_are_counted_once() {
    let mut app = app(2, LivesFor::TwoPeriods);
    app.update();
    let old = arenas(&app).local().share(1);
    app.update();
    let found = arenas(&app).local().share(2);
    app.update();
    app.update();
    let held = extracted(&app);
    assert_eq!((held.get(old), held.get(found)), (None, None));
    assert_eq!(held.get(FrameHandle::<u8>::default()), None);
    assert!(held.resolve(old).is_err());
    app.update();
    assert_eq!(arenas(&app).usage().stale_lookups, 3);
}
