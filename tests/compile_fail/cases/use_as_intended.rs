use bevy_frame_arena::FrameArenas;

fn main() {
    let mut arenas = FrameArenas::default();
    let handle = arenas.local().share(String::from("shared"));
    arenas.swap();
    assert_eq!(arenas[handle], "shared");
}
