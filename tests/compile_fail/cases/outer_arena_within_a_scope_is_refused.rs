use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    let value = arena.scope(|_| arena.alloc(1));
    *value = 2;
}
