//! The plugin: when it swaps, and in which apps it works.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bevy_app::{
    App, First, FixedUpdate, Last, Main, MainSchedulePlugin, Plugin, PostStartup, PreStartup,
    Startup, SubApp, TaskPoolOptions, TaskPoolPlugin, Update,
};
use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::prelude::*;
use bevy_ecs::resource::IsResource;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::system::RunSystemOnce;
use bevy_frame_arena::{
    FrameArena, FrameArenaDiagnosticsPlugin, FrameArenaPlugin, FrameArenaSchedule,
    FrameArenaSettings, FrameArenas, FrameHandle, Scratch,
};

fn app() -> App {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default());
    app
}

fn frame(app: &App) -> u64 {
    app.world().resource::<FrameArenas>().period()
}

#[derive(Resource, Default)]
struct Carried(Vec<(FrameHandle<str>, u64)>);

fn carry(arenas: Res<FrameArenas>, mut carried: ResMut<Carried>) {
    let frame = arenas.period();
    let text = arenas.local().share_fmt(format_args!("frame {frame}"));
    carried.0.push((text, frame));
}

fn check_carried(arenas: Res<FrameArenas>, carried: Res<Carried>) {
    for &(handle, made_in) in &carried.0 {
        match arenas.resolve(handle) {
            Ok(text) => {
                assert!(arenas.period() - made_in <= 1);
                assert_eq!(text, format!("frame {made_in}"));
            }
            Err(stale) => assert!(stale.age_in_periods().expect("it is ours") >= 2),
        }
    }
}

#[test]
fn data_of_one_frame_is_readable_in_the_next() {
    let mut app = app();
    app.init_resource::<Carried>()
        .add_systems(First, check_carried)
        .add_systems(Update, carry)
        .add_systems(Last, check_carried);
    for _ in 0..10 {
        app.update();
    }
    assert_eq!(app.world().resource::<Carried>().0.len(), 10);
    assert_eq!(frame(&app), 10);
}

#[test]
fn startup_data_counts_as_frame_zero() {
    #[derive(Resource)]
    struct FromStartup(FrameHandle<str>);
    fn read(arenas: Res<FrameArenas>, handle: Res<FromStartup>) {
        let expected = (arenas.period() == 1).then_some("startup");
        assert_eq!(arenas.get(handle.0), expected);
    }
    let mut app = app();
    app.add_systems(PreStartup, |arenas: Res<FrameArenas>| {
        assert_eq!(arenas.period(), 0);
    });
    app.add_systems(
        Startup,
        |arenas: Res<FrameArenas>, mut commands: Commands| {
            commands.insert_resource(FromStartup(arenas.local().share_str("startup")));
        },
    );
    app.add_systems(PostStartup, |arenas: Res<FrameArenas>| {
        assert_eq!(arenas.period(), 0);
    });
    app.add_systems(Update, read);
    for _ in 0..3 {
        app.update();
    }
}

#[test]
fn the_swap_comes_before_every_system_of_the_frame() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct EvenBeforeFirst;
    struct InFront;
    impl Plugin for InFront {
        fn build(&self, app: &mut App) {
            app.init_schedule(EvenBeforeFirst);
            app.world_mut()
                .resource_mut::<bevy_app::MainScheduleOrder>()
                .labels
                .insert(0, EvenBeforeFirst.intern());
            app.add_systems(EvenBeforeFirst, see);
        }
    }
    #[derive(Resource, Default)]
    struct Seen(Vec<u64>);
    fn see(arenas: Res<FrameArenas>, mut seen: ResMut<Seen>) {
        seen.0.push(arenas.period());
    }
    for arenas_first in [true, false] {
        let mut app = App::new();
        app.init_resource::<Seen>();
        if arenas_first {
            app.add_plugins((FrameArenaPlugin::default(), InFront));
        } else {
            app.add_plugins((InFront, FrameArenaPlugin::default()));
        }
        app.add_systems(First, see).add_systems(Last, see);
        app.finish();
        app.cleanup();
        app.update();
        app.update();
        assert_eq!(app.world().resource::<Seen>().0, [1, 1, 1, 2, 2, 2]);
    }
}

#[test]
fn scratch_without_the_plugin_names_the_plugin() {
    let mut world = World::new();
    let error = world
        .run_system_once(|_: Scratch| {})
        .expect_err("no arenas");
    let text = error.to_string();
    assert!(
        text.contains("resource `FrameArenas`, which does not exist: add `FrameArenaPlugin`"),
        "{text}"
    );
}

#[test]
fn systems_can_be_ordered_around_the_swap() {
    #[derive(Resource, Default)]
    struct Seen(Vec<u64>);
    fn see(arenas: Res<FrameArenas>, mut seen: ResMut<Seen>) {
        seen.0.push(arenas.period());
    }
    let mut app = app();
    app.init_resource::<Seen>().add_systems(
        FrameArenaSchedule,
        (
            see.before(FrameArenas::end_period),
            see.after(FrameArenas::end_period),
        ),
    );
    app.update();
    assert_eq!(app.world().resource::<Seen>().0, [0, 1]);
}

#[test]
fn what_is_added_before_the_plugin_is_kept() {
    #[derive(Resource, Default)]
    struct Runs(u32);

    let mut app = App::new();
    app.init_resource::<Runs>()
        .add_systems(
            FrameArenaSchedule,
            (|mut runs: ResMut<Runs>| runs.0 += 1).before(FrameArenas::end_period),
        )
        .add_plugins((
            FrameArenaDiagnosticsPlugin {
                max_history_length: 5,
            },
            FrameArenaPlugin::default(),
        ));
    for _ in 0..9 {
        app.update();
    }
    assert_eq!(app.world().resource::<Runs>().0, 9);
    let store = app.world().resource::<DiagnosticsStore>();
    let used = store.get(&FrameArenaDiagnosticsPlugin::USED);
    assert_eq!(used.map(|used| used.history_len()), Some(5));
}

#[test]
fn arenas_inserted_beforehand_are_kept() {
    let mut app = App::new();
    app.insert_resource(FrameArenas::new(FrameArenaSettings {
        block_bytes: 12_345,
        ..Default::default()
    }));
    app.add_plugins(FrameArenaPlugin::default());
    app.update();
    let arenas = app.world().resource::<FrameArenas>();
    assert_eq!(arenas.settings().block_bytes, 12_345);
    assert_eq!(arenas.period(), 1);
}

#[test]
fn arenas_can_be_removed_and_inserted_again() {
    let mut app = app();
    app.update();
    let handle = app.world().resource::<FrameArenas>().local().share(1);
    let removed = app.world_mut().remove_resource::<FrameArenas>().unwrap();
    app.update();
    app.update();
    assert_eq!(removed[handle], 1);
    app.insert_resource(removed);
    assert_eq!(app.world().resource::<FrameArenas>()[handle], 1);
    app.update();
    app.update();
    assert!(app.world().resource::<FrameArenas>().get(handle).is_none());

    // Replaced by others, and dropped with everything else.
    app.insert_resource(FrameArenas::default());
    assert!(app.world().resource::<FrameArenas>().get(handle).is_none());
}

#[test]
fn arenas_may_be_dropped_with_all_entities_while_a_lease_is_held() {
    let mut world = World::new();
    world.insert_resource(FrameArenas::default());
    let arenas = world.resource::<FrameArenas>();
    let (handle, lease) = (arenas.local().share_str("kept"), arenas.lease());
    world.clear_entities();
    assert!(world.get_resource::<FrameArenas>().is_none());
    assert_eq!(&lease[handle], "kept");
}

#[test]
fn queries_of_all_entities_leave_the_resource_out() {
    let mut app = app();
    app.world_mut().spawn(View(1));
    app.add_systems(
        Update,
        |arenas: Res<FrameArenas>, mut all: Query<EntityMut, Without<IsResource>>| {
            let views = all.iter_mut().filter(|entity| entity.contains::<View>());
            assert_eq!(
                arenas.local().collect(views.map(|it| it.id())).leak().len(),
                1
            );
        },
    );
    app.update();
}

#[test]
#[should_panic = "conflicts with a previous"]
fn queries_of_all_entities_conflict_with_the_resource_otherwise() {
    let mut app = app();
    app.add_systems(Update, |_: Res<FrameArenas>, _: Query<EntityMut>| {});
    app.update();
}

#[test]
fn two_apps_in_one_process_do_not_mix() {
    let mut apps = [app(), app()];
    for _ in 0..5 {
        let handles = apps.each_ref().map(|app| {
            let arenas = app.world().resource::<FrameArenas>();
            arenas.local().share(arenas.period())
        });
        for (mine, app) in apps.iter().enumerate() {
            let arenas = app.world().resource::<FrameArenas>();
            assert!(arenas.get(handles[mine]).is_some());
            assert!(arenas.get(handles[1 - mine]).is_none());
        }
        apps.iter_mut().for_each(App::update);
    }
}

#[test]
fn it_works_in_an_app_that_gets_its_main_schedule_later() {
    let mut app = App::empty();
    app.add_plugins(FrameArenaPlugin::default());
    app.add_plugins(MainSchedulePlugin);
    app.main_mut().update_schedule = Some(Main.intern());
    app.finish();
    app.cleanup();
    app.update();
    app.update();
    assert_eq!(frame(&app), 2);
}

#[test]
fn it_works_in_sub_apps() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Render;
    #[derive(Resource, Default)]
    struct Seen(Vec<u64>);
    let mut sub_app = SubApp::new();
    sub_app.init_schedule(Render);
    sub_app.update_schedule = Some(Render.intern());
    sub_app
        .init_resource::<Seen>()
        .add_plugins(FrameArenaPlugin::default())
        .add_systems(
            Render,
            |arenas: Res<FrameArenas>, mut seen: ResMut<Seen>| {
                seen.0.push(arenas.period());
            },
        );
    sub_app.finish();
    sub_app.cleanup();
    for _ in 0..3 {
        sub_app.update();
    }
    assert_eq!(sub_app.world().resource::<Seen>().0, [1, 2, 3]);
}

#[test]
fn a_fixed_timestep_lives_within_the_frame() {
    // However often it runs, the arenas are swapped once.
    let mut app = app();
    app.init_resource::<Carried>()
        .add_systems(FixedUpdate, carry);
    for _ in 0..3 {
        app.update();
        for _ in 0..4 {
            app.world_mut().run_schedule(FixedUpdate);
        }
    }
    assert_eq!(frame(&app), 3);
    let arenas = app.world().resource::<FrameArenas>();
    let carried = &app.world().resource::<Carried>().0;
    assert!(
        carried[8..]
            .iter()
            .all(|(handle, _)| arenas.get(*handle).is_some())
    );
}

#[derive(Component)]
struct View(usize);

#[derive(Component, Default)]
struct Visible(Option<FrameHandle<[usize]>>);

fn cull(arenas: Res<FrameArenas>, mut views: Query<(&View, &mut Visible)>) {
    views.par_iter_mut().for_each(|(view, mut visible)| {
        let arena = arenas.local();
        let list = arena.share_iter((0..1_000).filter(|n| n % (view.0 + 1) == 0));
        visible.0 = Some(list);
    });
}

fn draw(arenas: Res<FrameArenas>, views: Query<(&View, &Visible)>) {
    views.par_iter().for_each(|(view, visible)| {
        if let Some(list) = visible.0 {
            let expected = (0..1_000).filter(|n| n % (view.0 + 1) == 0);
            assert!(arenas[list].iter().copied().eq(expected));
        }
    });
}

#[test]
fn parallel_systems_and_par_iter_fill_lists_for_the_next_frame() {
    static THREADS: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());
    static OTHERS: AtomicUsize = AtomicUsize::new(0);
    fn note_thread(arenas: Res<FrameArenas>) {
        arenas.local().alloc([0_u8; 100]);
        OTHERS.fetch_add(1, Relaxed);
        THREADS.lock().unwrap().push(std::thread::current().id());
    }
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(8),
        },
        FrameArenaPlugin::default(),
    ));
    app.world_mut()
        .spawn_batch((0..64).map(|n| (View(n), Visible::default())));
    app.add_systems(First, draw).add_systems(
        Update,
        (cull, note_thread, note_thread, note_thread, note_thread),
    );
    let frames = if cfg!(miri) { 3 } else { 50 };
    for _ in 0..frames {
        app.update();
    }
    assert_eq!(OTHERS.load(Relaxed), 4 * frames);
    let mut threads = THREADS.lock().unwrap();
    threads.sort_by_key(|id| format!("{id:?}"));
    threads.dedup();
    assert!(threads.len() > 1, "the systems ran on one thread");
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.parked, usage.generations), (0, 2));
    assert!(usage.used_bytes > 64 * 8);
}

#[test]
fn an_arena_in_a_local_is_the_scratch_of_one_system() {
    fn sum(mut scratch: Local<FrameArena>, mut runs: Local<u64>, mut seen: ResMut<Addresses>) {
        scratch.reset();
        let numbers = scratch.alloc_slice_fill_with(100, |index| index as u64 + *runs);
        assert_eq!(numbers.iter().sum::<u64>(), 4950 + 100 * *runs);
        seen.0.push(numbers.as_ptr().addr());
        *runs += 1;
    }
    #[derive(Resource, Default)]
    struct Addresses(Vec<usize>);

    let mut app = app();
    app.init_resource::<Addresses>().add_systems(Update, sum);
    for _ in 0..10 {
        app.update();
    }
    let seen = &app.world().resource::<Addresses>().0;
    assert_eq!(
        *seen, [seen[0]; 10],
        "each run writes where the last one did"
    );
}

#[test]
fn it_works_with_the_single_threaded_executor() {
    let mut app = app();
    app.edit_schedule(Update, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    app.world_mut()
        .spawn_batch((0..8).map(|n| (View(n), Visible::default())));
    app.add_systems(Update, (draw, cull).chain());
    for _ in 0..5 {
        app.update();
    }
    assert_eq!(frame(&app), 5);
}
