//! The time of a measurement, where there is a clock.
#![forbid(unsafe_code)]

use std::time::Duration;

use bevy_platform::time::Instant;
use bevy_time::{Real, Time};

/// Returns when the frame began, by Bevy's clock.
///
/// Without a `TimePlugin` it is the system's clock that answers, and in a browser nobody: asking
/// there panics, unless Bevy is built with its feature `web`.
pub(crate) fn now(time: Option<&Time<Real>>) -> Option<Instant> {
    match time {
        Some(time) => Some(time.last_update().unwrap_or_else(|| time.startup())),
        None if cfg!(target_family = "wasm") => None,
        None => Some(Instant::now()),
    }
}

/// Says when something is due that happens at most once in an interval.
#[derive(Default)]
pub(crate) struct Timer {
    last: Option<Instant>,
    calls_without_clock: u32,
}

/// Stands for a second where there is no clock.
const CALLS_A_SECOND: u32 = 60;

impl Timer {
    /// Returns whether the interval is over, the first time at once. To be called once a frame.
    pub(crate) fn is_due(&mut self, now: Option<Instant>, interval: Duration) -> bool {
        let is_due = match (now, self.last) {
            (Some(now), Some(last)) => now.saturating_duration_since(last) >= interval,
            (Some(_), None) => true,
            (None, _) => {
                let frames = interval.as_secs_f32() * CALLS_A_SECOND as f32;
                let is_due = self.calls_without_clock == 0;
                self.calls_without_clock += 1;
                if self.calls_without_clock as f32 >= frames {
                    self.calls_without_clock = 0;
                }
                is_due
            }
        };
        if is_due {
            self.last = now;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_due_at_once_and_then_after_each_interval() {
        let mut timer = Timer::default();
        let start = Instant::now();
        let due = (0..10).map(|tenths| {
            let now = start + Duration::from_millis(100) * tenths;
            timer.is_due(Some(now), Duration::from_millis(250))
        });
        let due = due.collect::<Vec<_>>();
        let expected = [0, 3, 6, 9];
        for (tenth, due) in due.into_iter().enumerate() {
            assert_eq!(due, expected.contains(&tenth), "{tenth}");
        }
    }

    #[test]
    fn without_a_clock_sixty_frames_are_a_second() {
        let mut timer = Timer::default();
        let second = Duration::from_secs(1);
        let due = (0..180).filter(|_| timer.is_due(None, second)).count();
        assert_eq!(due, 3);
    }
}
