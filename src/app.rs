//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod diagnostics;
mod extracted_frame;
mod frame_start;
mod hand_over_watch;
mod pace;
mod params;
mod plugin;
mod publisher;
mod sub_app;

pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::extracted_frame::ExtractedFrame;
pub use self::frame_start::{FrameArenaSchedule, FrameArenaSystems};
pub use self::pace::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, PaceEnd, PaceInfo, PaceSystems, Paces,
};
pub use self::plugin::FrameArenaPlugin;
pub use self::sub_app::FrameArenaSubAppPlugin;
