use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    let mut outside = None;
    arena.scope(|scope| outside = Some(scope.alloc(1)));
    println!("{outside:?}");
}
