//! The record of a run, and the settings it recommends.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bevy_app::{App, AppExit, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleLabel;
use bevy_frame_arena::{
    ArenasOf, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaRecorder, FrameArenaRecorderPlugin,
    FrameArenaSettings, FrameArenas, LivesFor,
};
use bevy_time::{Real, Time, TimePlugin, TimeUpdateStrategy};

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
        advice.contains(" The busiest worker took 40 KiB."),
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
    // A block of 64 KiB was reserved.
    assert!(
        advice.contains("budget_bytes: Some(256 << 10),"),
        "{advice}"
    );
}

#[test]
fn the_settings_keep_all_that_the_plugin_had() {
    let default = FrameArenaSettings::default();
    let settings = FrameArenaSettings {
        block_bytes: 32 * KIB,
        worker_limit_bytes: Some(64 * KIB),
        budget_bytes: Some(3 << 20),
        trim_after_periods: None,
        lives_for: LivesFor::ThreePeriods,
        pretouch_bytes: 1 << 20,
        fill_recycled: !default.fill_recycled,
    };
    let fill_recycled = settings.fill_recycled;
    let mut app = app(settings, Default::default());
    let advice = |app: &App| app.world().resource::<FrameArenaRecorder>().advice();
    for _ in 0..2 {
        let arenas = app.world().resource::<FrameArenas>();
        arenas.local().share(1_u64);
        app.update();
    }
    let expected = format!(
        "
    block_bytes: 32 << 10,
    worker_limit_bytes: Some(64 << 10),
    trim_after_periods: None,
    pretouch_bytes: 1 << 20,
    fill_recycled: {fill_recycled},
    lives_for: LivesFor::ThreePeriods,
    ..Default::default()
}},
"
    );
    let kept = advice(&app);
    assert!(kept.contains(&expected), "{kept}");

    let arenas = app.world().resource::<FrameArenas>();
    assert!(arenas.local().try_alloc([0_u8; 65 * KIB]).is_err());
    (0..2).for_each(|_| app.update());
    let raised = advice(&app);
    // Room for the limit and the refused allocation.
    assert!(
        raised.contains("worker_limit_bytes: Some(256 << 10),"),
        "{raised}"
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
    // On the main thread.
    app.add_systems(Update, |world: &mut World| {
        let arenas = world.resource::<ArenasOf<Level>>();
        arenas.local().alloc([0_u8; 1000]);
    });
    app.update();
    app.update();
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    let (_, level) = advice.split_once("// Level arenas").expect("it was used");
    assert_eq!(
        level,
        ", after 2 periods: 1 worker, 1 generation, up to 8.0 KiB reserved. The busiest worker took 1000 B.
// Periods by peak: 2 up to 1.0 KiB
// Nothing was kept for a later period.
settings: FrameArenaSettings {
    budget_bytes: Some(16 << 10),
    trim_after_periods: Some(0),
    lives_for: LivesFor::OnePeriod,
    ..Default::default()
},
"
    );
}

#[test]
fn periods_are_counted_by_the_power_of_two_of_their_peak() {
    let mut app = app(Default::default(), Default::default());
    for bytes in [0, 1, 2, 3, 4, 5, 1024, 1025] {
        let arenas = app.world().resource::<FrameArenas>();
        arenas.local().alloc_slice_fill_copy(8 * bytes, 0_u8);
        app.update();
    }
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    let expected = "// Periods by peak: 1 without an allocation, 1 up to 8 B, 1 up to 16 B, 2 up to 32 B, 1 up to 64 B, \
                    1 up to 8.0 KiB, 1 up to 16 KiB\n";
    assert!(advice.contains(expected), "{advice}");
}

#[test]
fn a_setting_for_one_period_is_advised_where_nothing_was_shared() {
    let advice_of = |share: bool| {
        let mut app = app(Default::default(), Default::default());
        for _ in 0..3 {
            let arenas = app.world().resource::<FrameArenas>();
            arenas.local().alloc([0_u8; 1000]);
            if share {
                arenas.local().share([0_u8; 1000]);
            }
            app.update();
        }
        app.world().resource::<FrameArenaRecorder>().advice()
    };
    let line = "lives_for: LivesFor::OnePeriod,";
    assert!(advice_of(false).contains(line));
    assert!(!advice_of(true).contains(line));
}

#[test]
fn a_level_has_lines_while_it_runs_and_none_between_levels() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level>::by_hand());
    for second in 0..8 {
        let arenas = app.world().resource::<ArenasOf<Level>>();
        match second {
            1 => drop(arenas.local().alloc([0_u8; 1000])),
            3 | 7 => {
                let end = app
                    .world_mut()
                    .run_system_cached(ArenasOf::<Level>::end_period);
                end.expect("it runs");
            }
            6 => drop(arenas.local().alloc([0_u8; 2000])),
            _ => {}
        }
        (0..2).for_each(|_| app.update());
    }
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let lines = table
        .lines()
        .filter(|line| line.contains(",level_arena,all,"));
    let seconds = lines.map(|line| {
        let mut fields = line.split(',');
        let second = fields.next().expect("a time");
        (second.to_owned(), fields.nth(3).expect("bytes").to_owned())
    });
    // Each line has the time of the frame that ends its interval. The levels end in the third second and in
    // the seventh.
    let expected = [
        ("1.000", "1000"),
        ("2.000", "1000"),
        ("3.000", "1000"),
        ("6.000", "2000"),
        ("7.000", "2000"),
    ];
    let expected = expected.map(|(second, bytes)| (second.to_owned(), bytes.to_owned()));
    assert_eq!(seconds.collect::<Vec<_>>(), expected, "{table}");
}

#[test]
fn a_refusal_in_a_level_is_counted_once_however_long_the_level_lasts() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level> {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(4 * KIB),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    });
    let arenas = app.world().resource::<ArenasOf<Level>>();
    arenas.local().alloc([0_u8; KIB]);
    assert!(arenas.local().try_alloc([0_u8; 5 * KIB]).is_err());
    (0..9).for_each(|_| app.update());
    let end = ArenasOf::<Level>::end_period;
    app.world_mut().run_system_cached(end).expect("it runs");
    (0..2).for_each(|_| app.update());
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let header = table.lines().next().expect("a header");
    let column = header.split(',').position(|name| name == "refusals");
    let column = column.expect("they have a column");
    let lines = table.lines().filter(|it| it.contains(",level_arena,all,"));
    let refusals = lines.map(|line| line.split(',').nth(column).expect("a field"));
    let refusals: Vec<_> = refusals.collect();
    assert_eq!(refusals, ["1", "0", "0", "0", "0", "0"], "{table}");
}

#[test]
fn tasks_are_recorded_with_their_results_and_their_memory() {
    let mut app = app(Default::default(), Default::default());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc(1_u64);
    let running = [(); 2].map(|()| arenas.task_arena());
    running[0].share_iter(0..100_u64);
    let finished = arenas.task_arena();
    let list = finished.share_iter(0..100_u64);
    let result = finished.finish(list);
    app.update();
    drop((running, result));
    (0..4).for_each(|_| app.update());

    let recorder = app.world().resource::<FrameArenaRecorder>();
    let table = recorder.csv();
    let header = table.lines().next().expect("a header");
    assert!(
        header.ends_with(",task_arenas,task_results,task_bytes"),
        "{header}"
    );
    let lines = table.lines().filter(|line| line.contains(",all,all,"));
    let tasks = lines.map(|line| line.rsplitn(4, ',').take(3).collect::<Vec<_>>());
    // From the last column to the first. In the second second they are gone.
    let bytes = (16 << 10).to_string();
    assert_eq!(
        tasks.collect::<Vec<_>>(),
        [[&*bytes, "1", "2"], ["0"; 3], ["0"; 3]],
        "{table}"
    );
    let advice = recorder.advice();
    assert!(
        advice.contains(
            "// Tasks held up to 16 KiB where it was measured: at most 2 task arenas and 1 task result."
        ),
        "{advice}"
    );
}

#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Leave;

/// Returns the advice for `Level`, whose arenas were used for a frame.
fn advice_for<Level>(plugin: FrameArenaPacePlugin<Level>) -> String {
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(plugin);
    let arenas = app.world().resource::<ArenasOf<Level>>();
    arenas.local().alloc([0_u8; 1000]);
    app.update();
    app.world().resource::<FrameArenaRecorder>().advice()
}

#[test]
fn a_level_that_has_not_ended_gets_settings() {
    struct Level;
    let advice = advice_for(FrameArenaPacePlugin::<Level>::ending_with(Leave));
    let (_, level) = advice.split_once("// Level arenas").expect("it was used");
    let expected = ", after 0 periods: up to 8.0 KiB reserved.
// The running period took 1000 B so far.
settings: FrameArenaSettings {
    budget_bytes: Some(";
    assert!(level.starts_with(expected), "{level}");
    // No period has ended yet: none of them can show that nothing is kept.
    let advice = advice_for(FrameArenaPacePlugin::<Level>::by_hand());
    assert!(!advice.contains("Nothing was kept"), "{advice}");
}

#[test]
fn a_level_that_panics_in_its_first_frame_is_not_called_unused() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level>::by_hand());
    app.update();
    app.add_systems(Update, |arenas: Res<ArenasOf<Level>>| {
        arenas.local().alloc([0_u8; 1000]);
        panic!("on purpose");
    });
    assert!(panics(|| app.update()));
    let advice = app.world().resource::<FrameArenaRecorder>().advice();
    let expected = "// Level arenas: not used before the last frame, and no period has ended\n";
    assert!(advice.contains(expected), "{advice}");
}

#[test]
fn a_level_of_which_tasks_alone_were_used_is_recorded_while_it_runs() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level>::by_hand());
    let arenas = app.world().resource::<ArenasOf<Level>>();
    let running = arenas.task_arena();
    running.share([0_u8; 1000]);
    app.update();
    let recorder = app.world().resource::<FrameArenaRecorder>();
    let table = recorder.csv();
    let mut lines = table.lines();
    let line = lines.find(|line| line.contains(",level_arena,all,all,"));
    let line = line.expect("it has a line");
    assert!(line.ends_with(",1,0,8192"), "{line}");
    let advice = recorder.advice();
    assert!(
        advice.contains("// Tasks held up to 8.0 KiB where it was measured: at most 1 task arena and 0 task results"),
        "{advice}"
    );
    drop(running);
}

#[test]
fn the_line_of_all_holds_at_least_what_the_workers_hold() {
    struct Level;
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level> {
        settings: FrameArenaSettings {
            lives_for: LivesFor::OnePeriod,
            trim_after_periods: Some(0),
            ..Default::default()
        },
        ..FrameArenaPacePlugin::by_hand()
    });
    for second in 0..4 {
        match second {
            1 => allocate(app.world().resource::<ArenasOf<Level>>(), "a", 100 * KIB),
            3 => {
                let end = ArenasOf::<Level>::end_period;
                app.world_mut().run_system_cached(end).expect("it runs");
            }
            _ => {}
        }
        (0..2).for_each(|_| app.update());
    }
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let rows = fields_of(&table);
    let column = |name: &str| {
        let at = rows[0].iter().position(|it| it == name);
        at.expect("a column")
    };
    let bytes_of = |kind: &str, name: &str| {
        let rows = rows.iter();
        let rows = rows.filter(|row| row[1] == "level_arena" && row[2] == kind);
        let bytes = rows.map(|row| row[column(name)].parse::<usize>().expect("a number"));
        bytes.collect::<Vec<_>>()
    };
    let worker = bytes_of("worker", "held_bytes");
    assert_eq!(worker.len(), 1, "{table}");
    assert!(worker[0] >= 100 * KIB, "{table}");
    // While it runs, and when it has ended.
    assert_eq!(bytes_of("all", "held_bytes"), [worker[0]; 3], "{table}");
    assert_eq!(bytes_of("all", "reserved_bytes"), [worker[0]; 3], "{table}");
}

/// Splits a table into its fields as RFC 4180 says.
fn fields_of(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = table.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            // Some readers take a single `\r` for the end of a row, too.
            '\r' | '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            letter => field.push(letter),
        }
    }
    rows
}

#[test]
fn names_of_any_kind_stay_in_their_fields() {
    struct Level;
    let name = "le,vel\n0.000,forged,all,all,1,1,1,1,0,0,0,0,0,0";
    let threads = ["a \"b\"\n0.000,forged", "c\rd", "e,f"];
    let mut app = app(Default::default(), Default::default());
    app.add_plugins(FrameArenaPacePlugin::<Level> {
        name: name.into(),
        ..FrameArenaPacePlugin::at_start_of(Update)
    });
    for _ in 0..4 {
        let arenas = app.world().resource::<ArenasOf<Level>>();
        for thread in threads {
            allocate(arenas, thread, KIB);
        }
        app.update();
    }
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let rows = fields_of(&table);
    assert!(rows.len() > 3, "{table}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{table}");
    assert!(rows.iter().all(|row| row[1] != "forged"), "{table}");
    let workers = rows
        .iter()
        .filter(|row| row[1].starts_with("le_vel_") && row[2] == "worker");
    let mut workers: Vec<_> = workers.map(|row| &*row[3]).collect();
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers, threads);
}

#[test]
fn the_time_goes_on_when_the_clock_is_replaced() {
    let mut app = app(Default::default(), Default::default());
    (0..3).for_each(|_| play(&mut app));
    let startup = app.world().resource::<Time<Real>>().startup();
    app.insert_resource(Time::<Real>::new(startup));
    play(&mut app);
    app.world_mut().write_message(AppExit::Success);
    app.update();
    let table = app.world().resource::<FrameArenaRecorder>().csv();
    let lines = table.lines().filter(|line| line.contains(",all,all,"));
    let seconds = lines.map(|line| line.split(',').next().expect("a time"));
    // The first frame of a clock takes no time.
    let expected = [
        "0.000", "1.000", "2.000", "3.000", "4.000", "5.000", "6.000", "7.000", "7.000", "8.000",
        "9.000", "9.500",
    ];
    assert_eq!(seconds.collect::<Vec<_>>(), expected, "{table}");
}
