//! Goal: let a task read a frame's data for as long as it takes, while the game goes on.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .add_systems(Startup, start_search)
        .add_systems(Update, simulate)
        .add_systems(Last, finish_search.run_if(resource_exists::<Search>));
    app.update();
    while app.world().contains_resource::<Search>() {
        app.update();
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    println!(
        "{} generations were needed while the task read",
        usage.generations
    );
}

/// There while the task runs.
#[derive(Resource)]
struct Search(Task<u64>);

fn start_search(arenas: Res<FrameArenas>, mut commands: Commands) {
    let map = arenas.local().share_iter(0..1_000_000_u64);
    // The lease moves into the task. Until it ends, this frame's memory is not recycled.
    let map = arenas.lease_handle(map).expect("it was just made");
    let sum = async move { map.iter().map(|cost| cost.isqrt()).sum() };
    commands.insert_resource(Search(AsyncComputeTaskPool::get().spawn(sum)));
}

fn simulate(arenas: Res<FrameArenas>) {
    arenas.local().alloc_slice_fill_copy(10_000, 1.0_f32);
}

fn finish_search(arenas: Res<FrameArenas>, mut search: ResMut<Search>, mut commands: Commands) {
    if let Some(sum) = check_ready(&mut search.0) {
        println!("frame {}: the sum is {sum}", arenas.frame());
        commands.remove_resource::<Search>();
    }
}
