use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    let value = arena.scope(|scope| scope.alloc(1));
    *value = 2;
}
