use std::cell::Cell;

use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    arenas.local().share(Cell::new(1));
}
