//! Common parts of all readers of the report: the news since their last look, and their clock.
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

/// Warns, unless it `is_told`, that a plugin that shows the report finds no arenas in it.
pub(crate) fn warn_without_arenas(is_told: &mut bool, plugin: &str) {
    if !mem::replace(is_told, true) {
        warn!("`{plugin}` finds no arenas to report: add `FrameArenaPlugin` as well");
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

/// Returns whether the interval has passed since `last`, and moves `last` to now if it has.
///
/// The first call returns `true`. Without a clock no interval ever passes. A clock that was turned back starts
/// another interval.
pub(crate) fn is_due(
    last: &mut Option<Instant>,
    time: Option<&Time<Real>>,
    interval: Duration,
) -> bool {
    let Some(now) = now(time) else { return false };
    let since = last.and_then(|last| now.checked_duration_since(last));
    let is_due = since.is_none_or(|since| since >= interval);
    if is_due {
        *last = Some(now);
    }
    is_due
}
