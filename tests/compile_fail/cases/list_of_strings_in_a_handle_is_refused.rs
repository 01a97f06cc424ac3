use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    let mut names = arena.vec();
    names.push(arena.string());
    let handle = names.share();
    println!("{}", arenas[handle].len());
}
