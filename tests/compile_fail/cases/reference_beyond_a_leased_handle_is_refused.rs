use bevy_frame_arena::FrameArenas;

fn main() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    let beside = arena.share_str("beside");
    let leased = arenas.lease_handle(arena.share(1)).unwrap();
    let text = &leased.lease()[beside];
    drop(leased);
    println!("{text}");
}
