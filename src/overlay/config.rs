//! What the overlay looks like.
#![forbid(unsafe_code)]

use std::time::Duration;

use bevy_color::Color;
use bevy_ecs::resource::Resource;
use bevy_text::{FontSize, TextFont};

/// What the overlay looks like, and whether it is there: a resource that can be changed at any time.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::FrameArenaOverlayConfig;
///
/// fn toggle(mut config: ResMut<FrameArenaOverlayConfig>) {
///     config.enabled = !config.enabled;
/// }
/// ```
#[derive(Resource, Clone, Debug)]
pub struct FrameArenaOverlayConfig {
    /// Whether the window is there. Default: yes. While it is not, it costs nothing.
    pub enabled: bool,
    /// The time between two pictures, and what a column of the graph stands for. Default: 100 ms.
    pub refresh_interval: Duration,
    /// The font. All sizes in the window are multiples of its size, which is read in logical pixels.
    /// Default: 10 pixels.
    pub text_config: TextFont,
    /// The colour of the text.
    pub text_color: Color,
    /// The distance from the right edge of the screen, in logical pixels. Default: 8.
    pub right: f32,
    /// The distance from the upper edge of the screen, in logical pixels. Default: 8.
    pub top: f32,
    /// The places for workers, four in a row, and 256 at most. Workers beyond them are added up in the last place.
    /// Default: enough for the threads of Bevy's task pools, the main and the render thread.
    pub worker_places: Option<usize>,
}

impl Default for FrameArenaOverlayConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            refresh_interval: Duration::from_millis(100),
            text_config: TextFont::from_font_size(FONT_SIZE),
            text_color: Color::srgb(0.93, 0.94, 0.96),
            right: 8.0,
            top: 8.0,
            worker_places: None,
        }
    }
}

const FONT_SIZE: f32 = 10.0;

impl FrameArenaOverlayConfig {
    /// Returns the size of the font in logical pixels.
    pub(super) fn em(&self) -> f32 {
        match self.text_config.font_size {
            FontSize::Px(pixels) => pixels,
            _ => FONT_SIZE,
        }
    }
}
