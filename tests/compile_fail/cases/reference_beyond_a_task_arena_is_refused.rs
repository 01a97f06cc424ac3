use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    let list = arena.alloc([1, 2, 3]);
    let handle = arena.share(1);
    let result = arena.finish(handle);
    println!("{list:?} {result:?}");
}
