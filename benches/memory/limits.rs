//! What ours is held to, by `--check`.

use crate::moving::Moving;
use crate::resident::Table;
use crate::spike::Spike;
use crate::timing::Row;
use crate::ways::{Lives, Way, Workload};

/// With 32 workers, to one worker.
const FLAT: f64 = 1.2;
/// To reused buffers that keep data for as long.
const TO_REUSE: f64 = 1.05;
/// The voxel world with 16 workers, to reused buffers.
const VOXEL_WORLD: f64 = 0.95;
/// Allocator calls in the frame of a spike.
const SPIKE_CALLS: f64 = 60.0;
/// What a spike leaves behind, in MiB.
const SPIKE_REST: f64 = 4.0;
/// CPU time to reused buffers; meshing makes its masks anew for each chunk.
const CPU_TIME: f64 = 1.0;
const CPU_TIME_MESHING: f64 = 1.02;
/// What the spread of the times may hide.
const NOISE: f64 = 0.01;

const OURS: [Way; 3] = [Way::Ours, Way::Scratch, Way::OnePeriod];

/// Figures with their limits.
#[derive(Default)]
pub(crate) struct Findings(Vec<(String, f64, f64)>);

impl Findings {
    fn add(&mut self, what: String, figure: f64, limit: f64) {
        self.0.push((what, figure, limit));
    }

    pub(crate) fn any_is_exceeded(&self) -> bool {
        self.0.iter().any(|(_, figure, limit)| figure > limit)
    }

    pub(crate) fn print(&self) {
        println!("| held to | is | at most | |\n|---|--:|--:|---|");
        for (what, figure, limit) in &self.0 {
            let verdict = if figure > limit { "EXCEEDED" } else { "ok" };
            println!("| {what} | {figure:.2} | {limit:.2} | {verdict} |");
        }
    }
}

/// Returns the reused buffers that a way of ours is compared with: those that keep data for as long. Where temporary
/// lists are in the frame's own memory, they live as long as what is shared, and no hand-written way does that.
fn base(workload: &Workload, way: Way) -> Option<Way> {
    match (workload.lives, way) {
        (Lives::OneFrame, _) | (Lives::AsSet, Way::OnePeriod) => Some(Way::Reuse),
        (Lives::TwoFrames, _) | (Lives::AsSet, Way::Scratch) => Some(Way::ReuseTwice),
        (Lives::AsSet, _) => None,
    }
}

pub(crate) fn check_memory(workload: &Workload, table: &Table, findings: &mut Findings) {
    let name = workload.name;
    for way in OURS {
        let peak = |way, workers| table.peak(way, workers);
        if let Some((one, many)) = peak(way, 1).zip(peak(way, 32)) {
            let what = format!("{name}, {}: 32 workers to 1", way.name());
            findings.add(what, many / one, FLAT);
        }
        let Some(base) = base(workload, way) else {
            continue;
        };
        for &workers in &table.workers {
            let Some((ours, reuse)) = peak(way, workers).zip(peak(base, workers)) else {
                continue;
            };
            let limit = match (workload.lives, workers) {
                (Lives::TwoFrames, 16) => VOXEL_WORLD,
                _ => TO_REUSE,
            };
            let (way, base) = (way.name(), base.name());
            let what = format!("{name}, {way}: to {base}, {workers} workers");
            findings.add(what, ours / reuse, limit);
        }
    }
}

pub(crate) fn check_times(workload: &Workload, rows: &[Row], findings: &mut Findings) {
    for (way, [_, p50, _]) in rows.iter().filter(|(way, _)| OURS.contains(way)) {
        let limit = match (workload.name, way) {
            ("meshing", Way::Ours) => continue,
            ("meshing", _) => CPU_TIME_MESHING,
            _ => CPU_TIME,
        };
        let what = format!(
            "{}, {}: CPU time to reused buffers",
            workload.name,
            way.name()
        );
        findings.add(what, *p50, limit + NOISE);
    }
}

pub(crate) fn check_spike(spikes: &[Spike], findings: &mut Findings) {
    for spike in spikes {
        let what = |what: &str| format!("64 MB once, {}: {what}", spike.kind);
        findings.add(what("allocator calls"), spike.calls as f64, SPIKE_CALLS);
        let grown = spike.after_mib - spike.peak_mib;
        findings.add(what("MiB more in later frames"), grown, SPIKE_REST);
        // Late by an eighth, and by the frames for which data lives.
        let window = f64::from(spike.window + spike.window / 8 + 2);
        let back_after = spike.back_after.map_or(f64::INFINITY, f64::from);
        findings.add(what("frames until it is given back"), back_after, window);
        let rest = spike.back_mib - spike.before_mib;
        findings.add(what("MiB that stay"), rest, SPIKE_REST);
    }
}

pub(crate) fn check_moving(rows: &[Moving], findings: &mut Findings) {
    for row in rows {
        let (kind, threads) = (row.kind, row.threads);
        let what =
            format!("moving list, {kind}, {threads} threads: allocator calls in warm frames");
        findings.add(what, row.calls as f64, 0.0);
    }
}
