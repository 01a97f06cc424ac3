//! The figures as lines of the log, and the timer of all that reports at intervals.
#![forbid(unsafe_code)]

use std::time::Duration;
use std::{fmt, mem};

use bevy_app::{App, Last, Plugin};
use bevy_ecs::resource::Resource;
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Local, Res};
use bevy_platform::time::Instant;
use bevy_time::{Real, Time};
use tracing::{info, warn};

use super::Bytes;
use super::period::TendSystems;
use super::report::{ArenaReport, FrameArenaReport};
use crate::arenas::TaskFigures;
use crate::figures::Figures;

/// Logs a line about the arenas each second.
///
/// `Frame arenas: 1.4 MiB of 2.1 MiB on 4 workers, peak 1.5 MiB` has the memory in use when the last
/// frame ended, the reserved memory, and the peak of that frame. Refused allocations and panics at stale
/// handles are counted since the previous line. Tasks, their results and their memory follow, if there are any. With
/// the feature `sites`, the line ends with the line of code that took the most memory. If the memory was
/// given back when the period ended: `Level arenas: 98 KiB used and released on 1 worker, peak 98 KiB`.
///
/// Arenas of other paces and of sub-apps have lines of their own. During a long period there is a line
/// whenever its figures have changed: `Level arenas: 98 KiB of 128 KiB so far`. Arenas that were never
/// used have no line. In a browser, lines need Bevy's `TimePlugin`.
///
/// It complements Bevy's `LogDiagnosticsPlugin`, which logs the average of each diagnostic. Warnings
/// about problems do not need this plugin: [`FrameArenaPlugin`](crate::FrameArenaPlugin) logs them.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaLogPlugin, FrameArenaPlugin};
///
/// App::new()
///     .add_plugins((FrameArenaPlugin::default(), FrameArenaLogPlugin::default()))
///     .update();
/// ```
pub struct FrameArenaLogPlugin {
    /// The time between two lines. Default: a second.
    pub wait_duration: Duration,
}

impl Default for FrameArenaLogPlugin {
    fn default() -> Self {
        Self {
            wait_duration: Duration::from_secs(1),
        }
    }
}

impl Plugin for FrameArenaLogPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(WaitDuration(self.wait_duration))
            .add_systems(Last, log_usage.after(TendSystems));
    }
}

/// The time between two lines.
#[derive(Resource)]
struct WaitDuration(Duration);

fn log_usage(
    report: Option<Res<FrameArenaReport>>,
    time: Option<Res<Time<Real>>>,
    wait: Res<WaitDuration>,
    mut timer: Local<Timer>,
    mut without: Local<WithoutReport>,
    mut logged: Local<Vec<Logged>>,
) {
    let Some(report) = report.filter(|it| !it.is_empty()) else {
        return without.tell("FrameArenaLogPlugin");
    };
    let is_used = report.iter().any(ArenaReport::is_used);
    if !is_used || !timer.is_due(now(time.as_deref()), wait.0) {
        return;
    }
    logged.resize_with(report.iter().count(), Logged::default);
    for (arenas, logged) in report.iter().zip(logged.iter_mut()) {
        logged.log(arenas);
    }
}

/// The figures of one set of arenas at the last line.
#[derive(Default)]
struct Logged {
    periods: u64,
    totals: Figures,
    so_far: Figures,
    tasks_so_far: TaskFigures,
}

impl Logged {
    /// Logs a line if the figures are new.
    fn log(&mut self, arenas: &ArenaReport) {
        let now = Self {
            periods: arenas.periods,
            totals: arenas.totals,
            so_far: arenas.so_far,
            tasks_so_far: arenas.tasks_so_far,
        };
        let last = mem::replace(self, now);
        let (so_far, tasks) = (&arenas.so_far, arenas.tasks_so_far);
        let is_new = (so_far, tasks) != (&last.so_far, last.tasks_so_far);
        if !arenas.is_used() {
            // Nothing to tell yet.
        } else if arenas.periods > last.periods {
            let since = arenas.totals.since(&last.totals);
            info!("{}", Line { arenas, since });
        } else if is_new && so_far.used_bytes + arenas.task_bytes_so_far() > 0 {
            let (used, reserved) = (Bytes(so_far.used_bytes), Bytes(so_far.reserved_bytes));
            let tasks = OfTasks(tasks);
            info!("{}: {used} of {reserved} so far{tasks}", arenas.label);
        }
    }
}

struct Line<'a> {
    arenas: &'a ArenaReport,
    /// The counts since the last line.
    since: Figures,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usage = &self.arenas.usage;
        let (used, reserved) = (Bytes(usage.used_bytes), Bytes(usage.reserved_bytes));
        write!(f, "{}: ", self.arenas.label)?;
        match usage.reserved_bytes {
            // E.g. at the end of a level, when its memory has been given back.
            0 if usage.used_bytes > 0 => write!(f, "{used} used and released on ")?,
            bytes if bytes < usage.used_bytes => {
                write!(f, "{used} used, {reserved} still reserved, on ")?;
            }
            _ => write!(f, "{used} of {reserved} on ")?,
        }
        let workers = Count(usage.active_workers as u64, "worker");
        write!(f, "{workers}, peak {}", Bytes(usage.peak_bytes))?;
        for (count, word) in [
            (self.since.refusals, "refused allocation"),
            (self.since.stale_panics, "stale panic"),
            (usage.parked as u64, "parked generation"),
        ] {
            if count > 0 {
                write!(f, ", {}", Count(count, word))?;
            }
        }
        OfTasks(usage.tasks()).fmt(f)?;
        match usage.sites.first().map(|site| (site.site, site.used_bytes)) {
            None | Some((_, 0)) => Ok(()),
            Some((site, bytes)) => write!(f, ", largest at {site} ({})", Bytes(bytes)),
        }
    }
}

/// The tasks, their results and their memory, if there are any.
struct OfTasks(TaskFigures);

impl fmt::Display for OfTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([arenas, results, bytes]) = *self;
        for (count, word) in [(arenas, "running task"), (results, "task result")] {
            if count > 0 {
                write!(f, ", {}", Count(count as u64, word))?;
            }
        }
        match bytes {
            0 => Ok(()),
            bytes => write!(f, ", {} of tasks", Bytes(bytes)),
        }
    }
}

/// A count with its noun, in the singular or plural.
pub(crate) struct Count<'a>(pub(crate) u64, pub(crate) &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, word) = *self;
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{count} {word}{plural}")
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
    /// has.
    pub(crate) fn is_due(&mut self, now: Option<Instant>, interval: Duration) -> bool {
        let passed = |now: Instant, last| now.saturating_duration_since(last) >= interval;
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
    fn a_timer_without_a_clock_is_never_due() {
        assert!(!Timer::default().is_due(None, Duration::ZERO));
    }
}
