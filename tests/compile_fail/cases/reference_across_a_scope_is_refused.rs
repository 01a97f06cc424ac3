use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    arena.scope(|mut outer| {
        let value = outer.alloc(1);
        outer.scope(|inner| inner.used_bytes());
        *value = 2;
    });
}
