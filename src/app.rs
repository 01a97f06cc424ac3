//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod clock;
mod diagnostics;
mod edges;
mod extracted_frame;
mod log;
mod pace;
mod pace_plugin;
mod params;
mod period;
mod plugin;
mod problems;
mod recorder;
mod report;
mod sub_app;

#[cfg(feature = "overlay")]
pub(crate) use self::clock::{Timer, now};
pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::extracted_frame::ExtractedFrame;
#[cfg(feature = "overlay")]
pub(crate) use self::log::Count;
pub use self::log::FrameArenaLogPlugin;
pub use self::pace::{ArenasOf, FixedStep};
pub use self::pace_plugin::{FrameArenaPacePlugin, PaceEnd};
pub use self::plugin::{FrameArenaPlugin, FrameArenaSchedule, FrameArenaSystems};
#[cfg(feature = "overlay")]
pub(crate) use self::problems::{Cause, Problem, is_near, problems_of};
pub use self::recorder::{FrameArenaRecorder, FrameArenaRecorderPlugin};
#[cfg(feature = "overlay")]
pub(crate) use self::report::WithoutReport;
pub use self::report::{ArenaReport, FrameArenaReport};
pub use self::sub_app::FrameArenaSubAppPlugin;
pub(crate) use crate::error::Bytes;
