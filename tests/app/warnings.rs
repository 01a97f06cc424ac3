//! What is logged, and how often.
//!
//! The log is the process's, so each test looks for the threads that it named itself, or for numbers
//! that no other test has.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};
use std::thread;
use std::time::Duration;

use crate::common::panics::panics;
use bevy_app::App;
use bevy_frame_arena::{
    FrameArenaLogPlugin, FrameArenaPlugin, FrameArenaReport, FrameArenaSettings, FrameArenas,
};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Metadata, Subscriber};

/// Keeps the text of every event.
struct Log;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
                write!(self.0, "{value:?}").expect("a string takes any text");
            }
        }
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        LINES.lock().expect("nobody panics with it").push(text.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_global_default(Log).expect("it is the only one"));
}

/// Returns the lines of the log that contain a text.
fn lines_with(text: &str) -> Vec<String> {
    let lines = LINES.lock().expect("nobody panics with it");
    let found = lines.iter().filter(|line| line.contains(text));
    found.cloned().collect()
}

fn app(settings: FrameArenaSettings) -> App {
    listen();
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        settings,
        ..Default::default()
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

/// Runs frames in which each of two threads allocates `bytes`, and returns the log of each.
fn log_of_frames(limit: Option<usize>, bytes: usize) -> [Vec<String>; 2] {
    let mut app = app(FrameArenaSettings {
        block_bytes: 1024,
        worker_limit_bytes: limit,
        ..Default::default()
    });
    let names = ["first", "second"].map(|name| format!("{name} {limit:?} {bytes}"));
    for _ in 0..10 {
        for name in &names {
            on_thread(&app, name, |arenas| {
                arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
                arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
            });
        }
        app.update();
    }
    names.map(|name| lines_with(&name))
}

#[test]
fn a_worker_near_its_hard_limit_is_warned_of_once() {
    for log in log_of_frames(Some(1024), 1_000) {
        assert_eq!(log.len(), 1, "{log:?}");
        assert!(log[0].starts_with("WARN Frame arenas: "), "{}", log[0]);
        assert!(log[0].contains("1008 B of 1.0 KiB"), "{}", log[0]);
        assert!(
            log[0].contains("Raise `FrameArenaSettings::worker_limit_bytes` to 2.0 KiB"),
            "{}",
            log[0]
        );
    }
}

#[test]
fn a_worker_with_room_is_not_warned_of() {
    for log in log_of_frames(Some(1024), 900) {
        assert!(log.is_empty(), "{log:?}");
    }
    // Without a limit, memory grows by blocks, and there is nothing to warn of.
    for log in log_of_frames(None, 40_000) {
        assert!(log.is_empty(), "{log:?}");
    }
}

#[test]
fn the_budget_is_blamed_where_it_is_the_cause() {
    let mut app = app(FrameArenaSettings {
        budget_bytes: Some(3 << 20),
        ..Default::default()
    });
    for _ in 0..2 {
        let arenas = app.world().resource::<FrameArenas>();
        for _ in 0..2345 {
            let refused = arenas.local().try_alloc_slice_fill_copy(5 << 20, 0_u8);
            assert!(refused.is_err());
        }
        app.update();
    }
    let log = lines_with(
        "refused allocations in a frame: 2345, of up to 5.0 MiB. The budget is 3.0 MiB for all \
         workers and generations. Raise `FrameArenaSettings::budget_bytes` to 16 MiB",
    );
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn refusals_and_stale_lookups_are_warned_of_once_with_their_number() {
    let mut app = app(FrameArenaSettings {
        worker_limit_bytes: Some(3 << 10),
        ..Default::default()
    });
    let arenas = app.world().resource::<FrameArenas>();
    let handle = arenas.local().share(1);
    for _ in 0..5 {
        let arenas = app.world().resource::<FrameArenas>();
        assert!((0..4).all(|_| panics(|| assert_eq!(arenas[handle], 1))) || arenas.frame() < 2);
        for _ in 0..1234 {
            let refused = arenas.local().try_alloc([0_u8; 4 << 10]);
            assert!(refused.is_err());
        }
        app.update();
    }
    let log = lines_with(
        "refused allocations in a frame: 1234, of up to 4.0 KiB. A worker may take 3.0 KiB. Raise \
         `FrameArenaSettings::worker_limit_bytes` to 16 KiB",
    );
    assert_eq!(log.len(), 1, "{log:?}");
    let log =
        lines_with("panics at look-ups of stale or foreign handles in a frame: 4. The first: at ");
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
    for _ in 0..4 {
        let arenas = app.world().resource::<FrameArenas>();
        if arenas.frame() == 3 {
            assert_eq!(arenas.get(list), None);
            assert_eq!(arenas.text(text), "");
            assert!(arenas.resolve(text).is_err());
        }
        app.update();
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.stale_lookups, usage.stale_panics), (3, 0));
    assert!(usage.first_stale_lookup.is_some());
    assert_eq!(lines_with("FrameHandle<[i64; 7]>"), [""; 0]);
}

#[test]
fn leases_that_pile_up_are_warned_of_once() {
    let mut app = app(FrameArenaSettings {
        block_bytes: 32 << 10,
        ..Default::default()
    });
    let mut leases = Vec::new();
    for _ in 0..7 {
        let arenas = app.world().resource::<FrameArenas>();
        arenas.local().share(1);
        leases.push(arenas.lease());
        app.update();
    }
    let log = lines_with("leases keep 4 generations from being recycled, and 160 KiB");
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn warnings_can_be_switched_off() {
    listen();
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
    app.update();
    assert!(lines_with("`quiet`").is_empty());

    let mut report = app.world_mut().resource_mut::<FrameArenaReport>();
    report.warnings = true;
    on_thread(&app, "quiet", nearly_fill);
    app.update();
    assert_eq!(lines_with("`quiet`").len(), 1);
}

#[test]
fn threads_with_ever_new_names_do_not_fill_the_log() {
    let mut app = app(FrameArenaSettings {
        worker_limit_bytes: Some(1024),
        ..Default::default()
    });
    for n in 0..if cfg!(miri) { 66 } else { 200 } {
        on_thread(&app, &format!("ever new {n}"), |arenas| {
            arenas.local().alloc([0_u8; 1000]);
        });
        app.update();
    }
    assert_eq!(lines_with("`ever new ").len(), 64);
}

/// Returns a line of the log as it is without the feature `sites`.
fn without_site(line: &str) -> &str {
    line.split(", most of it at ").next().unwrap_or(line)
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
    for _ in 0..31 {
        let arenas = app.world().resource::<FrameArenas>();
        arenas.local().alloc([0_u8; 900]);
        arenas.local().alloc([0_u8; 1002]);
        app.update();
    }
    let log = lines_with("Frame arenas: 1.9 KiB of ");
    assert_eq!(log.len(), 4, "{log:?}");
    assert_eq!(
        without_site(&log[2]),
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
    app.update();
    let log = lines_with("INFO Frame arenas: 2.0 KiB of 64 KiB on 1 worker");
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(
        without_site(&log[0]).ends_with(", peak 2.0 KiB"),
        "{}",
        log[0]
    );
}
