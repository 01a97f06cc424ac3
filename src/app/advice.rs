//! The settings that suit a recorded run, as code to paste.
#![forbid(unsafe_code)]

use std::fmt;

use super::Bytes;
use super::report::{ArenaReport, Seen};
use crate::arenas::FrameUsage;
use crate::error::{Count, enough_for};
use crate::settings::{FIRST_BLOCK_BYTES, FrameArenaSettings, LivesFor};

/// The figures of a run from which settings are derived. Its text is the advice.
#[derive(Default)]
pub(super) struct Advice {
    /// The part of the report that was recorded.
    pub(super) seen: Seen,
    label: String,
    is_used: bool,
    settings: FrameArenaSettings,
    periods: u64,
    periods_by_peak: Vec<u64>,
    /// The highest figures of all periods.
    highest: FrameUsage,
    workers: usize,
    /// The highest peak of one worker.
    worker_peak_bytes: usize,
    /// The most bytes in use in the running period, if it is a long one.
    so_far_bytes: usize,
}

impl Advice {
    /// Records the last period and the running one.
    pub(super) fn note(&mut self, report: &ArenaReport) {
        self.label.clone_from(&report.label);
        self.is_used |= report.is_used();
        self.settings.clone_from(&report.settings);
        self.periods = report.periods;
        self.periods_by_peak.clone_from(&report.periods_by_peak);
        for usage in [&report.usage, &report.so_far] {
            self.highest.figures.merge(&usage.figures);
            self.highest.raise(usage);
        }
        let usage = &report.usage;
        // A level that ended has given its blocks back. It had at least one per active worker.
        let first_bytes = report.settings.block_bytes.min(FIRST_BLOCK_BYTES);
        let blocks_bytes = usage.active_workers.saturating_mul(first_bytes);
        let needed_bytes = report.totals.peak_bytes.max(blocks_bytes);
        let reserved_bytes = &mut self.highest.figures.reserved_bytes;
        *reserved_bytes = needed_bytes.max(*reserved_bytes);
        self.workers = self.workers.max(usage.workers.len());
        // Not the peak of the last period: several periods may have ended in this frame.
        let peaks = usage.workers.iter().map(|it| it.high_watermark_bytes);
        self.worker_peak_bytes = peaks.fold(self.worker_peak_bytes, usize::max);
        self.so_far_bytes = report.so_far.peak_bytes;
    }

    /// Writes what was seen, as comments.
    fn write_figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let periods = Count(self.periods, "period");
        write!(f, "// {}, after {periods}: ", self.label)?;
        let reserved = Bytes(self.highest.reserved_bytes);
        match self.periods {
            // Workers are counted when a period ends.
            0 => writeln!(f, "up to {reserved} reserved.")?,
            _ => writeln!(
                f,
                "{}, {}, up to {reserved} reserved. The busiest worker took {}.",
                Count(self.workers as u64, "worker"),
                Count(self.highest.generations as u64, "generation"),
                Bytes(self.worker_peak_bytes),
            )?,
        }
        if self.so_far_bytes > 0 {
            let bytes = Bytes(self.so_far_bytes);
            writeln!(f, "// The running period took {bytes} so far.")?;
        }
        let refused_bytes = self.highest.largest_refusal_bytes;
        if refused_bytes > 0 {
            let largest = Bytes(refused_bytes);
            writeln!(f, "// A limit refused allocations of up to {largest}.")?;
        }
        let (arenas, results) = (self.highest.task_arenas, self.highest.task_results);
        if arenas + results > 0 {
            let held = Bytes(self.highest.task_bytes);
            let arenas = Count(arenas as u64, "task arena");
            let results = Count(results as u64, "task result");
            writeln!(
                f,
                "// Tasks held up to {held} where it was measured: at most {arenas} and {results}."
            )?;
        }
        if self.periods == 0 {
            return Ok(());
        }
        f.write_str("// Periods by peak:")?;
        let counts = self.periods_by_peak.iter().enumerate();
        let mut comma = "";
        for (class, count) in counts.filter(|&(_, &count)| count > 0) {
            // The upper bound of the class: 1, 2, 4, and so on.
            let most = 1_usize.checked_shl(class.saturating_sub(1) as u32);
            match class {
                0 => write!(f, "{comma} {count} without an allocation")?,
                _ => write!(
                    f,
                    "{comma} {count} up to {}",
                    Bytes(most.unwrap_or(usize::MAX))
                )?,
            }
            comma = ",";
        }
        writeln!(f)
    }

    /// Returns whether data may live for one period: nothing was kept for a later one.
    fn nothing_was_kept(&self) -> bool {
        self.highest.kept_bytes == 0 && self.periods > 0
    }

    /// Returns the settings of the run, changed to suit it.
    fn settings(&self) -> FrameArenaSettings {
        let mut settings = self.settings.clone();
        // Some room above the reserved memory and the largest refused allocation.
        let refused_bytes = self.highest.largest_refusal_bytes;
        let needed_bytes = self.highest.reserved_bytes.saturating_add(refused_bytes);
        settings.budget_bytes = Some(enough_for(needed_bytes));
        if refused_bytes > 0 {
            let raised = |bytes: usize| enough_for(bytes.saturating_add(refused_bytes));
            settings.worker_limit_bytes = settings.worker_limit_bytes.map(raised);
        }
        if self.nothing_was_kept() {
            settings.lives_for = LivesFor::OnePeriod;
        }
        settings
    }
}

/// Returns the names of all settings, and their values as code.
fn as_code(settings: &FrameArenaSettings) -> [(&'static str, String); 7] {
    // All fields by name, so that a new one is not forgotten.
    let FrameArenaSettings {
        block_bytes,
        worker_limit_bytes,
        budget_bytes,
        trim_after_periods,
        lives_for,
        pretouch_bytes,
        fill_recycled,
    } = *settings;
    let some = |bytes: Option<usize>| format!("{:?}", bytes.map(Shifted));
    [
        ("budget_bytes", some(budget_bytes)),
        ("block_bytes", format!("{:?}", Shifted(block_bytes))),
        ("worker_limit_bytes", some(worker_limit_bytes)),
        ("trim_after_periods", format!("{trim_after_periods:?}")),
        ("pretouch_bytes", format!("{:?}", Shifted(pretouch_bytes))),
        ("fill_recycled", fill_recycled.to_string()),
        ("lives_for", format!("LivesFor::{lives_for:?}")),
    ]
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, periods) = (&self.label, Count(self.periods, "period"));
        match (self.is_used, self.periods) {
            // A frame that panics is not measured.
            (false, 0) => {
                let text = "not used before the last frame, and no period has ended";
                return writeln!(f, "// {label}: {text}");
            }
            (false, _) => return writeln!(f, "// {label}: not used in {periods}"),
            _ => self.write_figures(f)?,
        }
        f.write_str("settings: FrameArenaSettings {\n")?;
        let default = as_code(&FrameArenaSettings::default());
        let settings = as_code(&self.settings()).into_iter().zip(default);
        for ((name, value), _) in settings.filter(|(own, default)| own != default) {
            if name == "lives_for" && self.nothing_was_kept() {
                f.write_str("    // Nothing was kept for a later period.\n")?;
            }
            writeln!(f, "    {name}: {value},")?;
        }
        f.write_str("    ..Default::default()\n},\n")
    }
}

/// A number of bytes as code: `2 << 20`.
struct Shifted(usize);

impl fmt::Debug for Shifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        match bytes {
            bytes if bytes.is_multiple_of(1 << 20) => write!(f, "{} << 20", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(f, "{} << 10", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}
