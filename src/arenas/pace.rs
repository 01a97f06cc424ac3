//! Arenas that are swapped at a pace other than the frame.
#![forbid(unsafe_code)]

use super::FrameArenas;
use crate::settings::FrameArenaSettings;
use crate::stamp::RunName;

impl FrameArenas {
    /// Creates the arenas of a pace, given the name of its type.
    pub(crate) fn of_pace(settings: FrameArenaSettings, type_name: &'static str) -> Self {
        let mut arenas = Self::new(settings);
        arenas.common.store.set_pace(type_name);
        arenas.run_name = Some(RunName::new(arenas.ring.stamp(), type_name));
        arenas
    }
}
