//! The settings that suit a recorded run, as code to paste.
#![forbid(unsafe_code)]

use super::Bytes;
use super::report::ArenaReport;
use crate::arenas::FrameUsage;
use crate::error::{Count, enough_for};
use crate::settings::{FIRST_BLOCK_BYTES, FrameArenaSettings, LivesFor};

/// The figures of a run from which settings are derived.
#[derive(Default)]
pub(super) struct Run {
    /// The report as of the last frame, without its usage.
    pub(super) report: ArenaReport,
    /// The highest figures of all periods, the running one included.
    highest: FrameUsage,
    /// The highest peak of one worker.
    busiest_bytes: usize,
    is_used: bool,
}

impl Run {
    /// Records the last period and the running one.
    pub(super) fn note(&mut self, report: &ArenaReport) {
        // Field by field, because a clone of the whole would allocate in each frame.
        let last = &mut self.report;
        last.label.clone_from(&report.label);
        last.prefix.clone_from(&report.prefix);
        last.settings.clone_from(&report.settings);
        last.periods = report.periods;
        last.periods_by_peak.clone_from(&report.periods_by_peak);
        last.totals = report.totals;
        last.so_far.figures = report.so_far.figures;
        self.is_used |= report.is_used();
        self.highest.raise(&report.usage);
        self.highest.raise(&report.so_far);
        // Not the peak of the last period: several periods may have ended in this frame.
        let peaks = report.usage.workers.iter();
        let peaks = peaks.map(|worker| worker.high_watermark_bytes);
        self.busiest_bytes = peaks.fold(self.busiest_bytes, usize::max);
    }
}

/// Returns settings that suit a run, as code, below comments with the figures that they are derived from.
pub(super) fn advice_for(run: &Run) -> String {
    let (report, highest) = (&run.report, &run.highest);
    let (label, periods) = (&report.label, Count(report.periods, "period"));
    match (run.is_used, report.periods) {
        // A frame that panics is not measured.
        (false, 0) => {
            return format!(
                "// {label}: not used before the last frame, and no period has ended\n"
            );
        }
        (false, _) => return format!("// {label}: not used in {periods}\n"),
        _ => {}
    }
    // A level that ended has given its blocks back. It had at least one per active worker.
    let first_bytes = report.settings.block_bytes.min(FIRST_BLOCK_BYTES);
    let blocks_bytes = highest.active_workers.saturating_mul(first_bytes);
    let needed_bytes = report.totals.peak_bytes.max(blocks_bytes);
    let reserved_bytes = highest.reserved_bytes.max(needed_bytes);
    let reserved = Bytes(reserved_bytes);
    let mut text = format!("// {label}, after {periods}: ");
    text += &match report.periods {
        // Workers are counted when a period ends.
        0 => format!("up to {reserved} reserved.\n"),
        _ => format!(
            "{}, {}, up to {reserved} reserved. The busiest worker took {}.\n",
            Count(highest.active_workers as u64, "worker"),
            Count(highest.generations as u64, "generation"),
            Bytes(run.busiest_bytes),
        ),
    };
    let so_far_bytes = report.so_far.peak_bytes;
    if so_far_bytes > 0 {
        let bytes = Bytes(so_far_bytes);
        text += &format!("// The running period took {bytes} so far.\n");
    }
    let refused_bytes = highest.largest_refusal_bytes;
    if refused_bytes > 0 {
        let largest = Bytes(refused_bytes);
        text += &format!("// A limit refused allocations of up to {largest}.\n");
    }
    let (arenas, results) = (highest.task_arenas as u64, highest.task_results as u64);
    if arenas + results > 0 {
        text += &format!(
            "// Tasks held up to {} where it was measured: at most {} and {}.\n",
            Bytes(highest.task_bytes),
            Count(arenas, "task arena"),
            Count(results, "task result"),
        );
    }

    if report.periods > 0 {
        text += &histogram(&report.periods_by_peak);
    }
    let mut settings = report.settings.clone();
    // Some room above the reserved memory and the largest refused allocation.
    settings.budget_bytes = Some(enough_for(reserved_bytes.saturating_add(refused_bytes)));
    if refused_bytes > 0 {
        let raised = |bytes: usize| enough_for(bytes.saturating_add(refused_bytes));
        settings.worker_limit_bytes = settings.worker_limit_bytes.map(raised);
    }
    if highest.kept_bytes == 0 && report.periods > 0 {
        settings.lives_for = LivesFor::OnePeriod;
        text += "// Nothing was kept for a later period.\n";
    }
    text += "settings: FrameArenaSettings {\n";
    let default = as_code(&FrameArenaSettings::default());
    for ((name, value), default) in as_code(&settings).into_iter().zip(default) {
        if value != default.1 {
            text += &format!("    {name}: {value},\n");
        }
    }
    text + "    ..Default::default()\n},\n"
}

/// Returns a line with the periods by the power of two of their peak.
fn histogram(periods_by_peak: &[u64]) -> String {
    let counts = periods_by_peak.iter().enumerate();
    let counts = counts.filter(|&(_, &count)| count > 0);
    let classes = counts.map(|(class, count)| match class {
        0 => format!("{count} without an allocation"),
        // The upper bound of the class: 1, 2, 4, and so on.
        _ => {
            let most = 1_usize.checked_shl(class as u32 - 1);
            format!("{count} up to {}", Bytes(most.unwrap_or(usize::MAX)))
        }
    });
    let classes: Vec<String> = classes.collect();
    format!("// Periods by peak: {}\n", classes.join(", "))
}

/// Returns the names of all settings, and their values as code.
fn as_code(it: &FrameArenaSettings) -> [(&'static str, String); 7] {
    let some = |bytes: Option<usize>| match bytes {
        Some(bytes) => format!("Some({})", shifted(bytes)),
        None => "None".to_owned(),
    };
    [
        ("budget_bytes", some(it.budget_bytes)),
        ("block_bytes", shifted(it.block_bytes)),
        ("worker_limit_bytes", some(it.worker_limit_bytes)),
        ("trim_after_periods", format!("{:?}", it.trim_after_periods)),
        ("pretouch_bytes", shifted(it.pretouch_bytes)),
        ("fill_recycled", it.fill_recycled.to_string()),
        ("lives_for", format!("LivesFor::{:?}", it.lives_for)),
    ]
}

/// Returns a number of bytes as code: `2 << 20`.
fn shifted(bytes: usize) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} << 20", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{} << 10", bytes >> 10),
        bytes => bytes.to_string(),
    }
}
