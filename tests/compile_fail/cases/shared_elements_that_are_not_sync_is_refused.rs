use std::cell::Cell;

use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    arena.share_iter([Cell::new(1)]);
}
