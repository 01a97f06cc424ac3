//! Paces: when periods end, and where in a schedule.

mod error_texts;
mod levels;
mod rates;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bevy_app::{
    App, First, FixedFirst, FixedLast, FixedMain, FixedMainScheduleOrder, Last, Plugin, Startup,
    SubApp, Update,
};
use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::system::RunSystemOnce;
use bevy_frame_arena::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaReport,
    FrameArenaSchedule, FrameArenaSettings, FrameArenas, FrameHandle, LivesFor,
};
use static_assertions::assert_impl_all;

#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Tick;

#[derive(Resource, Default)]
struct Seen(Vec<(&'static str, u64)>);

/// A system that notes the period it sees.
fn see<P: 'static>(name: &'static str) -> impl Fn(Res<ArenasOf<P>>, ResMut<Seen>) {
    move |arenas, mut seen| seen.0.push((name, arenas.period()))
}

fn period<P: 'static>(app: &App) -> u64 {
    app.world().resource::<ArenasOf<P>>().period()
}

fn seen(app: &mut App) -> Vec<(&'static str, u64)> {
    std::mem::take(&mut app.world_mut().resource_mut::<Seen>().0)
}

fn value(app: &App, path: &str) -> Option<f64> {
    let store = app.world().resource::<DiagnosticsStore>();
    store.get(&DiagnosticPath::new(path.to_owned()))?.value()
}

#[test]
fn a_period_that_ends_at_the_start_of_a_schedule_ends_before_all_its_systems() {
    let mut app = App::new();
    app.init_resource::<Seen>()
        .add_systems(Tick, see::<Tick>("added before"))
        .add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick))
        .add_systems(Tick, see::<Tick>("added after").in_set(Anything))
        .configure_sets(Tick, Anything.before(Unused));
    for run in 1..=3 {
        app.world_mut().run_schedule(Tick);
        app.add_systems(Tick, see::<Tick>("added between runs"));
        let seen = seen(&mut app);
        assert_eq!(seen.len(), 1 + run as usize);
        assert!(seen.iter().all(|&(_, period)| period == run), "{seen:?}");
    }
}

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Anything;

#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
struct Unused;

#[derive(Resource)]
struct Map(FrameHandle<str>);

fn read(arenas: Res<ArenasOf<Tick>>, map: Res<Map>) {
    assert_eq!(&arenas[map.0], "caves");
}

fn read_by_command(mut commands: Commands) {
    commands.queue(|world: &mut World| {
        world
            .run_system_once(read)
            .expect("it asks for nothing that is not there");
    });
}

/// Shares a text, runs the schedule, and checks that the text is gone.
fn end_with_a_map(app: &mut App) {
    let arenas = app.world().resource::<ArenasOf<Tick>>();
    let map = arenas.local().share_str("caves");
    app.insert_resource(Map(map));
    app.world_mut().run_schedule(Tick);
    assert_eq!(app.world().resource::<ArenasOf<Tick>>().get(map), None);
}

#[test]
fn a_period_that_ends_with_a_schedule_ends_after_its_systems() {
    let mut app = App::new();
    app.add_systems(Tick, read)
        .add_plugins(FrameArenaPacePlugin::<Tick>::ending_with(Tick))
        .add_systems(Tick, (read, read_by_command, read).chain());
    for _ in 0..3 {
        end_with_a_map(&mut app);
        app.add_systems(Tick, read);
    }
}

#[test]
fn a_period_that_ends_with_a_schedule_ends_after_the_commands_of_its_systems() {
    let mut app = App::new();
    // With nothing behind them that would apply their commands.
    app.add_plugins(FrameArenaPacePlugin::<Tick>::ending_with(Tick))
        .add_systems(Tick, read_by_command);
    for _ in 0..3 {
        end_with_a_map(&mut app);
        app.add_systems(Tick, read_by_command);
    }
}

#[test]
fn a_system_that_wants_to_be_outside_of_the_edges_has_its_way() {
    let mut app = App::new();
    app.init_resource::<Seen>()
        .add_plugins((
            FrameArenaPacePlugin::<Tick>::at_start_of(Tick),
            FrameArenaPacePlugin::<Level>::ending_with(Tick),
        ))
        .add_systems(
            Tick,
            (
                see::<Tick>("before").before(ArenasOf::<Tick>::end_period),
                (see::<Tick>("first"), see::<Level>("last")).chain(),
                see::<Level>("after").after(ArenasOf::<Level>::end_period),
            ),
        );
    app.world_mut().run_schedule(Tick);
    let mut seen = seen(&mut app);
    seen.sort_unstable();
    assert_eq!(
        seen,
        [("after", 1), ("before", 0), ("first", 1), ("last", 0)]
    );
}

struct Level;

#[test]
fn several_paces_end_in_one_schedule_and_one_pace_in_several() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Lost;
    struct Match;

    let won = FrameArenaPacePlugin::<Match>::ending_with(Tick);
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPacePlugin::<Level>::ending_with(Tick),
        FrameArenaPacePlugin {
            ending_with: vec![Tick.intern(), Lost.intern()],
            ..won
        },
    ));
    app.world_mut().run_schedule(Tick);
    app.world_mut().run_schedule(Lost);
    app.world_mut().run_schedule(Tick);
    assert_eq!((period::<Level>(&app), period::<Match>(&app)), (2, 3));
}

#[test]
fn a_period_may_end_at_the_start_and_at_the_end_of_one_schedule() {
    let both = FrameArenaPacePlugin::<Tick>::at_start_of(Tick);
    let mut app = App::new();
    app.init_resource::<Seen>()
        .add_plugins(FrameArenaPacePlugin {
            ending_with: vec![Tick.intern()],
            ..both
        })
        .add_systems(Tick, see::<Tick>("between"));
    app.finish();
    for run in 0..3 {
        app.world_mut().run_schedule(Tick);
        assert_eq!(seen(&mut app), [("between", 2 * run + 1)]);
        assert_eq!(period::<Tick>(&app), 2 * run + 2);
    }
}

#[test]
fn a_fixed_step_begins_before_all_that_is_run_in_it() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct BeforeFixedFirst;
    struct InFront;
    impl Plugin for InFront {
        fn build(&self, app: &mut App) {
            app.add_systems(BeforeFixedFirst, see::<FixedStep>("in front"));
            let mut order = app.world_mut().resource_mut::<FixedMainScheduleOrder>();
            order.labels.insert(0, BeforeFixedFirst.intern());
        }
    }
    let plugins: [fn(&mut App); 2] = [
        |app| {
            app.add_plugins((FrameArenaPacePlugin::fixed_step(), InFront));
        },
        |app| {
            app.add_plugins((InFront, FrameArenaPacePlugin::fixed_step()));
        },
    ];
    for add in plugins {
        let mut app = App::new();
        app.init_resource::<Seen>();
        add(&mut app);
        app.add_systems(Startup, see::<FixedStep>("startup"))
            .add_systems(FixedFirst, see::<FixedStep>("first"))
            .add_systems(FixedLast, see::<FixedStep>("last"))
            .add_systems(Update, see::<FixedStep>("frame"));
        app.finish();
        app.update();
        assert_eq!(seen(&mut app), [("startup", 0), ("frame", 0)]);
        for step in 1..=3 {
            app.world_mut().run_schedule(FixedMain);
            assert_eq!(
                seen(&mut app),
                [("in front", step), ("first", step), ("last", step)]
            );
        }
        app.update();
        assert_eq!(seen(&mut app), [("frame", 3)]);
    }
}

#[test]
fn a_schedule_that_is_replaced_before_the_app_starts_still_ends_the_period() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick))
        .add_schedule(Schedule::new(Tick));
    app.finish();
    app.world_mut().run_schedule(Tick);
    assert_eq!(period::<Tick>(&app), 1);
}

#[test]
fn an_executor_that_is_set_later_changes_nothing() {
    let mut app = App::new();
    app.init_resource::<Seen>()
        .add_plugins(FrameArenaPacePlugin::<Tick>::ending_with(Tick))
        .add_systems(Tick, see::<Tick>("system"))
        .edit_schedule(Tick, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    app.world_mut().run_schedule(Tick);
    assert_eq!(seen(&mut app), [("system", 0)]);
    assert_eq!(period::<Tick>(&app), 1);
}

#[test]
#[should_panic(expected = "plugin was already added")]
fn one_pace_has_one_plugin() {
    App::new()
        .add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick))
        .add_plugins(FrameArenaPacePlugin::<Tick>::by_hand());
}

#[test]
fn handles_of_one_pace_do_not_resolve_at_another() {
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::fixed_step(),
        FrameArenaPacePlugin::<Level>::by_hand(),
    ));
    let world = app.world();
    let frame = world.resource::<FrameArenas>();
    let step = world.resource::<ArenasOf<FixedStep>>();
    let level = world.resource::<ArenasOf<Level>>();
    let arenas: [&FrameArenas; 3] = [frame, step, level];
    for (of, own) in arenas.iter().enumerate() {
        let handle = own.local().share(of);
        for (by, other) in arenas.iter().enumerate() {
            assert_eq!(other.get(handle).is_some(), of == by);
        }
    }
}

#[test]
fn each_pace_has_its_own_settings_label_and_figures() {
    struct AiTick;
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPacePlugin::<AiTick>::at_start_of(Tick),
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin {
            name: "the world".into(),
            settings: FrameArenaSettings {
                lives_for: LivesFor::ThreePeriods,
                ..Default::default()
            },
            ..FrameArenaPacePlugin::<Level>::by_hand()
        },
        FrameArenaPacePlugin::fixed_step(),
    ));
    let of_level = app.world().resource::<ArenasOf<Level>>();
    of_level.local().alloc_slice_fill_copy(1 << 20, 0_u8);
    assert_eq!(of_level.settings().lives_for, LivesFor::ThreePeriods);
    let of_tick = app.world().resource::<ArenasOf<AiTick>>();
    of_tick.local().alloc_slice_fill_copy(2 << 20, 0_u8);
    let used = |app: &App| {
        (
            value(app, "ai_tick_arena/used"),
            value(app, "the_world_arena/used"),
        )
    };
    assert_eq!(used(&app), (None, None));
    app.update();
    assert_eq!(used(&app), (Some(2.0), Some(1.0)), "so far");

    app.world_mut().run_schedule(Tick);
    let end = ArenasOf::<Level>::end_period;
    app.world_mut().run_system_cached(end).unwrap();
    app.world_mut().run_schedule(FixedMain);
    assert_eq!(value(&app, "ai_tick_arena/used"), Some(2.0));
    assert_eq!(value(&app, "the_world_arena/used"), Some(1.0));
    assert_eq!(value(&app, "frame_arena/used"), Some(0.0));
    assert_eq!(value(&app, "fixed_step_arena/used"), Some(0.0));

    let report = app.world().resource::<FrameArenaReport>().iter();
    let names: Vec<_> = report.map(|it| (&*it.label, &*it.prefix)).collect();
    assert_eq!(
        names,
        [
            ("Frame arenas", "frame_arena"),
            ("Ai tick arenas", "ai_tick_arena"),
            ("The world arenas", "the_world_arena"),
            ("Fixed step arenas", "fixed_step_arena"),
        ]
    );
}

#[test]
fn names_of_types_become_words_and_prefixes() {
    struct AITick;
    struct Wave2Boss<T>(T);
    struct Öl;
    fn names<P: 'static>() -> [String; 3] {
        let plugin = FrameArenaPacePlugin::<P>::by_hand();
        let name = plugin.name.to_string();
        let mut app = App::new();
        app.add_plugins(plugin);
        let report = app.world().resource::<FrameArenaReport>();
        let arenas = report.iter().next().expect("it is in the report");
        [name, arenas.label.clone(), arenas.prefix.clone()]
    }
    assert_eq!(
        names::<AITick>(),
        ["aitick", "Aitick arenas", "aitick_arena"]
    );
    assert_eq!(
        names::<Wave2Boss<Level>>(),
        ["wave2 boss", "Wave2 boss arenas", "wave2_boss_arena"]
    );
    assert_eq!(names::<Öl>(), ["öl", "Öl arenas", "öl_arena"]);
    assert_eq!(names::<()>(), ["()", "() arenas", "___arena"]);
}

#[test]
fn two_paces_of_one_name_do_not_mix_their_figures() {
    mod other {
        pub(super) struct Level;
    }
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPacePlugin::<Level>::at_start_of(Tick),
        FrameArenaPacePlugin::<other::Level>::at_start_of(Tick),
    ));
    let second = app.world().resource::<ArenasOf<other::Level>>();
    second.local().alloc_slice_fill_copy(1 << 20, 0_u8);
    app.world_mut().run_schedule(Tick);
    assert_eq!(value(&app, "level_arena/used"), Some(0.0));
    let report = app.world().resource::<FrameArenaReport>();
    assert_eq!(report.iter().count(), 1);
    let first = report.get("level_arena").expect("it was first");
    assert_eq!((first.periods, first.usage.used_bytes), (1, 0));
}

#[test]
fn arenas_may_be_there_before_and_be_gone_or_replaced_later() {
    let mut app = App::new();
    app.insert_resource(ArenasOf::<Tick>::new(FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    }))
    .add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick));
    let arenas = app.world().resource::<ArenasOf<Tick>>();
    assert_eq!(arenas.settings().block_bytes, 4096);

    let removed = app.world_mut().remove_resource::<ArenasOf<Tick>>();
    app.world_mut().run_schedule(Tick);
    app.update();
    assert_eq!(removed.unwrap().period(), 0);

    app.init_resource::<ArenasOf<Tick>>();
    let arenas = app.world().resource::<ArenasOf<Tick>>();
    arenas.local().alloc_slice_fill_copy(1 << 20, 0_u8);
    app.world_mut().run_schedule(Tick);
    assert_eq!(value(&app, "tick_arena/used"), Some(1.0));
    app.world_mut().remove_resource::<DiagnosticsStore>();
    app.world_mut().remove_resource::<FrameArenaReport>();
    app.world_mut().run_schedule(Tick);
    assert_eq!(period::<Tick>(&app), 2);
}

#[test]
fn a_pace_works_in_a_sub_app() {
    let mut sub_app = SubApp::new();
    sub_app.update_schedule = Some(Tick.intern());
    sub_app.add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick));
    for run in 1..=3 {
        sub_app.update();
        assert_eq!(sub_app.world().resource::<ArenasOf<Tick>>().period(), run);
    }
}

#[test]
fn ends_of_periods_are_no_changes() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(First))
        .add_systems(Last, |arenas: Res<ArenasOf<Tick>>| {
            assert_eq!(arenas.is_changed(), arenas.period() == 1);
        });
    for _ in 0..4 {
        app.update();
    }
}

#[test]
fn a_period_that_ends_in_a_panic_has_ended() {
    struct Bomb(bool, Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            assert!(!self.0, "a bomb");
        }
    }
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Level>::ending_with(Tick));
    let drops = Arc::new(AtomicUsize::new(0));
    let arenas = app.world().resource::<ArenasOf<Level>>();
    let bombs = [true, false, true].map(|panics| Bomb(panics, Arc::clone(&drops)));
    let bombs = arenas.local().share_iter(bombs);
    let end = AssertUnwindSafe(|| {
        let end = ArenasOf::<Level>::end_period;
        app.world_mut().run_system_once(end).unwrap();
    });
    assert!(catch_unwind(end).is_err());
    assert_eq!((period::<Level>(&app), drops.load(Relaxed)), (1, 3));
    let arenas = app.world().resource::<ArenasOf<Level>>();
    assert!(arenas.get(bombs).is_none());
    assert_eq!(arenas[arenas.local().share(7)], 7);
}

// The pace is a name, and no value of it is held.
assert_impl_all!(ArenasOf<Rc<()>>: Send, Sync);
assert_impl_all!(FrameArenaPacePlugin<Rc<()>>: Send, Sync);

#[test]
fn no_order_is_left_to_chance_and_none_is_imposed_on_others() {
    fn write(_: ResMut<Seen>) {}
    let mut app = App::new();
    app.init_resource::<Seen>().add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::<Tick>::at_start_of(Last),
        FrameArenaPacePlugin::fixed_step(),
        FrameArenaPacePlugin::<Level>::ending_with(Last),
        FrameArenaPacePlugin::<Seen>::ending_with(Last),
    ));
    let labels = [
        Last.intern(),
        FixedMain.intern(),
        FrameArenaSchedule.intern(),
    ];
    app.add_systems(
        Last,
        (see::<Tick>("reads"), |_: Res<FrameArenas>| {}).chain(),
    );
    for label in labels {
        app.edit_schedule(label, |schedule| {
            schedule.set_build_settings(ScheduleBuildSettings {
                ambiguity_detection: LogLevel::Error,
                ..Default::default()
            });
        });
    }
    for label in labels {
        app.world_mut().schedule_scope(label, |world, schedule| {
            if let Err(error) = schedule.initialize(world) {
                panic!("{label:?}: {error:?}");
            }
        });
    }
    // Two systems of the user's that conflict are told of as ever.
    app.add_systems(Last, (write, write));
    app.world_mut().schedule_scope(Last, |world, schedule| {
        assert!(schedule.initialize(world).is_err());
    });
}
