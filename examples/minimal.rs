//! Goal: allocate a list for the length of a system.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

fn main() {
    App::new()
        .add_plugins(FrameArenaPlugin::default())
        .add_systems(Update, list_squares)
        .update();
}

fn list_squares(arenas: Res<FrameArenas>) {
    let arena = arenas.local();
    let mut squares = arena.vec();
    squares.extend((1..=5).map(|n| n * n));
    let label = arena.alloc_fmt(format_args!("{} squares", squares.len()));
    println!("{label}: {squares:?}, {} bytes", arena.used_bytes());
}
