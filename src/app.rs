//! The Bevy side: plugins, schedules, diagnostics and the hand-over to other worlds.

mod blame;
mod clock;
mod diagnostics;
mod extracted_frame;
mod figures;
mod frame_start;
mod log;
mod pace;
mod params;
mod plugin;
mod problems;
mod publisher;
mod recorder;
mod report;
mod sub_app;
mod warnings;

#[cfg(feature = "overlay")]
pub(crate) use self::clock::{Timer, now};
pub use self::diagnostics::FrameArenaDiagnosticsPlugin;
pub use self::extracted_frame::ExtractedFrame;
pub use self::frame_start::{FrameArenaSchedule, FrameArenaSystems};
#[cfg(feature = "overlay")]
pub(crate) use self::log::Count;
pub use self::log::FrameArenaLogPlugin;
pub use self::pace::{
    ArenasOf, FixedStep, FrameArenaPacePlugin, PaceEnd, PaceInfo, PaceSystems, Paces,
};
pub use self::plugin::FrameArenaPlugin;
#[cfg(feature = "overlay")]
pub(crate) use self::problems::{Cause, Problem, is_nearly_full, problems_of};
pub use self::recorder::{FrameArenaRecorder, FrameArenaRecorderPlugin};
#[cfg(feature = "overlay")]
pub(crate) use self::report::WithoutReport;
pub use self::report::{ArenaReport, ArenaTotals, FrameArenaReport, PeriodSoFar};
pub use self::sub_app::FrameArenaSubAppPlugin;
pub(crate) use crate::error::Bytes;
