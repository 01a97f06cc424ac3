use bevy_frame_arena::FrameArenas;

fn main() {
    let mut arenas = FrameArenas::default();
    let value = arenas.local().alloc(1);
    arenas.swap();
    *value = 2;
}
