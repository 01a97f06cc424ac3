//! The lines of the log: when there is one, and what it says.

use std::time::Duration;

use bevy_app::{App, Last};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_frame_arena::{
    ArenasOf, FrameArenaLogPlugin, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaRecorder,
    FrameArenaRecorderPlugin, FrameArenaReport, FrameArenaSettings, FrameArenas, LivesFor,
};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use crate::common::log::logged;
use crate::common::panics::panics;

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
    line.split(", largest at ").next().unwrap_or(line)
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
            trim_after_periods: Some(0),
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
        ["INFO Dungeon arenas: 98 KiB used and released on 1 worker, peak 98 KiB"]
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
            "WARN `{plugin}` finds no arenas to report: add `FrameArenaPlugin` as well"
        ))
    );
}

#[test]
fn a_pace_of_any_name_has_diagnostics() {
    for name in ["", "/", "a//b", "a/"] {
        let mut app = App::new();
        app.add_plugins(FrameArenaPacePlugin::<Dungeon> {
            name: name.into(),
            ..FrameArenaPacePlugin::by_hand()
        });
        app.update();
        let report = app.world().resource::<FrameArenaReport>();
        let prefix = &report.iter().next().expect("it is in the report").prefix;
        assert!(
            prefix.ends_with("_arena") && !prefix.contains('/'),
            "{prefix}"
        );
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
            "WARN Dungeon arenas: refused allocations in a dungeon: 1, of up to 4.9 KiB"
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

#[test]
fn tasks_are_logged_with_their_results_and_their_memory() {
    let mut app = app();
    app.add_plugins(FrameArenaPlugin::default());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc(1_u64);
    let running = [(); 2].map(|()| arenas.task_arena());
    running[0].share_iter(0..100_u64);
    let finished = arenas.task_arena();
    let list = finished.share_iter(0..100_u64);
    let result = finished.finish(list);
    let lines = frame(&mut app);
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.task_arenas, usage.task_results), (2, 1));
    assert_eq!(usage.task_bytes, 16 << 10);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].ends_with(", peak 8 B, 2 task arenas, 1 task result, 16 KiB of tasks"),
        "{lines:?}"
    );
    drop((running, result));
}

#[test]
fn the_tasks_of_a_level_are_logged_while_it_runs() {
    let mut app = app();
    app.add_plugins(FrameArenaPacePlugin::<Dungeon>::by_hand());
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    let running = arenas.task_arena();
    running.share([0_u8; 1000]);
    assert_eq!(
        frame(&mut app),
        ["INFO Dungeon arenas: 0 B of 8.0 KiB so far, 1 task arena, 8.0 KiB of tasks"]
    );
    assert_eq!(frame(&mut app), [""; 0], "nothing has changed");
    let list = running.share(1);
    let result = running.finish(list);
    assert_eq!(
        frame(&mut app),
        ["INFO Dungeon arenas: 0 B of 8.0 KiB so far, 1 task result, 8.0 KiB of tasks"]
    );
    drop(result);
}

#[test]
fn a_level_that_leaves_a_task_behind_is_logged_with_the_memory_of_the_task() {
    let mut app = app();
    app.add_plugins(FrameArenaPacePlugin::<Dungeon> {
        settings: FrameArenaSettings {
            lives_for: LivesFor::OnePeriod,
            trim_after_periods: Some(0),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    });
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    arenas.local().alloc_slice_fill_copy(98 << 10, 0_u8);
    let running = arenas.task_arena();
    running.share(1);
    let end = ArenasOf::<Dungeon>::end_period;
    app.world_mut().run_system_cached(end).expect("it runs");
    let lines = frame(&mut app);
    assert_eq!(
        lines,
        [
            "INFO Dungeon arenas: 98 KiB used, 8.0 KiB still reserved, on 1 worker, peak 98 KiB, \
             1 task arena, 8.0 KiB of tasks"
        ]
    );
    drop(running);
}

#[test]
fn look_ups_that_expect_stale_handles_are_not_in_the_log_and_panics_are() {
    let mut app = app();
    app.add_plugins(FrameArenaPlugin {
        warnings: false,
        ..Default::default()
    });
    let handle = app.world().resource::<FrameArenas>().local().share(1);
    (0..2).for_each(|_| app.update());
    let mut line = |panics_too: bool| {
        let arenas = app.world().resource::<FrameArenas>();
        assert_eq!(arenas.get(handle), None);
        assert!(!panics_too || panics(|| assert_eq!(arenas[handle], 1)));
        frame(&mut app).concat()
    };
    assert!(!line(false).contains("stale"));
    assert!(line(true).ends_with(", 1 stale panic"));
}

#[test]
fn arenas_of_which_scratch_or_tasks_alone_were_used_have_a_line_and_settings() {
    let uses: [fn(&FrameArenas); 2] = [
        |arenas| {
            arenas.scratch().alloc([0_u8; 1000]);
        },
        |arenas| {
            arenas.task_arena().share([0_u8; 1000]);
        },
    ];
    for (index, use_them) in uses.into_iter().enumerate() {
        let mut app = app();
        app.add_plugins((
            FrameArenaPlugin::default(),
            FrameArenaRecorderPlugin::default(),
        ));
        app.add_systems(bevy_app::Update, move |arenas: Res<FrameArenas>| {
            use_them(&arenas);
        });
        let running = (index == 1).then(|| {
            let arenas = app.world().resource::<FrameArenas>();
            let arena = arenas.task_arena();
            arena.share(1);
            arena
        });
        let lines = [frame(&mut app), frame(&mut app)].concat();
        assert!(!lines.is_empty(), "{index}");
        let advice = app.world().resource::<FrameArenaRecorder>().advice();
        assert!(advice.contains("budget_bytes: Some("), "{advice}");
        drop(running);
    }
}

#[test]
fn intervals_of_any_length_are_accepted() {
    for (interval, expected) in [(Duration::ZERO, 4), (Duration::MAX, 1)] {
        let mut app = App::new();
        app.add_plugins((
            TimePlugin,
            FrameArenaPlugin::default(),
            FrameArenaLogPlugin {
                wait_duration: interval,
            },
            FrameArenaRecorderPlugin {
                interval,
                ..Default::default()
            },
        ))
        .edit_schedule(Last, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
        let mut lines = Vec::new();
        for _ in 0..4 {
            let arenas = app.world().resource::<FrameArenas>();
            arenas.local().alloc(1_u64);
            lines.extend(frame(&mut app));
        }
        assert_eq!(lines.len(), expected, "{lines:?}");
        let recorder = app.world().resource::<FrameArenaRecorder>();
        let rows = recorder.csv();
        let rows = rows.lines().filter(|line| line.contains(",all,all,"));
        assert_eq!(rows.count(), expected);
    }
}
