//! Arenas that somebody inserted, and no plugin swaps.

use bevy_app::{App, First, Last, Startup, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_frame_arena::{ArenasOf, FixedStep, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenas};

use crate::common::log::logged;

struct Dungeon;

/// An app that logs on this thread.
fn app() -> App {
    let mut app = App::new();
    for label in [First.intern(), Last.intern()] {
        app.edit_schedule(label, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    }
    app
}

fn play(app: &mut App) -> Vec<String> {
    logged(|| (0..20).for_each(|_| app.update()))
}

fn allocate<R: Resource + std::ops::Deref<Target = FrameArenas>>(arenas: Res<R>) {
    arenas.local().alloc([0_u8; 1024]);
}

#[test]
fn arenas_that_nothing_swaps_are_reported_once_with_the_plugin_to_add() {
    let mut app = app();
    app.init_resource::<FrameArenas>()
        .add_systems(Update, |arenas: Res<FrameArenas>| {
            arenas.local().alloc([0_u8; 1024]);
        });
    assert_eq!(
        play(&mut app),
        [
            "WARN nothing swaps `FrameArenas`: 2 frames took 2.0 KiB, and no memory is ever recycled. \
             Add their `FrameArenaPlugin`, which also adds the resource"
        ]
    );
}

#[test]
fn paces_that_nothing_ends_are_reported_with_their_plugin() {
    let mut app = app();
    app.init_resource::<ArenasOf<FixedStep>>()
        .add_systems(Startup, |mut commands: Commands| {
            commands.insert_resource(ArenasOf::<Dungeon>::default());
        })
        .add_systems(
            Update,
            (
                allocate::<ArenasOf<FixedStep>>,
                allocate::<ArenasOf<Dungeon>>,
            ),
        );
    let mut log = play(&mut app);
    log.sort();
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(
        log[0].starts_with("WARN nothing swaps `ArenasOf<Dungeon>`")
            && log[0].ends_with("Add their `FrameArenaPacePlugin`, which also adds the resource"),
        "{log:?}"
    );
    assert!(
        log[1].starts_with("WARN nothing swaps `ArenasOf<FixedStep>`"),
        "{log:?}"
    );
}

#[test]
fn arenas_that_a_late_system_inserts_are_reported() {
    let mut app = app();
    app.add_systems(
        Last,
        |arenas: Option<Res<FrameArenas>>, mut commands: Commands| match arenas {
            Some(arenas) => drop(arenas.local().alloc([0_u8; 1024])),
            None => commands.init_resource::<FrameArenas>(),
        },
    );
    let log = play(&mut app);
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].starts_with("WARN nothing swaps `FrameArenas`"),
        "{log:?}"
    );
}

#[test]
fn arenas_that_are_swapped_are_not_reported() {
    // By a plugin that is added later, by the game, or not at all but not used either.
    let mut later = app();
    later
        .init_resource::<FrameArenas>()
        .init_resource::<ArenasOf<Dungeon>>()
        .add_plugins((
            FrameArenaPlugin::default(),
            FrameArenaPacePlugin::<Dungeon>::by_hand(),
        ))
        .add_systems(Update, allocate::<ArenasOf<Dungeon>>);
    assert_eq!(play(&mut later), [""; 0]);

    let mut by_hand = app();
    by_hand
        .init_resource::<FrameArenas>()
        .init_resource::<ArenasOf<Dungeon>>()
        .add_systems(Update, |mut arenas: ResMut<FrameArenas>| {
            arenas.local().alloc([0_u8; 1024]);
            arenas.swap();
        });
    assert_eq!(play(&mut by_hand), [""; 0]);

    let mut after_the_frame = app();
    after_the_frame.init_resource::<FrameArenas>().add_systems(
        Update,
        |arenas: Res<FrameArenas>| {
            arenas.local().alloc([0_u8; 1024]);
        },
    );
    let frame = |_| {
        after_the_frame.update();
        let world = after_the_frame.world_mut();
        world.resource_mut::<FrameArenas>().swap();
    };
    assert_eq!(logged(|| (0..20).for_each(frame)), [""; 0]);
}
