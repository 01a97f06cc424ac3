//! Goal: fill visibility lists in parallel, draw them a frame later, and watch the arenas in
//! the log.
//!
//! Sixteen views look at twenty thousand objects. Each view's list is built and sorted by the
//! worker that handles it, in that worker's own arena.

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_diagnostic::{DiagnosticsPlugin, LogDiagnosticsPlugin};
use bevy_ecs::batching::BatchingStrategy;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_log::{LogPlugin, info};
use bevy_time::{TimePlugin, TimeUpdateStrategy};

const VIEWS: u32 = 16;
const OBJECTS: u32 = 20_000;
const FRAMES: u64 = 300;

fn main() {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(8),
        },
        TimePlugin,
        LogPlugin::default(),
        DiagnosticsPlugin,
        LogDiagnosticsPlugin::default(),
        FrameArenaPlugin::default(),
    ))
    // Sixty frames make a second of the app's time, and one entry in the log.
    .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
        1.0 / 60.0,
    )))
    .init_resource::<Drawn>()
    .add_systems(Startup, spawn)
    .add_systems(First, draw_previous)
    .add_systems(Update, (turn_views, cull).chain());
    app.finish();
    app.cleanup();
    for _ in 0..FRAMES {
        app.update();
    }

    let drawn = app.world().resource::<Drawn>().0;
    let usage = app.world().resource::<FrameArenas>().usage();
    info!("{FRAMES} frames, {drawn} objects drawn from the lists of the frame before");
    for worker in &usage.workers {
        let kib = worker.high_watermark_bytes / 1024;
        info!("{:>24}: at most {kib} KiB in a frame", worker.name);
    }
    assert_eq!((usage.generations, usage.parked), (2, 0));
}

#[derive(Component)]
struct Object {
    angle: f32,
    distance: f32,
}

#[derive(Component)]
struct View {
    angle: f32,
    /// The visible objects, nearest first.
    visible: FrameHandle<[Entity]>,
}

#[derive(Resource, Default)]
struct Drawn(usize);

fn spawn(mut commands: Commands) {
    for n in 0..OBJECTS {
        // A spiral: no two objects at the same place, and no need for random numbers.
        commands.spawn(Object {
            angle: (n as f32 * 0.618) % 1.0,
            distance: n as f32,
        });
    }
    for n in 0..VIEWS {
        commands.spawn(View {
            angle: n as f32 / VIEWS as f32,
            visible: FrameHandle::default(),
        });
    }
}

fn turn_views(mut views: Query<&mut View>) {
    for mut view in &mut views {
        view.angle = (view.angle + 0.001) % 1.0;
    }
}

fn cull(arenas: Res<FrameArenas>, objects: Query<(Entity, &Object)>, mut views: Query<&mut View>) {
    // Few views with much work each: one batch for each of them.
    let views = views
        .par_iter_mut()
        .batching_strategy(BatchingStrategy::fixed(1));
    views.for_each(|mut view| {
        // The distances are needed only here, so they are in scratch, and the frame keeps the sorted list.
        let scratch = arenas.scratch();
        let mut hits = scratch.vec();
        for (entity, object) in &objects {
            if (object.angle - view.angle).abs() < 0.1 {
                hits.push((object.distance, entity));
            }
        }
        hits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let nearest_first = hits.iter().map(|hit| hit.1);
        view.visible = arenas.local().share_iter(nearest_first);
    });
}

fn draw_previous(arenas: Res<FrameArenas>, views: Query<&View>, mut drawn: ResMut<Drawn>) {
    // Until `cull` runs, the lists are those of the previous frame. In the first frame there are none, and `slice`
    // returns an empty one.
    for view in &views {
        drawn.0 += arenas.slice(view.visible).len();
    }
}
