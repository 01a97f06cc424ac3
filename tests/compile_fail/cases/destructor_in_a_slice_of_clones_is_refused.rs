use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    arena.alloc_slice_clone(&[String::from("never dropped")]);
}
