use bevy_frame_arena::{FrameArenas, FrameVec};

fn list() -> FrameVec<'static, u32> {
    let arenas = FrameArenas::default();
    arenas.local().vec()
}

fn main() {
    list();
}
