//! What a debug build's app tells the arenas of the frame about fixed steps.
#![forbid(unsafe_code)]

use super::FrameArenas;
use super::watch::SeenCrossing;

impl FrameArenas {
    /// Notes that a fixed step begins, within a period of these arenas.
    pub(crate) fn enter_step(&mut self) {
        self.watch.enter_step();
    }

    /// Notes that the fixed step ends.
    pub(crate) fn leave_step(&mut self) {
        self.watch.leave_step();
    }

    /// Returns the first look-up in each direction that crossed the edge of a step, once.
    pub(crate) fn take_crossing(&mut self) -> Option<SeenCrossing> {
        self.watch.take_crossing()
    }
}
