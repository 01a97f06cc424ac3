use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let text = String::from("gone soon");
    let handle = arenas.local().share(text.as_str());
    drop(text);
    println!("{}", arenas[handle]);
}
