//! Goal: run frames of an app with the plugin where there are no threads and no clock.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

#[derive(Resource, Default)]
struct Squares {
    list: FrameHandle<[u64]>,
    sum: u64,
}

fn read(arenas: Res<FrameArenas>, mut squares: ResMut<Squares>) {
    squares.sum += arenas.slice(squares.list).iter().sum::<u64>();
}

fn write(arenas: Res<FrameArenas>, scratch: Scratch, mut squares: ResMut<Squares>) {
    let numbers = (0..100_u64).collect_in(&scratch);
    let list = arenas.collector();
    list.batch().extend(numbers.iter().map(|n| n * n));
    squares.list = list.share_sorted();
}

/// Runs `frames` frames, and returns the sum of what each of them read of the one before.
#[unsafe(no_mangle)]
pub extern "C" fn run(frames: u32) -> u64 {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default())
        .init_resource::<Squares>()
        .add_systems(Update, (read, write).chain());
    app.finish();
    app.cleanup();
    (0..frames).for_each(|_| app.update());
    app.world().resource::<Squares>().sum
}
