//! Settings that would suit a run.
#![forbid(unsafe_code)]

use std::fmt;

use crate::app::Bytes;
use crate::app::log::Count;
use crate::app::problems::enough_for;
use crate::app::report::ArenaReport;

/// A first chunk smaller than this saves nothing.
const MIN_CAPACITY_BYTES: usize = 64 << 10;

/// A first chunk takes no more than a sixteenth of what a budget has left: so many chunks must be
/// left for the last worker.
const SPARE_CHUNKS: usize = 16;

/// What is to be known of a run for choosing settings.
pub(super) struct Advice {
    label: String,
    periods: u64,
    /// The highest peak of one worker.
    worker_peak_bytes: usize,
    /// The largest allocation that was refused.
    refused_bytes: usize,
    reserved_bytes: usize,
    scratch_bytes: usize,
    workers: usize,
    generations: usize,
}

impl Advice {
    pub(super) fn of(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            periods: 0,
            worker_peak_bytes: 0,
            refused_bytes: 0,
            reserved_bytes: 0,
            scratch_bytes: 0,
            workers: 0,
            generations: 0,
        }
    }

    /// Notes the figures of the last period, and returns whether it is a new one.
    pub(super) fn note(&mut self, report: &ArenaReport) -> bool {
        let usage = &report.usage;
        let is_new = self.periods != report.totals.periods;
        self.periods = report.totals.periods;
        // Not the peak of the last period: several may have ended in a frame.
        let peaks = usage.workers.iter().map(|it| it.high_watermark_bytes);
        self.worker_peak_bytes = peaks.fold(self.worker_peak_bytes, usize::max);
        self.refused_bytes = usage.largest_refusal_bytes;
        self.reserved_bytes = self.reserved_bytes.max(usage.reserved_bytes);
        self.scratch_bytes = self.scratch_bytes.max(usage.scratch_high_watermark_bytes);
        self.workers = self.workers.max(usage.workers.len());
        self.generations = self.generations.max(usage.generations);
        is_new
    }

    fn capacity_bytes(&self) -> usize {
        // Perhaps it was the busiest worker that was refused more.
        let needed_bytes = self.worker_peak_bytes.saturating_add(self.refused_bytes);
        enough_for(needed_bytes).max(MIN_CAPACITY_BYTES)
    }

    /// Returns a budget in which each worker gets its first chunk in each generation.
    fn budget_bytes(&self) -> usize {
        let chunks = self.workers * self.generations + SPARE_CHUNKS;
        let bytes = chunks.saturating_mul(self.capacity_bytes());
        let bytes = bytes.saturating_add(self.scratch_bytes);
        bytes.checked_next_multiple_of(1 << 20).unwrap_or(bytes)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, periods) = (&self.label, Count(self.periods, "period"));
        if self.worker_peak_bytes == 0 && self.refused_bytes == 0 {
            return writeln!(f, "// {label}: not used in {periods}");
        }
        writeln!(f, "// {label}, after {periods}")?;
        writeln!(f, "FrameArenaSettings {{")?;
        writeln!(
            f,
            "    // The busiest worker took {}.",
            Bytes(self.worker_peak_bytes)
        )?;
        if self.refused_bytes > 0 {
            writeln!(
                f,
                "    // A limit refused allocations of up to {}.",
                Bytes(self.refused_bytes)
            )?;
        }
        writeln!(
            f,
            "    worker_capacity_bytes: {},",
            Shifted(self.capacity_bytes())
        )?;
        writeln!(
            f,
            "    // {}, {}; {} were reserved.",
            Count(self.workers as u64, "worker"),
            Count(self.generations as u64, "generation"),
            Bytes(self.reserved_bytes)
        )?;
        writeln!(
            f,
            "    budget_bytes: Some({}),",
            Shifted(self.budget_bytes())
        )?;
        writeln!(f, "    ..Default::default()")?;
        writeln!(f, "}}")
    }
}

/// A number of bytes as code: `2 << 20`.
struct Shifted(usize);

impl fmt::Display for Shifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        match bytes {
            bytes if bytes.is_multiple_of(1 << 20) => write!(f, "{} << 20", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(f, "{} << 10", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}
