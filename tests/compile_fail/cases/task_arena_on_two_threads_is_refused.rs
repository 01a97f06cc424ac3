use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.task_arena();
    std::thread::scope(|scope| {
        scope.spawn(|| arena.alloc(1));
    });
}
