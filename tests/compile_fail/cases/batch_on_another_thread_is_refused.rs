use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let collector = arenas.collector();
    let batch = collector.batch();
    std::thread::scope(|scope| {
        scope.spawn(move || batch.push(1));
    });
}
