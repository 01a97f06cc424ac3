use std::cell::Cell;

use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    let handle = arena.share(Cell::new(1));
    arena.finish(handle);
}
