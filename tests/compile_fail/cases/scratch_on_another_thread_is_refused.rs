use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let scratch = arenas.scratch();
    std::thread::scope(|scope| {
        scope.spawn(|| scratch.alloc(1));
    });
}
