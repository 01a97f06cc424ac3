use bevy_frame_arena::{FrameArenas};

fn main() {
    let arenas = FrameArenas::default();
    let mut vec = arenas.local().vec();
    vec.push(1);
    let handle = vec.share();
    vec.push(2);
    arenas[handle][0] = 3;
}
