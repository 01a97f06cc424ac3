use bevy_frame_arena::{FrameArena, Pool};

fn needs_to_be_shared<T: Send + Sync + 'static>(_: T) {}

fn main() {
    let arena = FrameArena::new(64);
    needs_to_be_shared(Pool::<u32, _>::new_in(&arena));
}
