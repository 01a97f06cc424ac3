//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod advice;
mod diagnostics;
mod edges;
mod log;
mod pace;
mod params;
mod period;
mod plugin;
mod problems;
mod reader;
mod recorder;
#[cfg(feature = "reflect")]
mod reflect;
mod report;
mod sub_app;

pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::log::FrameArenaLogPlugin;
pub use self::pace::{ArenasOf, FixedStep, FrameArenaPacePlugin};
pub use self::plugin::{FrameArenaPlugin, FrameArenaSchedule};
#[cfg(feature = "overlay")]
pub(crate) use self::problems::{Kind, Problem, is_near, problems_in};
#[cfg(feature = "overlay")]
pub(crate) use self::reader::{Seen, is_due, warn_without_arenas};
pub use self::recorder::{FrameArenaRecorder, FrameArenaRecorderPlugin};
pub use self::report::{ArenaReport, FrameArenaReport};
pub use self::sub_app::{ExtractedFrame, FrameArenaSubAppPlugin};
pub(crate) use crate::error::Bytes;
