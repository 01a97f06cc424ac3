//! Settings for tests of growth.

use bevy_frame_arena::FrameArenaSettings;

/// Settings with blocks of this size.
pub(crate) fn blocks_of(bytes: usize) -> FrameArenaSettings {
    FrameArenaSettings {
        block_bytes: bytes,
        ..FrameArenaSettings::default()
    }
}
