//! The settings of small arenas.

use bevy_frame_arena::{FrameArenaSettings, OverflowPolicy};

/// A first chunk of this size, and what to do when it is full.
pub(crate) fn settings(
    worker_capacity_bytes: usize,
    overflow: OverflowPolicy,
) -> FrameArenaSettings {
    FrameArenaSettings {
        worker_capacity_bytes,
        overflow,
        ..FrameArenaSettings::default()
    }
}
