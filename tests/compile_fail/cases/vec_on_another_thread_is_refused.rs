use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let mut list = arenas.local().vec();
    std::thread::scope(|scope| {
        scope.spawn(|| list.push(1));
    });
}
