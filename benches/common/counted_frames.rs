//! Counts whole frames with callgrind, and nothing else of the program.

use crate::callgrind::{Segment, segment_ends};

/// What is counted of a program that calls [`count`].
pub(crate) const OPTION: &str = "--toggle-collect=*measured_frame*";

/// Has callgrind count what `frame` passes to its second argument; the first is the number of the frame. What came
/// before is in the caches.
pub(crate) fn count(frames: u64, mut frame: impl FnMut(u64, fn(&mut dyn FnMut()))) {
    segment_ends();
    for number in 0..frames {
        frame(number, measured_frame);
    }
    segment_ends();
}

/// Callgrind counts what happens in here alone.
#[inline(never)]
fn measured_frame(frame: &mut dyn FnMut()) {
    frame();
    std::hint::black_box(());
}

impl Segment {
    /// Returns the sum of an event, `Ir` for instructions, if callgrind counted it.
    pub(crate) fn total(&self, event: &str) -> Option<u64> {
        let line = |name| self.text.lines().find_map(|line| line.strip_prefix(name));
        let mut events = line("events: ")?.split(' ');
        let place = events.position(|name| name == event)?;
        let mut totals = line("totals: ")?.split(' ');
        // Zeros at the end are left out.
        totals.nth(place).map_or(Some(0), |it| it.parse().ok())
    }
}
