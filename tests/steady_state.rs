//! Once warm, a frame makes no call to the global allocator, and a swap costs the same for ten
//! allocations and for a million.
#[path = "common"]
mod common {
    pub(crate) mod counting_allocator;
}

use std::alloc::Layout;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier, Mutex};

use bevy_app::{App, First, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_diagnostic::DiagnosticsPlugin;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    FrameArenaPlugin, FrameArenaSchedule, FrameArenaSettings, FrameArenaSystems, FrameArenas,
    FrameHandle, FrameLease,
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
                (|| IS_COUNTING.set(true)).before(FrameArenaSystems::Swap),
                (|| IS_COUNTING.set(false)).after(FrameArenaSystems::Diagnostics),
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
