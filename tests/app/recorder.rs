//! The record of a run, and the settings it recommends.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bevy_app::{App, AppExit, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaRecorder, FrameArenaRecorderPlugin,
    FrameArenaSettings, FrameArenas,
};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use crate::common::panics::panics;

const KIB: usize = 1 << 10;

fn app(settings: FrameArenaSettings, recorder: FrameArenaRecorderPlugin) -> App {
    let mut app = App::new();
    app.add_plugins((
        TimePlugin,
        FrameArenaPlugin {
            settings,
            warnings: false,
            ..Default::default()
        },
        recorder,
    ))
    .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(
        500,
    )));
    app
}

fn allocate(arenas: &FrameArenas, name: &str, bytes: usize) {
    thread::scope(|scope| {
        thread::Builder::new()
            .name(name.into())
            .spawn_scoped(scope, || {
                arenas.local().alloc_slice_fill_copy(bytes, 0_u8);
            })
            .expect("a thread starts");
    });
}

fn play(app: &mut App) {
    for frame in 0..5 {
        let arenas = app.world().resource::<FrameArenas>();
        allocate(arenas, "a,b", (frame + 1) * 8 * KIB);
        allocate(arenas, "c", 16);
        app.update();
    }
}

#[test]
fn the_table_has_the_highest_figures_of_each_second() {
    let mut app = app(Default::default(), Default::default());
    play(&mut app);
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let mut lines = table.lines();
    assert!(
        lines
            .next()
            .expect("a header")
            .starts_with("seconds,arenas,kind,name,")
    );
    let of_worker = |name: &str| {
        let lines = table.lines().filter(|line| line.contains(name));
        lines.collect::<Vec<_>>()
    };
    // The first line at once, the others a second apart: frames 2 and 3, frames 4 and 5.
    let all = of_worker("frame_arena,all,all,");
    assert_eq!(all.len(), 3, "{table}");
    assert!(
        all[1].starts_with("1.000,frame_arena,all,all,24592,24592,"),
        "{}",
        all[1]
    );
    let worker = of_worker("frame_arena,worker,\"a,b\",");
    assert!(
        worker[2].starts_with("2.000,frame_arena,worker,\"a,b\",40960,40960,"),
        "{table}"
    );
}

#[test]
fn the_settings_it_recommends_hold_the_run_without_a_problem() {
    let settings = FrameArenaSettings {
        block_bytes: KIB,
        ..Default::default()
    };
    let mut first = app(settings, Default::default());
    play(&mut first);
    let advice = first.world().resource::<FrameArenaRecorder>().advice();
    assert!(
        advice.contains("// The busiest worker took 40 KiB."),
        "{advice}"
    );
    assert!(
        advice.contains("budget_bytes: Some(256 << 10),"),
        "{advice}"
    );

    let settings = FrameArenaSettings {
        budget_bytes: Some(256 << 10),
        ..Default::default()
    };
    let mut second = app(settings, Default::default());
    play(&mut second);
    let usage = second.world().resource::<FrameArenas>().usage();
    assert_eq!(usage.refusals, 0);
}

#[test]
fn the_settings_have_room_for_what_was_refused() {
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(64 * KIB),
        ..Default::default()
    };
    let mut app = app(settings, Default::default());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc([0_u8; 32 * KIB]);
    assert!(arenas.local().try_alloc([0_u8; 60 * KIB]).is_err());
    assert!(arenas.local().try_alloc([0_u8; 50 * KIB]).is_err());
    app.update();
    app.update();
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.refusals, usage.largest_refusal_bytes), (0, 60 * KIB));
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    assert!(
        advice.contains("// A limit refused allocations of up to 60 KiB."),
        "{advice}"
    );
    // A block of 128 KiB was reserved.
    assert!(
        advice.contains("budget_bytes: Some(256 << 10),"),
        "{advice}"
    );
}

#[test]
fn arenas_that_were_not_used_get_no_settings() {
    let mut app = app(Default::default(), Default::default());
    app.update();
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    assert_eq!(advice, "// Frame arenas: not used in 1 period\n");
}

#[test]
fn the_table_is_written_when_the_app_exits() {
    if cfg!(miri) {
        return; // It has no files.
    }
    let file = std::env::temp_dir().join(format!("frame_arena_{}.csv", std::process::id()));
    let recorder = FrameArenaRecorderPlugin {
        file: Some(file.clone()),
        ..Default::default()
    };
    let mut app = app(Default::default(), recorder);
    play(&mut app);
    assert!(!file.exists());
    app.world_mut().write_message(AppExit::Success);
    app.update();
    let written = std::fs::read_to_string(&file).expect("the table is there");
    std::fs::remove_file(&file).expect("it can go");
    assert!(written.lines().count() > 3);
}

/// An app with a recorder, and the file that it writes to.
fn app_with_file(name: &str) -> (App, PathBuf) {
    let file = std::env::temp_dir().join(format!("frame_arena_{name}_{}.csv", std::process::id()));
    let recorder = FrameArenaRecorderPlugin {
        file: Some(file.clone()),
        ..Default::default()
    };
    (app(Default::default(), recorder), file)
}

fn lines_in(file: &Path) -> usize {
    let written = std::fs::read_to_string(file).expect("the table is there");
    std::fs::remove_file(file).expect("it can go");
    written.lines().count()
}

#[test]
fn the_table_is_written_when_the_world_is_dropped_or_a_system_panics() {
    if cfg!(miri) {
        return; // It has no files.
    }
    let (mut dropped, file) = app_with_file("dropped");
    play(&mut dropped);
    let lines = dropped.world().resource::<FrameArenaRecorder>().csv();
    drop(dropped);
    assert_eq!(lines_in(&file), lines.lines().count());

    let (mut app, file) = app_with_file("panic");
    assert!(panics(move || {
        play(&mut app);
        app.add_systems(Update, || panic!("on purpose"));
        app.update();
    }));
    assert!(lines_in(&file) > 3);
}

#[test]
fn the_table_is_written_when_the_app_exits_after_the_record_of_its_frame() {
    if cfg!(miri) {
        return; // It has no files.
    }
    let (mut app, file) = app_with_file("late");
    play(&mut app);
    app.set_runner(|mut app| {
        app.update();
        app.world_mut().write_message(AppExit::Success);
        AppExit::Success
    });
    app.run();
    assert!(lines_in(&file) > 3);
}

#[test]
fn the_settings_of_a_level_keep_what_its_plugin_set() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level>::ending_with(Update));
    app.add_systems(Update, |arenas: Res<ArenasOf<Level>>| {
        arenas.local().alloc([0_u8; 1000]);
    });
    app.update();
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    assert!(
        advice.contains("    lives_for: LivesFor::OnePeriod,\n    trim_after_frames: Some(0),\n"),
        "{advice}"
    );
}
