use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    arena.alloc_slice_fill_with(3, |_| String::from("never dropped"));
}
