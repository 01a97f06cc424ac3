use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let handle = arenas.local().share(1);
    let lease = arenas.lease();
    let value = &lease[handle];
    drop(lease);
    println!("{value}");
}
