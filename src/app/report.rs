//! The figures of all arenas of an app, in one place.
#![forbid(unsafe_code)]

use std::mem;

use bevy_ecs::resource::Resource;
use tracing::warn;

use super::warnings::Warnings;
use crate::arenas::{FrameArenas, FrameUsage};
use crate::settings::FrameArenaSettings;

/// The figures of all arenas of an app, in the main world: of the frame, of other paces, and of
/// sub-apps.
///
/// Diagnostics, the log and the overlay read them here, so they all show the same number of the same
/// frame. Ask it for tools of your own; a system that has the arenas at hand can as well ask
/// [`FrameArenas::usage`].
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaPlugin, FrameArenaReport, FrameArenas};
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPlugin::default());
/// app.world().resource::<FrameArenas>().local().alloc([0_u8; 1000]);
/// app.update();
///
/// let report = app.world().resource::<FrameArenaReport>();
/// let frame = report.get("frame_arena").unwrap();
/// assert_eq!(frame.label, "Frame arenas");
/// assert_eq!(frame.usage.used_bytes, 1000);
/// assert_eq!(frame.totals.periods, 1);
/// ```
#[derive(Resource, Debug)]
pub struct FrameArenaReport {
    /// Whether problems are logged, each once, as warnings. Default: yes.
    pub warnings: bool,
    arenas: Vec<ArenaReport>,
}

/// The figures of one set of arenas.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ArenaReport {
    /// The name for people: `Frame arenas`.
    pub label: String,
    /// What the names of its diagnostics begin with: `frame_arena`.
    pub prefix: String,
    /// The settings.
    pub settings: FrameArenaSettings,
    /// The figures of the period that ended last.
    pub usage: FrameUsage,
    /// What happened since the start.
    pub totals: ArenaTotals,
    /// The period that goes on: of a level, for one, whose end is far. Nothing for the frame, and for
    /// sub-apps: theirs end soon.
    pub so_far: PeriodSoFar,
}

/// What a period has used that has not ended, as of the end of the last frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeriodSoFar {
    /// Bytes in use by all workers.
    pub used_bytes: usize,
    /// Bytes that all workers and generations hold from the global allocator.
    pub reserved_bytes: usize,
}

/// What happened in all periods of one set of arenas: the difference of two is what happened in
/// between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaTotals {
    /// Periods that have ended.
    pub periods: u64,
    /// The sum of [`FrameUsage::overflows`].
    pub overflows: u64,
    /// The sum of [`FrameUsage::refusals`].
    pub refusals: u64,
    /// The sum of [`FrameUsage::stale_lookups`].
    pub stale_lookups: u64,
}

impl FrameArenaReport {
    /// Returns the figures of the arenas whose diagnostics begin with `prefix`.
    pub fn get(&self, prefix: &str) -> Option<&ArenaReport> {
        self.arenas.iter().find(|arenas| arenas.prefix == prefix)
    }

    /// Returns the figures of all arenas, the frame's first; others as they were added.
    pub fn iter(&self) -> impl Iterator<Item = &ArenaReport> {
        self.arenas.iter()
    }

    /// Whether there is nothing that has figures.
    pub(crate) fn is_empty(&self) -> bool {
        self.arenas.is_empty()
    }

    fn get_mut(&mut self, prefix: &str) -> Option<&mut ArenaReport> {
        self.arenas.iter_mut().find(|it| it.prefix == prefix)
    }
}

impl Default for FrameArenaReport {
    fn default() -> Self {
        Self {
            warnings: true,
            arenas: Vec::new(),
        }
    }
}

impl ArenaReport {
    /// Whether anybody has used the arenas, or tried to.
    pub(super) fn is_used(&self) -> bool {
        let usage = &self.usage;
        let bytes = [
            usage.high_watermark_bytes,
            usage.scratch_high_watermark_bytes,
            usage.largest_refusal_bytes,
            self.so_far.used_bytes,
        ];
        bytes.into_iter().any(|bytes| bytes > 0) || self.totals.stale_lookups > 0
    }
}

impl ArenaTotals {
    fn count(&mut self, usage: &FrameUsage) {
        self.periods += 1;
        self.overflows += u64::from(usage.overflows);
        self.refusals += u64::from(usage.refusals);
        self.stale_lookups += usage.stale_lookups;
    }

    /// Returns what happened since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            overflows: self.overflows.saturating_sub(earlier.overflows),
            refusals: self.refusals.saturating_sub(earlier.refusals),
            stale_lookups: self.stale_lookups.saturating_sub(earlier.stale_lookups),
        }
    }
}

/// Tells, once, that a plugin that shows the report finds none.
#[derive(Default)]
pub(crate) struct WithoutReport {
    is_told: bool,
}

impl WithoutReport {
    pub(crate) fn tell(&mut self, plugin: &str) {
        if !mem::replace(&mut self.is_told, true) {
            warn!("`{plugin}` finds no arenas to tell of: add `FrameArenaPlugin`, too");
        }
    }
}

/// Writes the figures of one set of arenas into the report, each time a period has ended.
pub(super) struct UsageReporter {
    prefix: String,
    warnings: Warnings,
}

impl UsageReporter {
    /// Adds the arenas to the report.
    pub(super) fn add_to(
        report: &mut FrameArenaReport,
        label: String,
        prefix: &str,
        settings: &FrameArenaSettings,
    ) -> Self {
        let arenas = ArenaReport {
            label,
            prefix: prefix.to_owned(),
            settings: settings.clone(),
            usage: FrameUsage::default(),
            totals: ArenaTotals::default(),
            so_far: PeriodSoFar::default(),
        };
        let place = match prefix {
            FRAME_PREFIX => 0,
            _ => report.arenas.len(),
        };
        report.arenas.insert(place, arenas);
        Self {
            prefix: prefix.to_owned(),
            warnings: Warnings::default(),
        }
    }

    /// Writes the figures of the period that has just ended, and warns of what is new and wrong.
    pub(super) fn report(&mut self, arenas: &FrameArenas, report: &mut FrameArenaReport) {
        let warns = report.warnings;
        let Some(entry) = report.get_mut(&self.prefix) else {
            return;
        };
        if entry.settings != *arenas.settings() {
            entry.settings.clone_from(arenas.settings());
        }
        entry.usage.clone_from(arenas.usage());
        entry.totals.count(&entry.usage);
        entry.so_far = PeriodSoFar::default();
        if warns {
            self.warnings.warn(entry);
        }
    }

    /// Writes what the period that goes on has used so far.
    pub(super) fn report_so_far(&self, arenas: &FrameArenas, report: &mut FrameArenaReport) {
        if let Some(entry) = report.get_mut(&self.prefix) {
            entry.so_far = PeriodSoFar {
                used_bytes: arenas.used_bytes_so_far(),
                reserved_bytes: arenas.reserved_bytes_so_far(),
            };
        }
    }
}

/// What the names of the frame's diagnostics begin with.
pub(super) const FRAME_PREFIX: &str = "frame_arena";

/// Returns the name for people: `Frame arenas` for `frame_arena`.
pub(super) fn label_of(prefix: &str) -> String {
    let mut letters = prefix.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let mut label = first.chain(letters).collect::<String>();
    label = label.replace(['_', '/'], " ");
    if label.ends_with("arena") {
        label.push('s');
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_for_people() {
        assert_eq!(label_of("frame_arena"), "Frame arenas");
        assert_eq!(label_of("my_tool"), "My tool");
        assert_eq!(label_of(""), "");
    }
}
