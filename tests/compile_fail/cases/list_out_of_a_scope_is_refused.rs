use bevy_frame_arena::FrameArena;

fn main() {
    let mut arena = FrameArena::new(64);
    arena.scope(|mut outer| {
        let list = outer.scope(|inner| {
            let mut list = inner.vec();
            list.push(1);
            list
        });
        outer.alloc(list.len());
    });
}
