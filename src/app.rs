//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod diagnostics;
mod plugin;
mod sub_app;

pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::plugin::{FrameArenaPlugin, FrameArenaSchedule, FrameArenaSystems};
pub use self::sub_app::{ExtractedFrame, FrameArenaSubAppPlugin};
