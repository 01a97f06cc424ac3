//! Data that goes from frames to fixed steps and back, at any rate.

use std::time::Duration;

use bevy_app::{App, FixedUpdate, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::SingleThreadedExecutor;
use bevy_frame_arena::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenas, FrameHandle,
};
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy};

/// Frames a second, and how many of them; the last rate has 16 steps in each.
const RATES: [(u64, u32); 6] = if cfg!(miri) {
    [(30, 5), (60, 9), (75, 12), (144, 12), (240, 20), (4, 2)]
} else {
    [
        (30, 300),
        (60, 600),
        (75, 750),
        (144, 1440),
        (240, 2400),
        (4, 40),
    ]
};

/// A program that does it wrong is found out sooner.
const CONTROL: u32 = if cfg!(miri) { 1 } else { 5 };

/// A numbered text, so that one that is lost shows.
type Text = (u64, FrameHandle<str>);

#[derive(Message)]
struct ToStep(Text);

#[derive(Message)]
struct ToFrame(Text);

/// What its maker replaces each time.
#[derive(Resource, Default)]
struct MadeInStep(Option<Text>);

#[derive(Resource, Default)]
struct MadeInFrame(Option<Text>);

#[derive(Resource, Default, Debug, Clone, PartialEq)]
struct Count {
    made: u64,
    resolved: u64,
    stale: u64,
    lost: u64,
    last: u64,
}

impl Count {
    fn make(&mut self, arenas: &FrameArenas) -> Text {
        self.made += 1;
        let text = arenas.local().share_fmt(format_args!("{}", self.made));
        (self.made, text)
    }

    fn read(&mut self, arenas: &FrameArenas, (number, text): Text) {
        match arenas.get(text) {
            Some(text) => {
                assert_eq!(text, number.to_string());
                self.resolved += 1;
            }
            None => self.stale += 1,
        }
    }

    /// Reads a message, of which none may be missing.
    fn receive(&mut self, arenas: &FrameArenas, text: Text) {
        self.read(arenas, text);
        self.lost += text.0 - self.last - 1;
        self.last = text.0;
    }
}

/// Counts of the four ways that data can go.
#[derive(Resource, Default)]
struct Counts {
    message_to_step: Count,
    message_to_frame: Count,
    list_of_step: Count,
    list_of_frame: Count,
}

/// The arenas of one way: those of the frame or those of the step.
#[derive(Resource, Clone, Copy)]
struct Ways {
    message_to_step: Pace,
    message_to_frame: Pace,
    list_of_step: Pace,
    list_of_frame: Pace,
}

#[derive(Clone, Copy)]
enum Pace {
    Frame,
    Step,
}

#[derive(bevy_ecs::system::SystemParam)]
struct Arenas<'w> {
    frame: Res<'w, FrameArenas>,
    step: Res<'w, ArenasOf<FixedStep>>,
}

impl Arenas<'_> {
    fn of(&self, pace: Pace) -> &FrameArenas {
        match pace {
            Pace::Frame => &self.frame,
            Pace::Step => &self.step,
        }
    }
}

fn step(
    arenas: Arenas,
    ways: Res<Ways>,
    mut counts: ResMut<Counts>,
    mut received: MessageReader<ToStep>,
    mut sent: MessageWriter<ToFrame>,
    mut own: ResMut<MadeInStep>,
    others: Res<MadeInFrame>,
) {
    let to_step = arenas.of(ways.message_to_step);
    for message in received.read() {
        counts.message_to_step.receive(to_step, message.0);
    }
    let to_frame = arenas.of(ways.message_to_frame);
    sent.write(ToFrame(counts.message_to_frame.make(to_frame)));
    // Its own of the step before, then another one.
    if let Some(before) = own.0 {
        counts
            .list_of_step
            .read(arenas.of(ways.list_of_step), before);
    }
    own.0 = Some(counts.list_of_step.make(arenas.of(ways.list_of_step)));
    if let Some(list) = others.0 {
        counts
            .list_of_frame
            .read(arenas.of(ways.list_of_frame), list);
    }
}

fn frame(
    arenas: Arenas,
    ways: Res<Ways>,
    mut counts: ResMut<Counts>,
    mut received: MessageReader<ToFrame>,
    mut sent: MessageWriter<ToStep>,
    mut own: ResMut<MadeInFrame>,
    others: Res<MadeInStep>,
) {
    let to_frame = arenas.of(ways.message_to_frame);
    for message in received.read() {
        counts.message_to_frame.receive(to_frame, message.0);
    }
    let to_step = arenas.of(ways.message_to_step);
    sent.write(ToStep(counts.message_to_step.make(to_step)));
    own.0 = Some(counts.list_of_frame.make(arenas.of(ways.list_of_frame)));
    if let Some(list) = others.0 {
        counts.list_of_step.read(arenas.of(ways.list_of_step), list);
    }
}

fn app(frames_a_second: u64, ways: Ways) -> App {
    let frame_time = Duration::from_nanos(1_000_000_000 / frames_a_second);
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::fixed_step(),
    ))
    .insert_resource(TimeUpdateStrategy::ManualDuration(frame_time))
    .insert_resource(ways)
    .init_resource::<Counts>()
    .init_resource::<MadeInStep>()
    .init_resource::<MadeInFrame>()
    .add_message::<ToStep>()
    .add_message::<ToFrame>()
    .add_systems(Update, frame)
    .add_systems(FixedUpdate, step);
    app.finish();
    app
}

/// Each at the pace that the docs of `ArenasOf` say.
const RIGHT: Ways = Ways {
    message_to_step: Pace::Step,
    message_to_frame: Pace::Frame,
    list_of_step: Pace::Step,
    list_of_frame: Pace::Frame,
};

#[test]
fn nothing_is_stale_or_lost_at_any_rate_in_either_direction() {
    for (frames_a_second, frames) in RATES {
        let mut app = app(frames_a_second, RIGHT);
        for _ in 0..frames {
            app.update();
        }
        let counts = app.world().resource::<Counts>();
        for (way, count) in [
            ("message to step", &counts.message_to_step),
            ("message to frame", &counts.message_to_frame),
            ("list of step", &counts.list_of_step),
            ("list of frame", &counts.list_of_frame),
        ] {
            let at = format!("{way} at {frames_a_second} frames a second: {count:?}");
            assert_eq!((count.stale, count.lost), (0, 0), "{at}");
            assert!(count.resolved > u64::from(frames) / 5, "{at}");
        }
        // All that frames sent has arrived, but for those since the last step.
        let steps_a_frame = 64.0 / frames_a_second as f64;
        let waiting = counts.message_to_step.made - counts.message_to_step.resolved;
        assert!(waiting as f64 <= 1.0 + 1.0 / steps_a_frame, "{waiting}");
        assert_eq!(
            counts.message_to_frame.made,
            counts.message_to_frame.resolved
        );
    }
}

#[test]
fn the_frames_own_arenas_are_stale_between_steps_above_64_frames_a_second() {
    // What the paces are for: a developer at 60 frames a second sees nothing of it.
    let wrong = Ways {
        message_to_step: Pace::Frame,
        list_of_step: Pace::Frame,
        ..RIGHT
    };
    for (frames_a_second, frames) in RATES {
        let mut app = app(frames_a_second, wrong);
        for _ in 0..frames.div_ceil(CONTROL) {
            app.update();
        }
        let counts = app.world().resource::<Counts>();
        let is_fast = frames_a_second > 64;
        assert_eq!(counts.message_to_step.stale > 0, is_fast);
        assert_eq!(counts.list_of_step.stale > 0, is_fast);
    }
}

#[test]
fn the_steps_arenas_are_stale_in_frames_with_many_steps() {
    let wrong = Ways {
        message_to_frame: Pace::Step,
        list_of_frame: Pace::Step,
        ..RIGHT
    };
    for (frames_a_second, frames) in RATES {
        let mut app = app(frames_a_second, wrong);
        for _ in 0..frames.div_ceil(CONTROL) {
            app.update();
        }
        let counts = app.world().resource::<Counts>();
        // At 30 frames a second there are up to three steps in one, at 60 up to two.
        if !cfg!(miri) || frames_a_second == 4 {
            assert_eq!(counts.message_to_frame.stale > 0, frames_a_second <= 30);
            assert_eq!(counts.list_of_frame.stale > 0, frames_a_second <= 60);
        }
    }
}

#[test]
fn sixteen_steps_in_a_frame_take_the_memory_of_two() {
    const STEP_BYTES: usize = if cfg!(miri) { 1 << 10 } else { 3 << 19 };
    fn simulate(arenas: Res<ArenasOf<FixedStep>>) {
        arenas.local().alloc_slice_fill_copy(STEP_BYTES, 0_u8);
    }
    let mut app = app(4, RIGHT);
    app.add_systems(FixedUpdate, simulate)
        .edit_schedule(FixedUpdate, |schedule| {
            // On one thread, so that there is one worker.
            schedule.set_executor(SingleThreadedExecutor::new());
        })
        .edit_schedule(Update, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    for _ in 0..5 {
        let before = app.world().resource::<ArenasOf<FixedStep>>().period();
        app.update();
        let arenas = app.world().resource::<ArenasOf<FixedStep>>();
        let steps = arenas.period() - before;
        assert!(steps == 16 || before == 0, "{steps} steps");
        let usage = arenas.usage();
        assert!(usage.high_watermark_bytes < STEP_BYTES + STEP_BYTES / 2);
        let a_step = STEP_BYTES.next_power_of_two() + arenas.settings().block_bytes;
        assert!(usage.reserved_bytes <= 2 * a_step);
        assert_eq!(usage.generations, 2);
    }
    assert_eq!(
        app.world().resource::<Time<Fixed>>().timestep(),
        Duration::from_micros(15625)
    );
}
