use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    arena.alloc(String::from("never dropped"));
}
