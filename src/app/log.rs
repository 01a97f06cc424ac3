//! The figures as lines of the log.
#![forbid(unsafe_code)]

use std::time::Duration;

use bevy_app::{App, Last, Plugin};
use bevy_ecs::prelude::*;
use tracing::info;

use super::Bytes;
use super::plugin::TendSystems;
use super::report::{FrameArenaReport, News, Seen, every, finds_arenas};
use crate::error::Count;

/// Logs a line about the arenas each second.
///
/// `Frame arenas: 1.4 MiB of 2.1 MiB on 4 workers, peak 1.5 MiB` has the memory in use when the last
/// frame ended, the reserved memory, and the peak of that frame. Refused allocations and panics at stale
/// handles are counted since the previous line. Tasks, their results and their memory follow, if there are
/// any. With the feature `sites`, the line ends with the line of code that took the most memory. If the
/// memory was given back when the period ended, the line is
/// `Level arenas: 98 KiB used and released on 1 worker, peak 98 KiB`.
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
        let is_due = finds_arenas("FrameArenaLogPlugin").and_then(every(self.wait_duration));
        app.add_systems(Last, log_usage.run_if(is_due).after(TendSystems));
    }
}

/// Logs the news since the last lines. `logged` has the last line of each set of arenas.
fn log_usage(report: Res<FrameArenaReport>, mut logged: Local<Vec<(Seen, String)>>) {
    logged.resize_with(report.iter().count(), Default::default);
    for (arenas, (seen, last)) in report.iter().zip(&mut *logged) {
        if let Some(news) = seen.look(arenas)
            && arenas.is_used()
        {
            let line = in_words(&news);
            if news.is_over || line != *last {
                info!("{}: {line}", arenas.label);
            }
            *last = line;
        }
    }
}

/// Returns the figures in words.
fn in_words(news: &News) -> String {
    let (usage, figures) = (news.usage, &news.figures);
    let (used, reserved) = (Bytes(usage.used_bytes), Bytes(usage.reserved_bytes));
    let mut text = match usage.reserved_bytes {
        _ if !news.is_over => format!("{used} of {reserved} so far"),
        // E.g. at the end of a level, when its memory has been given back.
        0 if usage.used_bytes > 0 => format!("{used} used and released"),
        bytes if bytes < usage.used_bytes => format!("{used} used, {reserved} still reserved,"),
        _ => format!("{used} of {reserved}"),
    };
    if news.is_over {
        let workers = Count(usage.active_workers as u64, "worker");
        text += &format!(" on {workers}, peak {}", Bytes(usage.peak_bytes));
    }
    for (count, word) in [
        (figures.refusals, "refused allocation"),
        (figures.stale_panics, "stale panic"),
        (usage.parked as u64, "parked generation"),
        (usage.task_arenas as u64, "task arena"),
        (usage.task_results as u64, "task result"),
    ] {
        if count > 0 {
            text += &format!(", {}", Count(count, word));
        }
    }
    if usage.task_bytes > 0 {
        text += &format!(", {} of tasks", Bytes(usage.task_bytes));
    }
    if let Some(site) = usage.sites.first().filter(|site| site.used_bytes > 0) {
        let bytes = Bytes(site.used_bytes);
        text += &format!(", largest at {} ({bytes})", site.site);
    }
    text
}
