//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod diagnostics;
mod edges;
mod log;
mod pace;
mod pace_plugin;
mod params;
mod period;
mod plugin;
mod problems;
mod recorder;
#[cfg(feature = "reflect")]
mod reflect;
mod report;
mod sub_app;

pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::log::FrameArenaLogPlugin;
#[cfg(feature = "overlay")]
pub(crate) use self::log::{Count, Timer, WithoutReport, now};
pub use self::pace::{ArenasOf, FixedStep};
pub use self::pace_plugin::{FrameArenaPacePlugin, PaceEnd};
pub use self::plugin::{FrameArenaPlugin, FrameArenaSchedule};
#[cfg(feature = "overlay")]
pub(crate) use self::problems::{Problem, is_near, problems_of};
pub use self::recorder::{FrameArenaRecorder, FrameArenaRecorderPlugin};
pub use self::report::{ArenaReport, FrameArenaReport};
pub use self::sub_app::{ExtractedFrame, FrameArenaSubAppPlugin};
pub(crate) use crate::error::Bytes;
