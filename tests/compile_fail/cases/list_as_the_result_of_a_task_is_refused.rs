use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    let mut list = arena.vec();
    list.push(1);
    arena.finish(list);
}
