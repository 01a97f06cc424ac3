//! Settings for tests of limits and growth.

use bevy_frame_arena::FrameArenaSettings;

/// Settings with a hard limit for each worker.
pub(crate) fn limit_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..FrameArenaSettings::default()
    }
}

/// Settings with blocks of this size.
#[expect(dead_code, reason = "not every test binary needs both")]
pub(crate) fn blocks_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        block_bytes: bytes,
        ..FrameArenaSettings::default()
    }
}
