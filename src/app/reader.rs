//! Common parts of all readers of the report: the news since their last look, and a timer.
#![forbid(unsafe_code)]

use std::mem;
use std::time::Duration;

use bevy_platform::time::Instant;
use bevy_time::{Real, Time};
use tracing::warn;

use super::report::ArenaReport;
use crate::arenas::FrameUsage;
use crate::figures::Figures;

/// The part of a report that a reader has seen.
#[derive(Default)]
pub(crate) struct Seen {
    periods: u64,
    /// All counts so far.
    counts: [u64; 3],
}

/// The new figures of a report: those of the period that ended last or, if none has ended since the reader's
/// last look, of the running one.
pub(crate) struct News<'a> {
    pub(crate) usage: &'a FrameUsage,
    /// The bytes of that period, and all counts since the last look.
    pub(crate) figures: Figures,
    /// Whether the period has ended.
    pub(crate) is_over: bool,
}

impl Seen {
    /// Returns the news, unless there are none.
    pub(crate) fn look<'a>(&mut self, report: &'a ArenaReport) -> Option<News<'a>> {
        let is_over = mem::replace(&mut self.periods, report.periods) != report.periods;
        let usage = match is_over {
            true => &report.usage,
            false => &report.so_far,
        };
        let (ended, running) = (report.totals.counts(), report.so_far.counts());
        let counts = [0, 1, 2].map(|index| ended[index] + running[index]);
        let last = mem::replace(&mut self.counts, counts);
        let new = [0, 1, 2].map(|index| counts[index].saturating_sub(last[index]));
        let is_news = is_over || report.is_running() || new != [0; 3];
        is_news.then(|| News {
            usage,
            figures: usage.figures.with_counts(new),
            is_over,
        })
    }
}

/// Warns once if a plugin that shows the report finds no arenas in it.
#[derive(Default)]
pub(crate) struct WithoutReport {
    is_told: bool,
}

impl WithoutReport {
    pub(crate) fn tell(&mut self, plugin: &str) {
        if !mem::replace(&mut self.is_told, true) {
            warn!("`{plugin}` finds no arenas to report: add `FrameArenaPlugin` as well");
        }
    }
}

/// Returns the time at which the frame began, by Bevy's clock.
///
/// Without a `TimePlugin` it returns the system time, except in a browser: reading the clock there panics,
/// unless Bevy is built with its feature `web`.
pub(crate) fn now(time: Option<&Time<Real>>) -> Option<Instant> {
    match time {
        Some(time) => Some(time.last_update().unwrap_or_else(|| time.startup())),
        None if cfg!(target_family = "wasm") => None,
        None => Some(Instant::now()),
    }
}

/// Limits an action to once per interval.
#[derive(Default)]
pub(crate) struct Timer {
    last: Option<Instant>,
}

impl Timer {
    /// Returns whether the interval has passed; the first call returns `true`. Without a clock it never
    /// has. A clock that was turned back starts another interval.
    pub(crate) fn is_due(&mut self, now: Option<Instant>, interval: Duration) -> bool {
        let passed = |now: Instant, last| {
            let since = now.checked_duration_since(last);
            since.is_none_or(|since| since >= interval)
        };
        let is_due = now.is_some_and(|now| self.last.is_none_or(|last| passed(now, last)));
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
        for tenth in 0..10 {
            let now = start + Duration::from_millis(100) * tenth;
            let is_due = timer.is_due(Some(now), Duration::from_millis(250));
            assert_eq!(is_due, [0, 3, 6, 9].contains(&tenth), "{tenth}");
        }
    }

    #[test]
    fn a_clock_that_is_turned_back_does_not_stop_a_timer() {
        let (mut timer, hour) = (Timer::default(), Duration::from_secs(3600));
        let start = Instant::now();
        let due = [start + hour, start, start + hour / 2, start + hour];
        let due = due.map(|now| timer.is_due(Some(now), hour));
        assert_eq!(due, [true, true, false, true]);
    }

    #[test]
    fn a_timer_without_a_clock_is_never_due() {
        assert!(!Timer::default().is_due(None, Duration::ZERO));
    }
}
