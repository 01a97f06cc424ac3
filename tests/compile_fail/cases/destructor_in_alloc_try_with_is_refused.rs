use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    let _ = arena.alloc_try_with(|| Ok::<_, ()>(String::from("never dropped")));
}
