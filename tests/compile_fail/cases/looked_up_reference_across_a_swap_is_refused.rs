use bevy_frame_arena::FrameArenas;

fn main() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    let value = &arenas[handle];
    arenas.swap();
    println!("{value}");
}
