use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    let scope = arena.scope(|scope| scope);
    scope.alloc(1);
}
