//! Settings for tests of limits.

use bevy_frame_arena::FrameArenaSettings;

/// Settings with a hard limit for each worker.
pub(crate) fn limit_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        worker_limit_bytes: Some(bytes),
        ..FrameArenaSettings::default()
    }
}
