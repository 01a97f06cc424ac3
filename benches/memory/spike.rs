//! One frame that needs 64 MB, after many that need 1 MB: what it asks of the allocator, and when the memory is back.

use std::fs;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas};
use voxel_world::counting::requests_of;

use crate::resident::ask;

const SPIKE_BYTES: usize = 64_000_000;
const STEADY_BYTES: usize = 1_000_000;

/// Fills a number of bytes.
type Fill = fn(&FrameArena, usize);

/// How a frame fills its memory.
const KINDS: [(&str, Fill); 3] = [
    ("values of 64 bytes", |arena, bytes| {
        for number in 0..bytes / 64 {
            arena.alloc([number as u64; 8]);
        }
    }),
    ("slices of 40 KB", |arena, bytes| {
        for number in 0..bytes / 40_000 {
            arena.alloc_slice_fill_copy(40_000, number as u8);
        }
    }),
    ("one list that grows", |arena, bytes| {
        let mut list = arena.vec();
        for number in 0..bytes / 8 {
            list.push(number as u64);
        }
    }),
];

/// What a spike did.
pub(crate) struct Spike {
    pub(crate) kind: &'static str,
    /// Calls of the allocator in the frame of the spike.
    pub(crate) calls: u64,
    /// Calls in all frames after it, but for those that give memory back.
    pub(crate) calls_after: u64,
    pub(crate) before_mib: f64,
    pub(crate) peak_mib: f64,
    /// The most between the spike's frame and the end of the window, so that growth shows.
    pub(crate) after_mib: f64,
    /// Frames after the spike until its memory was back, if it came back.
    pub(crate) back_after: Option<u32>,
    pub(crate) back_mib: f64,
    /// The frames after which memory is to be given back, by the settings.
    pub(crate) window: u32,
}

/// Measures and prints what a spike costs.
pub(crate) fn measure() -> Vec<Spike> {
    println!(
        "| 64 MB once | allocator calls in that frame | later | MiB before | peak | at most later | back after frames | MiB then |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    KINDS.iter().map(|(kind, _)| measure_kind(kind)).collect()
}

fn measure_kind(kind: &'static str) -> Spike {
    let words = ask(&format!("spike/{kind}/1"));
    let numbers: Vec<f64> = words
        .iter()
        .map(|it| it.parse().expect("a number"))
        .collect();
    let [
        calls,
        calls_after,
        before,
        peak,
        after,
        back_after,
        back,
        window,
    ] = numbers[..]
    else {
        panic!("eight figures: {words:?}");
    };
    let spike = Spike {
        kind,
        calls: calls as u64,
        calls_after: calls_after as u64,
        before_mib: before / 1024.0,
        peak_mib: peak / 1024.0,
        after_mib: after / 1024.0,
        back_after: (back_after >= 0.0).then_some(back_after as u32),
        back_mib: back / 1024.0,
        window: window as u32,
    };
    let back_after = spike.back_after.map_or("never".into(), |it| it.to_string());
    println!(
        "| {kind} | {} | {} | {:.1} | {:.1} | {:.1} | {back_after} | {:.1} |",
        spike.calls,
        spike.calls_after,
        spike.before_mib,
        spike.peak_mib,
        spike.after_mib,
        spike.back_mib
    );
    spike
}

/// Has a spike, and prints its figures.
pub(crate) fn run_alone(kind: &str) {
    let (_, fill) = KINDS
        .iter()
        .find(|(name, _)| *name == kind)
        .expect("a kind of this name");
    let settings = FrameArenaSettings::default();
    let window = settings.trim_after_periods.expect("the default trims");
    let mut arenas = FrameArenas::new(settings);
    let mut frame = |bytes: usize| {
        let requests = requests_of(|| {
            arenas.swap();
            fill(arenas.local(), bytes);
        });
        requests.calls
    };
    // Longer than the window, so that what the first frames needed is gone.
    for _ in 0..2 * window {
        frame(STEADY_BYTES);
    }
    let before = resident_kib();
    let calls = frame(SPIKE_BYTES);
    let peak = resident_kib();
    let (mut after, mut calls_after, mut back_after) = (0, 0, None);
    for number in 1..=2 * window {
        calls_after += frame(STEADY_BYTES);
        let now = resident_kib();
        after = after.max(now);
        // Back is what is within 4 MB of the memory before.
        if back_after.is_none() && now < before + 4096 {
            back_after = Some(number);
        }
    }
    let back_after = back_after.map_or(-1, i64::from);
    let back = resident_kib();
    println!("{calls} {calls_after} {before} {peak} {after} {back_after} {back} {window}");
}

/// Returns the resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status =
        fs::read_to_string("/proc/self/status").expect("the system tells: this takes Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.expect("Linux says how much")
}
