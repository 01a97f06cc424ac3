use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    arena.scope(|scope| scope.reset());
}
