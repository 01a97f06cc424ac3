//! The frame's end as a Bevy app runs it, with the figures published as diagnostics.

use std::sync::{Barrier, RwLock};

use bevy_app::App;
use bevy_ecs::world::World;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenaSchedule, FrameArenas};

use crate::counts::{CALLS, segment};

pub(crate) const PLAIN: [(&str, usize); 3] = [
    ("swap in Bevy's schedule, 1 worker", 1),
    ("swap in Bevy's schedule, 8 workers", 8),
    ("swap in Bevy's schedule, 64 workers", 64),
];
pub(crate) const PUBLISHED: [(&str, usize); 3] = [
    ("swap in Bevy's schedule with diagnostics, 1 worker", 1),
    ("swap in Bevy's schedule with diagnostics, 8 workers", 8),
    ("swap in Bevy's schedule with diagnostics, 64 workers", 64),
];

/// Frames until both generations know all workers, and all diagnostics their histories.
const WARM_UP: u32 = 130;

pub(crate) fn run_all() {
    for (case, workers) in PLAIN {
        frames(case, workers, false);
    }
    for (case, workers) in PUBLISHED {
        frames(case, workers, true);
    }
}

/// Runs the frame's schedule while `workers` threads allocate in each frame.
///
/// The resource leaves the world for them: threads of a test have no `Res`.
fn frames(case: &str, workers: usize, diagnostics: bool) {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin {
        diagnostics,
        ..FrameArenaPlugin::default()
    });
    let world = app.world_mut();
    let lent = RwLock::new(None::<FrameArenas>);
    let turns = Barrier::new(workers + 1);
    std::thread::scope(|scope| {
        for number in 0..workers {
            let worker = || {
                for _ in 0..=CALLS + WARM_UP {
                    turns.wait();
                    let arenas = lent.read().expect("no thread panics");
                    arenas.iter().for_each(|it| *it.local().alloc(7_u64) += 1);
                    drop(arenas);
                    turns.wait();
                }
            };
            std::thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn_scoped(scope, worker)
                .expect("a thread");
        }
        let mut frame = || {
            *lent.write().expect("no thread panics") = world.remove_resource::<FrameArenas>();
            turns.wait();
            turns.wait();
            let arenas = lent.write().expect("no thread panics").take();
            world.insert_resource(arenas.expect("the threads only read"));
            measured_schedule(world);
        };
        for _ in 0..WARM_UP {
            frame();
        }
        segment(case, "ours", frame);
    });
}

#[inline(never)]
fn measured_schedule(world: &mut World) {
    world.run_schedule(FrameArenaSchedule);
}
