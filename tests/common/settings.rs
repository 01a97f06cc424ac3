//! Settings for tests of limits and growth.

use bevy_frame_arena::FrameArenaSettings;

/// Settings with a hard limit for each worker.
pub(crate) fn limit_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..FrameArenaSettings::default()
    }
}

/// Settings without one, and with blocks of this size.
pub(crate) fn blocks_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        block_bytes: bytes,
        worker_limit_bytes: None,
        ..limit_of(0)
    }
}
