//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod advice;
mod diagnostics;
mod edges;
mod log;
mod pace;
mod params;
mod plugin;
mod problems;
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
pub(crate) use self::problems::{Kind, Problem, is_near, parts_of, problems_in, short_name};
pub use self::recorder::{FrameArenaRecorder, FrameArenaRecorderPlugin};
pub use self::report::{ArenaReport, FrameArenaReport};
#[cfg(feature = "overlay")]
pub(crate) use self::report::{Seen, finds_arenas, is_due};
pub use self::sub_app::{ExtractedFrame, FrameArenaSubAppPlugin};
pub(crate) use crate::error::Bytes;
