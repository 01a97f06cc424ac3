//! Once warm, a frame, or the period of another pace, makes no call to the global allocator, and a swap costs the same for ten
//! allocations and for a million.
#[path = "common"]
mod common {
    pub(crate) mod counting_allocator;
}

use std::alloc::Layout;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, Mutex};

use bevy_app::{App, AppLabel, First, SubApp, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_diagnostic::DiagnosticsPlugin;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_frame_arena::{
    ArenasOf, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaSchedule, FrameArenaSettings,
    FrameArenaSubAppPlugin, FrameArenas, FrameHandle, FrameLease, TaskArena, TaskResult,
};
use bevy_platform::hash::FixedHasher;
use bevy_tasks::ComputeTaskPool;
use common::counting_allocator::{CALLS, IS_COUNTING, calls_in, counted};

/// The counter is the process's, so the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

#[derive(Component)]
struct List(Option<FrameHandle<[usize]>>);

#[derive(Resource, Default)]
struct Reader(Option<(FrameLease, FrameHandle<str>)>);

fn fill_lists(arenas: Res<FrameArenas>, mut lists: Query<&mut List>) {
    lists.par_iter_mut().for_each(|mut list| {
        counted(|| {
            let arena = arenas.local();
            let mut vec = arena.vec();
            vec.extend(0..100);
            arena.alloc_fmt(format_args!("{} entries", vec.len()));
            let mut map = hashbrown::HashMap::with_hasher_in(FixedHasher, arena);
            map.insert(1, vec.len());
            list.0 = Some(vec.share());
        });
    });
}

fn read_lists(arenas: Res<FrameArenas>, lists: Query<&List>) {
    lists.par_iter().for_each(|list| {
        if let Some(list) = list.0 {
            assert_eq!(counted(|| arenas[list].len()), 100);
        }
    });
}

fn hold_a_lease(arenas: Res<FrameArenas>, mut reader: ResMut<Reader>) {
    counted(|| {
        if let Some((lease, handle)) = &reader.0 {
            assert_eq!(&lease[*handle], "leased");
        }
        reader.0 = Some((arenas.lease(), arenas.local().share_str("leased")));
    });
}

/// Has every thread of the pool, and this one, use its arena in the current frame.
fn warm_every_thread(app: &App) {
    let arenas = app.world().resource::<FrameArenas>();
    let pool = ComputeTaskPool::get();
    let all = pool.thread_num() + 1;
    let barrier = Barrier::new(all);
    let seen = pool.scope(|scope| {
        for _ in 0..all {
            // Each waits for all the others, so each has a thread of its own.
            scope.spawn(async {
                barrier.wait();
                // A first block that is kept for a handle, and another block.
                arenas.local().share(0_u8);
                arenas.local().alloc([0_u8; 100_000]);
                barrier.wait();
                std::thread::current().id()
            });
        }
    });
    assert_eq!(seen.len(), all);
}

#[test]
fn a_warm_frame_of_an_app_makes_no_call_to_the_global_allocator() {
    let _turn = TURN.lock();
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(8),
        },
        DiagnosticsPlugin,
        FrameArenaPlugin::default(),
    ));
    app.world_mut().spawn_batch((0..256).map(|_| List(None)));
    app.init_resource::<Reader>()
        .add_systems(First, read_lists)
        .add_systems(Update, (fill_lists, hold_a_lease))
        // The swap and the diagnostics, with what the schedule itself does between them.
        .add_systems(
            FrameArenaSchedule,
            (
                (|| IS_COUNTING.set(true)).before(FrameArenas::end_period),
                (|| IS_COUNTING.set(false)).after(FrameArenas::end_period),
            ),
        );
    app.finish();
    app.cleanup();
    // Longer than the history of a diagnostic, which grows until it is full.
    for _ in 0..150 {
        app.update();
        warm_every_thread(&app);
    }
    CALLS.store(0, Relaxed);
    for _ in 0..300 {
        app.update();
        assert_eq!(CALLS.load(Relaxed), 0);
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!(usage.generations, 2);
    assert!(usage.used_bytes > 256 * 800);
}

#[test]
fn the_end_of_a_warm_period_makes_no_call_to_the_global_allocator() {
    #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct Tick;
    let _turn = TURN.lock();
    let mut app = App::new();
    app.add_plugins(FrameArenaPacePlugin::<Tick>::at_start_of(Tick))
        .add_systems(
            Tick,
            (
                // The end of the period and its figures.
                (|| IS_COUNTING.set(true)).before(ArenasOf::<Tick>::end_period),
                |arenas: Res<ArenasOf<Tick>>| {
                    IS_COUNTING.set(false);
                    arenas.local().share_iter((0..1000).map(|_| 1_u8));
                },
            ),
        )
        .edit_schedule(Tick, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    // Longer than the history of a diagnostic, which grows until it is full.
    for _ in 0..150 {
        app.world_mut().run_schedule(Tick);
    }
    CALLS.store(0, Relaxed);
    for _ in 0..300 {
        app.world_mut().run_schedule(Tick);
        assert_eq!(CALLS.load(Relaxed), 0);
    }
    let usage = app.world().resource::<ArenasOf<Tick>>().usage();
    assert_eq!((usage.used_bytes, usage.generations), (1000, 2));
}

#[test]
fn problems_that_were_logged_make_no_call_to_the_global_allocator() {
    let _turn = TURN.lock();
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        settings: FrameArenaSettings {
            worker_limit_bytes: Some(8 << 10),
            ..Default::default()
        },
        ..Default::default()
    });
    let never_finished = app.world().resource::<FrameArenas>().task_arena();
    let mut frame = || {
        let arenas = app.world().resource::<FrameArenas>();
        // Near the limit, and beyond it.
        arenas.local().alloc([0_u8; 8000]);
        assert!(arenas.local().try_alloc([0_u8; 8000]).is_err());
        let world = app.world_mut();
        calls_in(|| world.run_schedule(FrameArenaSchedule))
    };
    // Until the task arena looks like a leak.
    for _ in 0..700 {
        frame();
    }
    assert_eq!((0..100).map(|_| frame()).max(), Some(0));
    drop(never_finished);
}

#[test]
fn a_warm_extract_of_two_frames_makes_no_call_to_the_global_allocator() {
    #[derive(AppLabel, Clone, Debug, PartialEq, Eq, Hash)]
    struct RenderApp;
    let _turn = TURN.lock();
    let mut app = App::new();
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin {
            frames: 2,
            ..FrameArenaSubAppPlugin::new(RenderApp)
        },
    ));
    app.insert_sub_app(RenderApp, SubApp::new());
    app.finish();
    let mut render = app.remove_sub_app(RenderApp).expect("it was just added");
    let mut frame = |app: &mut App| {
        app.update();
        app.world().resource::<FrameArenas>().local().share(1);
        counted(|| render.extract(app.world_mut()));
    };
    for _ in 0..150 {
        frame(&mut app);
    }
    CALLS.store(0, Relaxed);
    for _ in 0..300 {
        frame(&mut app);
        assert_eq!(CALLS.load(Relaxed), 0);
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    assert_eq!((usage.parked, usage.generations), (1, 3));
}

#[test]
fn a_swap_makes_no_call_whatever_was_allocated() {
    let _turn = TURN.lock();
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        fill_recycled: false,
        ..Default::default()
    });
    let shared = Arc::new(());
    let mut lease = None;
    let mut frame = |arenas: &mut FrameArenas, allocations: u64| {
        let arena = arenas.local();
        for n in 0..allocations {
            arena.alloc(n);
        }
        // More than a chunk, a value with a destructor, and a lease on the frame.
        arena.alloc_layout(Layout::new::<[u8; 20 << 20]>());
        arena.share(Arc::clone(&shared));
        lease = Some(arenas.lease());
        arenas.swap();
        assert!(lease.is_some());
    };
    for _ in 0..4 {
        frame(&mut arenas, 1_000_000);
    }
    let calls = calls_in(|| {
        frame(&mut arenas, 1_000_000);
        frame(&mut arenas, 10);
        frame(&mut arenas, 1_000_000);
    });
    assert_eq!(calls, 0);
    assert_eq!(Arc::strong_count(&shared), 2);
}

/// What a task makes: a list that grows over several blocks, and a value with a destructor.
fn work(arena: TaskArena, shared: &Arc<()>) -> TaskResult<[u64]> {
    let mut list = arena.vec();
    list.extend((0..10_000_u64).filter(|n| n % 3 > 0));
    let list = list.share();
    arena.share(Arc::clone(shared));
    arena.finish(list)
}

#[test]
fn a_warm_round_trip_of_tasks_makes_no_call_to_the_global_allocator() {
    let _turn = TURN.lock();
    let mut arenas = FrameArenas::default();
    let shared = Arc::new(());
    let results: Mutex<Vec<_>> = Mutex::new(Vec::with_capacity(32));
    let frame = |arenas: &mut FrameArenas| {
        let tasks = arenas.tasks();
        let begun: Vec<_> = (0..8).map(|_| counted(|| arenas.task_arena())).collect();
        let mut begun = begun.into_iter();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (begun, tasks) = (begun.by_ref().take(4).collect::<Vec<_>>(), tasks.clone());
                let (shared, results) = (&shared, &results);
                let task = scope.spawn(move || {
                    for arena in begun {
                        // One that came with the task, and one that it takes itself.
                        for arena in [arena, counted(|| tasks.arena())] {
                            let result = counted(|| work(arena, shared));
                            results.lock().expect("nobody panics").push(result);
                        }
                    }
                });
                // One after the other, so that as much is alive at once in each frame.
                task.join().expect("it ends");
            }
        });
        let mut results = results.lock().expect("nobody panics");
        assert_eq!((results.len(), results[15].len()), (16, 6666));
        counted(|| {
            let adopted = arenas.adopt(results.remove(3));
            results.clear();
            arenas.swap();
            assert_eq!(arenas[adopted][1], 2);
        });
    };
    for _ in 0..4 {
        frame(&mut arenas);
    }
    CALLS.store(0, Relaxed);
    for _ in 0..50 {
        frame(&mut arenas);
        // With `sites`, each arena has a table of lines, and a task arena is a new one.
        assert!(cfg!(feature = "sites") || CALLS.load(Relaxed) == 0);
    }
    arenas.trim();
    (0..2).for_each(|_| arenas.swap());
    assert_eq!(Arc::strong_count(&shared), 1);
    assert_eq!(arenas.usage().reserved_bytes, 0);
}
