use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(4096);
    let mut list = arena.collect([1, 2, 3]);
    let drained = list.drain(1..);
    list.push(4);
    println!("{}", drained.len());
}
