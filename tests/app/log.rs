//! The lines of the log: when there is one, and what it says.

use std::time::Duration;

use bevy_app::{App, Last};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_frame_arena::{
    ArenasOf, FrameArenaLogPlugin, FrameArenaPacePlugin, FrameArenaPlugin,
    FrameArenaRecorderPlugin, FrameArenaReport, FrameArenaSettings, FrameArenas, LivesFor,
};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use crate::common::log::logged;

struct Dungeon;

/// An app in which a second passes with each frame, and which logs on this thread.
fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, FrameArenaLogPlugin::default()))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs(1)))
        .edit_schedule(Last, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    app
}

/// Returns a line as it is without the feature `sites`.
fn without_site(line: &str) -> &str {
    line.split(", most of it at ").next().unwrap_or(line)
}

/// Runs a frame, and returns the lines about arenas that it logs.
fn frame(app: &mut App) -> Vec<String> {
    let lines = logged(|| app.update());
    let lines = lines.iter().filter(|line| line.contains("arenas"));
    lines.map(|line| without_site(line).to_owned()).collect()
}

#[test]
fn arenas_that_nobody_has_used_have_no_line() {
    let mut app = app();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::<Dungeon>::by_hand(),
    ));
    for _ in 0..3 {
        assert_eq!(frame(&mut app), [""; 0]);
    }
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc([0_u8; 1024]);
    let lines = frame(&mut app);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("INFO Frame arenas: 1.0 KiB of "),
        "{lines:?}"
    );
}

#[test]
fn a_level_is_logged_while_it_grows_and_when_it_has_ended() {
    let mut app = app();
    app.add_plugins(FrameArenaPacePlugin::<Dungeon> {
        settings: FrameArenaSettings {
            block_bytes: 128 << 10,
            lives_for: LivesFor::OnePeriod,
            trim_after_frames: Some(0),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    });
    // Before the lines are written.
    let grow = |arenas: Res<ArenasOf<Dungeon>>, mut kib: ResMut<Growth>| {
        arenas.local().alloc_slice_fill_copy(kib.0 << 10, 0_u8);
        kib.0 = 0;
    };
    app.insert_resource(Growth(98))
        .add_systems(bevy_app::Update, grow);
    let mut lines = frame(&mut app);
    // The figures may be written after the line of their frame.
    lines.extend(frame(&mut app));
    assert_eq!(lines, ["INFO Dungeon arenas: 98 KiB of 128 KiB so far"]);
    assert_eq!(frame(&mut app), [""; 0], "it has not grown");

    let report = app.world().resource::<FrameArenaReport>();
    let dungeon = report.get("dungeon_arena").expect("it is in the report");
    assert_eq!(dungeon.so_far.used_bytes, 98 << 10);
    assert_eq!(dungeon.so_far.reserved_bytes, 128 << 10);
    assert_eq!(dungeon.usage.used_bytes, 0, "the period goes on");

    let end = app
        .world_mut()
        .run_system_cached(ArenasOf::<Dungeon>::end_period);
    end.expect("it runs");
    assert_eq!(
        frame(&mut app),
        ["INFO Dungeon arenas: 98 KiB, of which 0 B are kept, on 1 worker, peak 98 KiB"]
    );
}

#[derive(Resource)]
struct Growth(usize);

#[test]
fn a_plugin_that_finds_no_arenas_says_once_what_to_add() {
    let mut app = app();
    app.add_plugins(FrameArenaRecorderPlugin::default());
    let mut lines = logged(|| (0..5).for_each(|_| app.update()));
    lines.sort();
    assert_eq!(
        lines,
        ["FrameArenaLogPlugin", "FrameArenaRecorderPlugin"].map(|plugin| format!(
            "WARN `{plugin}` finds no arenas to tell of: add `FrameArenaPlugin`, too"
        ))
    );
}

#[test]
fn a_prefix_that_no_diagnostic_can_have_is_told_and_publishes_nothing() {
    for prefix in ["", "/", "a//b", "a/"] {
        let mut app = App::new();
        let lines = logged(|| {
            app.add_plugins(FrameArenaPacePlugin::<Dungeon> {
                diagnostics_prefix: Some(prefix.into()),
                ..FrameArenaPacePlugin::by_hand()
            });
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("WARN `Dungeon arenas` publish no figures"),
            "{lines:?}"
        );
        app.update();
        assert!(app.world().contains_resource::<ArenasOf<Dungeon>>());
    }
}

#[test]
fn the_problems_of_a_level_are_told_while_it_runs() {
    let mut app = app();
    app.add_plugins(FrameArenaPacePlugin::<Dungeon> {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(4096),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    });
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    assert!(arenas.local().try_alloc([0_u8; 5000]).is_err());
    let lines = frame(&mut app);
    assert!(
        lines.iter().any(|line| line.starts_with(
            "WARN Dungeon arenas: refused allocations in this period so far: 1, of up to 4.9 KiB"
        )),
        "{lines:?}"
    );
    let end = app
        .world_mut()
        .run_system_cached(ArenasOf::<Dungeon>::end_period);
    end.expect("it runs");
    let again = frame(&mut app);
    assert!(
        !again.iter().any(|line| line.starts_with("WARN")),
        "once: {again:?}"
    );
}
