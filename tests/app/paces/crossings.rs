//! Handles that cross between frames and fixed steps: what is said of them, and where.

use bevy_app::{App, FixedMain, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenas, FrameHandle,
    HandleError, StepCrossing,
};

use super::Level;
use crate::common::log::logged;

#[derive(Resource, Default)]
struct Held {
    of_frame: FrameHandle<str>,
    of_step: FrameHandle<[u8]>,
}

fn make_in_frame(arenas: Res<FrameArenas>, mut held: ResMut<Held>) {
    held.of_frame = arenas.local().share_str("frame");
}

fn make_in_step(arenas: Res<FrameArenas>, mut held: ResMut<Held>) {
    held.of_step = arenas.local().share_slice_copy(&[1, 2]);
    assert_eq!(arenas.slice(held.of_step), [1, 2]);
}

fn app(warns_of_steps: bool) -> App {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        warns_of_steps,
        ..Default::default()
    })
    .init_resource::<Held>()
    .add_systems(Update, make_in_frame)
    .add_systems(FixedUpdate, make_in_step);
    app
}

/// A frame with one step in it, after `Update`.
fn frame(app: &mut App) {
    app.update();
    app.world_mut().run_schedule(FixedMain);
}

#[test]
fn a_handle_that_crosses_into_a_step_is_warned_of_once_with_both_lines() {
    fn read(arenas: Res<FrameArenas>, held: Res<Held>) {
        assert_eq!(arenas.text(held.of_frame), "frame");
    }
    let log = logged(|| {
        let mut app = app(true);
        app.add_systems(FixedUpdate, read);
        (0..5).for_each(|_| frame(&mut app));
    });
    if cfg!(debug_assertions) {
        assert_eq!(log.len(), 1, "{log:?}");
        assert!(log[0].starts_with("WARN a handle of `FrameArenas`, made at "));
        assert_eq!(log[0].matches("crossings.rs:").count(), 2, "{log:?}");
        assert!(log[0].contains("`ArenasOf<FixedStep>`"), "{log:?}");
    } else {
        assert!(log.is_empty(), "{log:?}");
    }
}

#[test]
fn a_handle_that_crosses_out_of_a_step_is_warned_of_once_with_both_lines() {
    fn read(arenas: Res<FrameArenas>, held: Res<Held>) {
        if !held.of_step.is_unset() {
            assert_eq!(arenas[held.of_step], [1, 2]);
        }
    }
    let log = logged(|| {
        let mut app = app(true);
        app.add_systems(Update, read);
        (0..5).for_each(|_| frame(&mut app));
    });
    if cfg!(debug_assertions) {
        assert_eq!(log.len(), 1, "{log:?}");
        assert!(log[0].contains(", made in a fixed step at "), "{log:?}");
        assert_eq!(log[0].matches("crossings.rs:").count(), 2, "{log:?}");
    } else {
        assert!(log.is_empty(), "{log:?}");
    }
}

#[test]
fn who_stays_on_one_side_or_knows_better_is_not_warned() {
    fn read_all(arenas: Res<FrameArenas>, held: Res<Held>) {
        arenas.text(held.of_frame);
        arenas.slice(held.of_step);
    }
    fn read_of_frame(arenas: Res<FrameArenas>, held: Res<Held>) {
        arenas.text(held.of_frame);
    }
    let log = logged(|| {
        let mut app = app(true);
        app.add_systems(Update, read_of_frame);
        (0..5).for_each(|_| frame(&mut app));
    });
    assert!(log.is_empty(), "{log:?}");
    let log = logged(|| {
        let mut app = app(false);
        app.add_systems(Update, read_all)
            .add_systems(FixedUpdate, read_all);
        (0..5).for_each(|_| frame(&mut app));
    });
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn a_stale_handle_that_crossed_says_where_to_allocate() {
    let mut app = app(true);
    frame(&mut app);
    let Held { of_frame, of_step } = *app.world().resource::<Held>();
    app.update();
    app.update();
    let arenas = app.world().resource::<FrameArenas>();
    let error = arenas.resolve(of_step).unwrap_err();
    let HandleError::Stale { crossing, .. } = error else {
        panic!("{error}");
    };
    let seen = cfg!(debug_assertions);
    assert_eq!(crossing, seen.then_some(StepCrossing::MadeInStep));
    assert_eq!(
        error.to_string().contains(
            "made in a fixed step and read in a frame: allocate it in `ArenasOf<FixedStep>`"
        ),
        seen
    );

    #[derive(Resource)]
    struct Text(String);
    let read = move |arenas: Res<FrameArenas>, mut commands: Commands| {
        let error = arenas.resolve(of_frame).unwrap_err();
        commands.insert_resource(Text(error.to_string()));
    };
    app.add_systems(FixedUpdate, read);
    app.world_mut().run_schedule(FixedMain);
    let text = &app.world().resource::<Text>().0;
    assert_eq!(
        text.contains("made before a fixed step and read in it"),
        seen,
        "{text}"
    );
}

#[test]
fn errors_name_the_pace() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::fixed_step(),
        FrameArenaPacePlugin::<Level>::by_hand(),
    ));
    let mut level = app.world_mut().resource_mut::<ArenasOf<Level>>();
    let map = level.local().share_str("caves");
    (0..3).for_each(|_| level.swap());
    let text = level.resolve(map).unwrap_err().to_string();
    assert!(
        text.starts_with(
            "stale `FrameHandle<str>`: made 3 periods ago, in period 0 of `ArenasOf<Level>`"
        ),
        "{text}"
    );
    assert!(
        text.contains("its own period and the next; share it again each period"),
        "{text}"
    );

    let frame = app.world().resource::<FrameArenas>();
    let text = frame.resolve(map).unwrap_err().to_string();
    assert!(
        text.starts_with("foreign `FrameHandle<str>`: made in `ArenasOf<Level>`"),
        "{text}"
    );
    assert!(text.contains(", and looked up in `FrameArenas`;"), "{text}");
    let step = app.world().resource::<ArenasOf<FixedStep>>();
    for (text, made) in [
        (
            step.resolve(map).unwrap_err().to_string(),
            "`ArenasOf<Level>`",
        ),
        (
            step.resolve(frame.local().share(1))
                .unwrap_err()
                .to_string(),
            "`FrameArenas`",
        ),
        (
            step.lease().resolve(map).unwrap_err().to_string(),
            "`ArenasOf<Level>`",
        ),
    ] {
        assert!(text.contains(&format!("made in {made}")), "{text}");
        assert!(
            text.contains("looked up in `ArenasOf<FixedStep>`"),
            "{text}"
        );
    }
}
