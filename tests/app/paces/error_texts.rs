//! The texts of errors that a pace has a part in.

use bevy_app::{App, FixedMain, FixedUpdate, Last};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenas, FrameHandle,
};

use super::Level;
use crate::common::log::logged;

#[derive(Resource, Default)]
struct Held(FrameHandle<[u8]>);

#[test]
fn a_stale_handle_of_a_fixed_step_says_where_to_allocate_it() {
    fn share(arenas: Res<FrameArenas>, mut held: ResMut<Held>) {
        held.0 = arenas.local().share_slice_copy(&[1, 2]);
    }
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default())
        .init_resource::<Held>()
        .add_systems(FixedUpdate, share);
    app.world_mut().run_schedule(FixedMain);
    let log = logged(|| (0..2).for_each(|_| app.update()));
    assert!(
        log.is_empty(),
        "a handle that nobody reads is no news: {log:?}"
    );
    let arenas = app.world().resource::<FrameArenas>();
    let text = arenas
        .resolve(app.world().resource::<Held>().0)
        .unwrap_err()
        .to_string();
    let cure = "; if a fixed step reads this message or replaces this list, allocate it in \
                `ArenasOf<FixedStep>`: not every frame has a step";
    assert!(text.ends_with(cure), "{text}");
}

#[test]
fn a_stale_handle_of_the_fixed_steps_says_where_to_allocate_it_for_a_frame() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::fixed_step());
    let mut step = app.world_mut().resource_mut::<ArenasOf<FixedStep>>();
    let sound = step.local().share_str("bang");
    (0..2).for_each(|_| step.swap());
    let text = step.resolve(sound).unwrap_err().to_string();
    let cure = "; if a frame reads this message, allocate it in `FrameArenas`: a slow frame has \
                several steps";
    assert!(text.ends_with(cure), "{text}");
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
        text.ends_with(
            "its own period and the next; share it again each period, look it up with `get` if its maker \
             may pause, or take a `FrameLease` to keep it for longer"
        ),
        "{text}"
    );

    let mut ending = App::new();
    ending.add_plugins(FrameArenaPacePlugin::<Level>::ending_with(Last));
    let mut level = ending.world_mut().resource_mut::<ArenasOf<Level>>();
    let boss = level.local().share_str("dragon");
    level.swap();
    let text = level.resolve(boss).unwrap_err().to_string();
    assert!(
        text.ends_with("remove it with the level, e.g. in `OnExit`"),
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
