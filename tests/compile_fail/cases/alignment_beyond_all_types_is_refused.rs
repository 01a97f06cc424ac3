use bevy_frame_arena::FrameArena;

fn main() {
    let arena = FrameArena::new(64);
    arena.alloc_slice_aligned::<{ 1 << 30 }, _>(3, 0_u8);
}
