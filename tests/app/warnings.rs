//! What is logged, and how often.
//!
//! The log is the process's, so each test looks for the threads that it named itself.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, Once};
use std::thread;

use bevy_app::{App, AppLabel, SubApp};
use bevy_frame_arena::{
    FrameArenaPlugin, FrameArenaSettings, FrameArenaSubAppPlugin, FrameArenas, OverflowPolicy,
};
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

/// Runs frames in which each of two threads allocates `bytes`, and returns the log of each.
fn log_of_frames(overflow: OverflowPolicy, bytes: usize) -> [Vec<String>; 2] {
    listen();
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 1024,
        overflow,
        ..Default::default()
    });
    let names = ["first", "second"].map(|name| format!("{name} {overflow:?} {bytes}"));
    for _ in 0..10 {
        for name in &names {
            thread::scope(|scope| {
                thread::Builder::new()
                    .name(name.clone())
                    .spawn_scoped(scope, || {
                        arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
                        arenas.local().alloc_slice_fill_copy(bytes / 2, 0_u8);
                    })
                    .expect("a thread starts");
            });
        }
        arenas.swap();
    }
    let lines = LINES.lock().expect("nobody panics with it");
    names.map(|name| {
        let of_thread = lines.iter().filter(|line| line.contains(&name));
        of_thread.cloned().collect()
    })
}

#[test]
fn a_worker_that_overflows_is_warned_of_once() {
    for log in log_of_frames(OverflowPolicy::Grow, 4_000) {
        assert_eq!(log.len(), 1, "{log:?}");
        assert!(log[0].starts_with("WARN "), "{}", log[0]);
        assert!(
            log[0].contains("is too small: a frame used 4000 bytes"),
            "{}",
            log[0]
        );
        assert!(log[0].contains("raise `FrameArenaSettings::worker_capacity_bytes`"));
    }
}

#[test]
fn a_worker_near_its_hard_limit_is_warned_of_once() {
    for log in log_of_frames(OverflowPolicy::Fail, 1_000) {
        assert_eq!(log.len(), 1, "{log:?}");
    }
}

#[test]
fn a_worker_with_room_is_not_warned_of() {
    for log in log_of_frames(OverflowPolicy::Fail, 900) {
        assert!(log.is_empty(), "{log:?}");
    }
    for log in log_of_frames(OverflowPolicy::Grow, 1_000) {
        assert!(log.is_empty(), "{log:?}");
    }
}

#[test]
fn an_extract_function_that_replaces_the_hand_over_is_warned_of_once() {
    #[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
    struct Replaced;
    #[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
    struct Wrapped;

    listen();
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(Replaced),
        FrameArenaSubAppPlugin {
            diagnostics_prefix: None,
            ..FrameArenaSubAppPlugin::new(Wrapped)
        },
    ));
    for label in [Replaced.intern(), Wrapped.intern()] {
        app.insert_sub_app(label, SubApp::new());
    }
    app.finish();
    app.sub_app_mut(Replaced).set_extract(|_, _| {});
    let wrapped = app.sub_app_mut(Wrapped);
    let mut hand_over = wrapped.take_extract().expect("the plugin has set one");
    wrapped.set_extract(move |main, sub| hand_over(main, sub));
    for _ in 0..50 {
        app.update();
    }
    let lines = LINES.lock().expect("nobody panics with it");
    let of = |label: &str| lines.iter().filter(|line| line.contains(label)).count();
    assert_eq!((of("sub-app `Replaced`"), of("sub-app `Wrapped`")), (1, 0));
}
