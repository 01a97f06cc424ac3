use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    let value = arena.alloc(1);
    arena.reset();
    *value = 2;
}
