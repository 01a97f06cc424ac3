//! Goal: let a task read a frame's data for as long as it takes, while the game goes on.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .init_resource::<Search>()
        .add_systems(Startup, start_search)
        .add_systems(Update, (simulate, finish_search).chain());
    while app.world().resource::<Search>().sum.is_none() {
        app.update();
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    println!(
        "{} generations were needed while the task read",
        usage.generations
    );
}

#[derive(Resource, Default)]
struct Search {
    task: Option<Task<u64>>,
    sum: Option<u64>,
}

fn start_search(arenas: Res<FrameArenas>, mut search: ResMut<Search>) {
    let map = arenas.local().share_iter(0..1_000_000_u64);
    // The lease moves into the task. Until it ends, this frame's memory is not recycled.
    let map = arenas.lease_handle(map).expect("it was just made");
    let pool = AsyncComputeTaskPool::get();
    search.task = Some(pool.spawn(async move { map.iter().map(|cost| cost.isqrt()).sum() }));
}

fn simulate(arenas: Res<FrameArenas>) {
    arenas.local().alloc_slice_fill_copy(10_000, 1.0_f32);
}

fn finish_search(arenas: Res<FrameArenas>, mut search: ResMut<Search>) {
    let Some(sum) = search.task.as_mut().and_then(check_ready) else {
        return;
    };
    println!("frame {}: the sum is {sum}", arenas.frame());
    search.sum = Some(sum);
    search.task = None;
}
