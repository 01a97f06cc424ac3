//! The figures as lines of the log.
#![forbid(unsafe_code)]

use std::time::Duration;
use std::{fmt, mem};

use bevy_app::{App, Last, Plugin};
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Local, Res};
use bevy_time::{Real, Time};
use tracing::info;

use super::Bytes;
use super::clock::{Timer, now};
use super::report::{ArenaReport, FrameArenaReport, WithoutReport};
use crate::figures::Figures;

/// Logs a line about the arenas each second.
///
/// `Frame arenas: 1.4 MiB of 2.1 MiB on 4 workers, peak 1.5 MiB`: what was in use when
/// the last frame ended, what is reserved, and the most in use at once in that frame. What is
/// counted, e.g. refused allocations, is counted since the line before. With the feature `sites` it ends with
/// the line of code that took most.
///
/// Arenas of other paces and of sub-apps have lines of their own. A pace whose period goes on for
/// longer has one whenever it has grown: `Level arenas: 98 KiB of 128 KiB so far`. What nobody has
/// used yet has none.
///
/// Beside Bevy's `LogDiagnosticsPlugin`, which logs averages of each diagnostic. Warnings about
/// problems come without this plugin, from [`FrameArenaPlugin`](crate::FrameArenaPlugin).
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
            .add_systems(Last, log_usage);
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

/// What was logged of one set of arenas.
#[derive(Default)]
struct Logged {
    periods: u64,
    totals: Figures,
    so_far: Figures,
}

impl Logged {
    /// Logs a line, if there is something new.
    fn log(&mut self, arenas: &ArenaReport) {
        let last = mem::replace(
            self,
            Self {
                periods: arenas.periods,
                totals: arenas.totals,
                so_far: arenas.so_far,
            },
        );
        if !arenas.is_used() {
            return;
        }
        let has_grown = arenas.so_far != last.so_far && arenas.so_far.used_bytes > 0;
        if arenas.periods > last.periods {
            let since = arenas.totals.since(&last.totals);
            info!("{}", Line { arenas, since });
        } else if has_grown {
            let (used, reserved) = (arenas.so_far.used_bytes, arenas.so_far.reserved_bytes);
            let (label, used) = (&arenas.label, Bytes(used));
            info!("{label}: {used} of {} so far", Bytes(reserved));
        }
    }
}

struct Line<'a> {
    arenas: &'a ArenaReport,
    /// What happened since the last line.
    since: Figures,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usage = &self.arenas.usage;
        let (used, reserved) = (Bytes(usage.used_bytes), Bytes(usage.reserved_bytes));
        write!(f, "{}: ", self.arenas.label)?;
        match usage.reserved_bytes < usage.used_bytes {
            // As when the memory of a level goes back at its end.
            true => write!(f, "{used}, of which {reserved} are kept, on ")?,
            false => write!(f, "{used} of {reserved} on ")?,
        }
        write!(
            f,
            "{}, peak {}",
            Count(usage.active_workers as u64, "worker"),
            Bytes(usage.peak_bytes),
        )?;
        for (count, word) in [
            (self.since.refusals, "refused allocation"),
            (self.since.stale_lookups, "stale look-up"),
            (usage.parked as u64, "parked generation"),
            (usage.task_arenas as u64, "running task"),
        ] {
            if count > 0 {
                write!(f, ", {}", Count(count, word))?;
            }
        }
        match usage.sites.first() {
            Some(site) if site.used_bytes > 0 => {
                write!(
                    f,
                    ", most of it at {} ({})",
                    site.site,
                    Bytes(site.used_bytes)
                )
            }
            _ => Ok(()),
        }
    }
}

/// A number of things, in the singular if there is one.
pub(crate) struct Count(pub(crate) u64, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, word) = *self;
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{count} {word}{plural}")
    }
}
