use bevy_frame_arena::{FrameArenas, FrameHandle};

fn main() {
    let mut arenas = FrameArenas::default();
    let list = arenas.slice(FrameHandle::<[u32]>::default());
    arenas.swap();
    println!("{list:?}");
}
