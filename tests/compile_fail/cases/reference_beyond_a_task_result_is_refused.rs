use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    let handle = arena.share(1);
    let result = arena.finish(handle);
    let value = &*result;
    drop(result);
    println!("{value}");
}
