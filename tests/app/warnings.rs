//! What is logged, and how often.

use std::thread;
use std::time::Duration;

use bevy_app::{App, Last};
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_frame_arena::{
    ArenasOf, FrameArenaLogPlugin, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaReport,
    FrameArenaSettings, FrameArenas, LivesFor, TwoFrames,
};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use crate::common::log::logged;
use crate::common::panics::panics;

/// Returns the lines that contain a text.
fn lines_with<'a>(log: &'a [String], text: &str) -> Vec<&'a String> {
    log.iter().filter(|line| line.contains(text)).collect()
}

/// An app that logs on this thread.
fn app(settings: FrameArenaSettings) -> App {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        settings,
        ..Default::default()
    })
    .edit_schedule(Last, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    app
}

/// Does something with the arenas on a thread with this name.
fn on_thread(app: &App, name: &str, run: impl FnOnce(&FrameArenas) + Send) {
    let arenas = app.world().resource::<FrameArenas>();
    thread::scope(|scope| {
        thread::Builder::new()
            .name(name.into())
            .spawn_scoped(scope, || run(arenas))
            .expect("a thread starts");
    });
}

/// Runs frames in which each of two threads allocates `bytes`, and returns the log.
fn log_of_frames(limit: Option<usize>, bytes: usize) -> Vec<String> {
    let mut app = app(FrameArenaSettings {
        block_bytes: 1024,
        worker_limit_bytes: limit,
        ..Default::default()
    });
    logged(|| {
        for _ in 0..10 {
            for name in ["first", "second"] {
                on_thread(&app, name, |arenas| {
                    arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
                    arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
                });
            }
            app.update();
        }
    })
}

#[test]
fn workers_near_their_limit_are_warned_of_once() {
    let log = log_of_frames(Some(1024), 1_000);
    assert_eq!(log.len(), 1, "{log:?}");
    let names = ["first", "second"].map(|name| format!("WARN Frame arenas: `{name}` is near"));
    assert!(names.iter().any(|it| log[0].starts_with(it)), "{}", log[0]);
    assert!(log[0].contains("1008 B of 1.0 KiB"), "{}", log[0]);
    assert!(
        log[0].contains("Raise `FrameArenaSettings::worker_limit_bytes` to 2.0 KiB"),
        "{}",
        log[0]
    );
}

#[test]
fn a_worker_with_room_is_not_warned_of() {
    assert_eq!(log_of_frames(Some(1024), 900), [""; 0]);
    // Without a limit, memory grows by blocks, and there is nothing to warn of.
    assert_eq!(log_of_frames(None, 40_000), [""; 0]);
}

#[test]
fn the_budget_is_blamed_where_it_is_the_cause() {
    let mut app = app(FrameArenaSettings {
        budget_bytes: Some(3 << 20),
        ..Default::default()
    });
    let log = logged(|| {
        for _ in 0..2 {
            let arenas = app.world().resource::<FrameArenas>();
            for _ in 0..2345 {
                let refused = arenas.local().try_alloc_slice_fill_copy(5 << 20, 0_u8);
                assert!(refused.is_err());
            }
            app.update();
        }
    });
    let log = lines_with(
        &log,
        "refused allocations in a frame: 2345, of up to 5.0 MiB, because the budget is 3.0 MiB. \
         Raise `FrameArenaSettings::budget_bytes` to 16 MiB",
    );
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn threads_of_one_name_are_not_taken_for_one_worker_at_its_limit() {
    let mut app = app(FrameArenaSettings {
        worker_limit_bytes: Some(4 << 10),
        ..Default::default()
    });
    for _ in 0..2 {
        on_thread(&app, "twin", |arenas| {
            arenas.local().alloc([0_u8; 3 << 10]);
        });
    }
    assert_eq!(logged(|| app.update()), [""; 0]);
}

#[test]
fn of_two_limits_the_one_that_refused_is_blamed() {
    let warning = |threads: usize, bytes: usize| {
        let mut app = app(FrameArenaSettings {
            worker_limit_bytes: Some(512 << 10),
            budget_bytes: Some(1 << 20),
            ..Default::default()
        });
        for thread in 0..threads {
            on_thread(&app, &thread.to_string(), |arenas| {
                let list = arenas.local().try_alloc_slice_fill_copy(bytes, 0_u8);
                drop(list);
            });
        }
        let log = logged(|| app.update());
        assert_eq!(log.len(), 1, "{log:?}");
        log.concat()
    };
    let budget = warning(6, 300 << 10);
    assert!(budget.contains("because the budget is 1.0 MiB"), "{budget}");
    let worker = warning(1, 600 << 10);
    assert!(
        worker.contains("because a worker may take 512 KiB"),
        "{worker}"
    );
}

#[test]
fn refusals_and_stale_lookups_are_warned_of_once_with_their_number() {
    let mut app = app(FrameArenaSettings {
        worker_limit_bytes: Some(3 << 10),
        ..Default::default()
    });
    let arenas = app.world().resource::<FrameArenas>();
    let handle = arenas.local().share(1);
    let all = logged(|| {
        for _ in 0..5 {
            let arenas = app.world().resource::<FrameArenas>();
            let all_panic = (0..4).all(|_| panics(|| assert_eq!(arenas[handle], 1)));
            assert!(all_panic || arenas.period() < 2);
            for _ in 0..1234 {
                let refused = arenas.local().try_alloc([0_u8; 4 << 10]);
                assert!(refused.is_err());
            }
            app.update();
        }
    });
    let log = lines_with(
        &all,
        "refused allocations in a frame: 1234, of up to 4.0 KiB, because a worker may take \
         3.0 KiB. Raise `FrameArenaSettings::worker_limit_bytes` to 16 KiB",
    );
    assert_eq!(log.len(), 1, "{log:?}");
    let log = lines_with(
        &all,
        "panics at look-ups of stale or foreign handles in a frame: 4. The first: at ",
    );
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].contains("app/warnings.rs") && log[0].contains("stale `FrameHandle<i32>`: made 2"),
        "{log:?}"
    );
}

#[test]
fn a_look_up_that_expects_stale_handles_is_counted_and_no_alarm() {
    let mut app = app(FrameArenaSettings::default());
    let arenas = app.world().resource::<FrameArenas>();
    let list = arenas.local().share([1_i64; 7]);
    let text = arenas.local().share_str("gone");
    let log = logged(|| {
        for _ in 0..4 {
            let arenas = app.world().resource::<FrameArenas>();
            if arenas.period() == 3 {
                assert_eq!(arenas.get(list), None);
                assert_eq!(arenas.text(text), "");
                assert!(arenas.resolve(text).is_err());
            }
            app.update();
        }
    });
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.stale_lookups, usage.stale_panics), (3, 0));
    assert!(usage.first_stale_lookup.is_some());
    assert_eq!(log, [""; 0]);
}

#[test]
fn leases_that_pile_up_are_warned_of_once() {
    let mut app = app(FrameArenaSettings {
        block_bytes: 32 << 10,
        ..Default::default()
    });
    let mut leases = Vec::new();
    let log = logged(|| {
        for _ in 0..7 {
            let arenas = app.world().resource::<FrameArenas>();
            arenas.local().share(1);
            leases.push(arenas.lease());
            app.update();
        }
    });
    let log = lines_with(
        &log,
        "leases keep 4 generations from being recycled, and 40 KiB",
    );
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn warnings_can_be_switched_off() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(1024),
            ..Default::default()
        },
        warnings: false,
        ..Default::default()
    });
    let nearly_fill = |arenas: &FrameArenas| {
        arenas.local().alloc([0_u8; 1000]);
    };
    on_thread(&app, "quiet", nearly_fill);
    assert_eq!(logged(|| app.update()), [""; 0]);

    let mut report = app.world_mut().resource_mut::<FrameArenaReport>();
    report.warnings = true;
    on_thread(&app, "quiet", nearly_fill);
    let log = logged(|| app.update());
    assert_eq!(lines_with(&log, "`quiet`").len(), 1);
}

#[test]
fn threads_with_ever_new_names_do_not_fill_the_log() {
    let mut app = app(FrameArenaSettings {
        worker_limit_bytes: Some(1024),
        ..Default::default()
    });
    let log = logged(|| {
        for n in 0..if cfg!(miri) { 66 } else { 200 } {
            on_thread(&app, &format!("ever new {n}"), |arenas| {
                arenas.local().alloc([0_u8; 1000]);
            });
            app.update();
        }
    });
    assert_eq!(lines_with(&log, "`ever new ").len(), 1);
}

/// Returns a line of the log as it is without the feature `sites`.
fn without_site(line: &str) -> &str {
    line.split(", largest at ").next().unwrap_or(line)
}

#[test]
fn the_log_has_one_line_a_second() {
    let mut app = app(FrameArenaSettings {
        block_bytes: 1 << 10,
        ..Default::default()
    });
    app.add_plugins((TimePlugin, FrameArenaLogPlugin::default()))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(
            100,
        )));
    let log = logged(|| {
        for _ in 0..31 {
            let arenas = app.world().resource::<FrameArenas>();
            arenas.local().alloc([0_u8; 900]);
            arenas.local().alloc([0_u8; 1002]);
            app.update();
        }
    });
    let log = lines_with(&log, "Frame arenas: 1.9 KiB of ");
    assert_eq!(log.len(), 4, "{log:?}");
    assert_eq!(
        without_site(log[2]),
        "INFO Frame arenas: 1.9 KiB of 3.0 KiB on 1 worker, peak 1.9 KiB"
    );
}

#[test]
fn a_line_of_the_log_ends_with_the_peak_where_nothing_went_wrong() {
    let mut app = app(FrameArenaSettings {
        block_bytes: 33 << 10,
        ..Default::default()
    });
    app.add_plugins(FrameArenaLogPlugin::default());
    let arenas = app.world().resource::<FrameArenas>();
    arenas.local().alloc([0_u8; 2048]);
    let log = logged(|| app.update());
    let log = lines_with(&log, "INFO Frame arenas: 2.0 KiB of 8.0 KiB on 1 worker");
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        without_site(log[0]).ends_with(", peak 2.0 KiB"),
        "{}",
        log[0]
    );
}

#[test]
fn a_task_arena_that_never_ends_is_warned_of_once_with_its_line() {
    let mut app = app(FrameArenaSettings::default());
    let arena = app.world().resource::<FrameArenas>().task_arena();
    let line = line!() - 1;
    arena.share_iter(0..1000_u64);
    let in_time = logged(|| (0..600).for_each(|_| app.update()));
    assert_eq!(in_time, [""; 0], "tasks may run for some time");
    let log = logged(|| (0..600).for_each(|_| app.update()));
    let expected = format!(
        "WARN Frame arenas: the task arena taken at {}:{line} is still in use after 600 frames, and tasks \
         hold 8.0 KiB. Finish or drop it when its task ends; for a task that never ends, use a \
         `FrameArena`",
        file!()
    );
    assert_eq!(log, [expected]);
    drop(arena);
}

#[test]
fn tasks_that_end_are_not_warned_of() {
    let mut app = app(FrameArenaSettings::default());
    let log = logged(|| {
        for _ in 0..5 {
            let arena = app.world().resource::<FrameArenas>().task_arena();
            let result = arena.share_iter(0..10);
            let result = arena.finish(result);
            (0..300).for_each(|_| app.update());
            drop(result);
        }
    });
    assert_eq!(log, [""; 0]);
}

#[test]
fn a_task_that_outlives_a_long_level_is_warned_of_when_that_level_ends() {
    struct Level;
    let mut app = app(FrameArenaSettings::default());
    app.add_plugins(FrameArenaPacePlugin::<Level>::by_hand());
    let arena = app.world().resource::<ArenasOf<Level>>().task_arena();
    let mut play = |frames| {
        logged(|| {
            (0..frames).for_each(|_| app.update());
            let end = ArenasOf::<Level>::end_period;
            app.world_mut().run_system_cached(end).expect("it runs");
        })
    };
    // Its own level may be long, and a short one may follow.
    assert_eq!(play(700), [""; 0]);
    assert_eq!(play(100), [""; 0]);
    let log = play(700);
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        log[0].contains(" is still in use after 2 levels"),
        "{log:?}"
    );
    assert_eq!(play(700), [""; 0], "once");
    drop(arena);
}

/// Sets a list in each of these frames and compares it with the one before. Returns the log and the line of the
/// comparison.
fn compare_lists(lives_for: LivesFor, frames: &[bool]) -> (Vec<String>, u32) {
    let mut app = app(FrameArenaSettings {
        lives_for,
        ..Default::default()
    });
    let mut near = TwoFrames::default();
    let mut line = 0;
    let log = logged(|| {
        for &sets in frames {
            let arenas = app.world().resource::<FrameArenas>();
            if sets {
                near.set(arenas.local().share_slice_copy(&[1, 2]));
            }
            line = line!() + 1;
            near.changes(arenas).for_each(drop);
            app.update();
        }
    });
    (log, line)
}

#[test]
fn lists_that_live_for_one_period_and_are_compared_with_the_next_are_warned_of_once() {
    let (log, line) = compare_lists(LivesFor::OnePeriod, &[true; 5]);
    assert_eq!(
        log,
        [format!(
            "WARN Frame arenas: the `TwoFrames` read at tests/app/warnings.rs:{line} reports all elements as \
             added, because its old list lives for one period. Set `FrameArenaSettings::lives_for` to \
             `LivesFor::TwoPeriods`"
        )]
    );
}

#[test]
fn lists_that_can_be_compared_or_are_the_first_are_not_warned_of() {
    let gap = [true, true, false, false, false, true, true];
    for (lives_for, frames) in [
        (LivesFor::TwoPeriods, &[true; 5][..]),
        // A pause: the list before it is stale.
        (LivesFor::TwoPeriods, &gap),
        (LivesFor::ThreePeriods, &gap),
        // The only list, and no list.
        (LivesFor::OnePeriod, &[true, false, false]),
        (LivesFor::OnePeriod, &[false; 3]),
    ] {
        let (log, _) = compare_lists(lives_for, frames);
        assert_eq!(log, [""; 0], "{lives_for:?}, {frames:?}");
    }
}

#[test]
fn lists_of_levels_that_are_given_back_are_not_warned_of() {
    struct Level;
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Level>::ending_with(Last));
    let mut rooms = TwoFrames::default();
    let log = logged(|| {
        for _ in 0..5 {
            let arenas = app.world().resource::<ArenasOf<Level>>();
            rooms.set(arenas.local().share_slice_copy(&[1, 2]));
            // Nothing is left of the level before: all rooms of this one are new.
            assert_eq!(rooms.changes(arenas).count(), 2);
            app.update();
        }
    });
    assert_eq!(log, [""; 0]);
}

#[test]
fn settings_of_a_plugin_that_finds_arenas_are_reported_as_unused() {
    let budget = |bytes| FrameArenaSettings {
        budget_bytes: bytes,
        ..Default::default()
    };
    // What the resource has, what the plugin has, and whether the plugin's are lost.
    for (own, plugins, is_lost) in [
        (None, Some(1 << 20), true),
        (Some(1 << 21), Some(1 << 20), true),
        (Some(1 << 20), Some(1 << 20), false),
        (Some(1 << 20), None, false),
    ] {
        let log = logged(|| {
            App::new()
                .insert_resource(FrameArenas::new(budget(own)))
                .add_plugins(FrameArenaPlugin {
                    settings: budget(plugins),
                    ..Default::default()
                });
        });
        let found = lines_with(&log, "settings have no effect").len();
        assert_eq!(found, usize::from(is_lost), "{own:?}, {plugins:?}: {log:?}");
    }
}
