//! Times of frames, calls of the allocator, and resident memory.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::counting::allocator_calls;
use crate::cpu::cpu_time;
use crate::ways::{Entry, REUSE, Way};
use crate::{ALONE, entries};

/// Frames of one way before it is another's turn: enough for a way to find its memory in the cache.
const BLOCK_FRAMES: u32 = 16;

/// Frames until every buffer has its size.
const WARM_UP_FRAMES: u32 = 40;

struct Racer {
    entry: &'static Entry,
    way: Box<dyn Way>,
    frame: u32,
    sum: u64,
    /// The mean of a frame in each block: by the clock, and of the processor.
    wall_times: Vec<Duration>,
    cpu_times: Vec<Duration>,
    calls_per_frame: f64,
}

impl Racer {
    fn new(entry: &'static Entry) -> Self {
        let mut racer = Self {
            entry,
            way: (entry.make)(),
            frame: 0,
            sum: 0,
            wall_times: Vec::new(),
            cpu_times: Vec::new(),
            calls_per_frame: 0.0,
        };
        racer.run_frames(WARM_UP_FRAMES);
        racer
    }

    /// Runs frames, and returns the time they took: by the clock, and of the processor.
    fn run_frames(&mut self, frames: u32) -> (Duration, Duration) {
        let mut times = (Duration::ZERO, Duration::ZERO);
        for _ in 0..frames {
            self.way.prepare(self.frame);
            let (wall, cpu) = (Instant::now(), cpu_time());
            self.sum = self.sum.wrapping_add(self.way.frame(self.frame));
            times.1 += cpu_time() - cpu;
            times.0 += wall.elapsed();
            self.frame += 1;
        }
        times
    }

    fn run_timed_block(&mut self) {
        // The first frame fetches what the others have pushed out of the cache.
        self.run_frames(1);
        let (wall, cpu) = self.run_frames(BLOCK_FRAMES);
        self.cpu_times.push(cpu / BLOCK_FRAMES);
        self.wall_times.push(wall / BLOCK_FRAMES);
    }

    fn count_calls(&mut self) {
        let calls = allocator_calls(|| {
            self.run_frames(BLOCK_FRAMES);
        });
        self.calls_per_frame = calls as f64 / f64::from(BLOCK_FRAMES);
    }
}

/// Prints a table for each workload.
pub(crate) fn print(blocks: usize) {
    let mut racers: Vec<Racer> = entries().map(Racer::new).collect();
    println!("{blocks} blocks of {BLOCK_FRAMES} frames of each way, in turns; ratios are those of");
    println!("a block to the block of reused buffers in the same turn: p50, and p10 to p90\n");
    for racers in racers.chunk_by_mut(|a, b| a.entry.workload == b.entry.workload) {
        for _ in 0..blocks {
            racers.iter_mut().for_each(Racer::run_timed_block);
        }
        racers.iter_mut().for_each(Racer::count_calls);
        assert!(
            racers.iter().all(|racer| racer.sum == racers[0].sum),
            "the ways computed different things"
        );
        print_workload(racers);
    }
}

fn print_workload(racers: &[Racer]) {
    let reuse = racers.iter().find(|racer| racer.entry.way == REUSE);
    let reuse = reuse.expect("each workload has this way");
    let reuse_peak = peak_resident(reuse.entry);
    println!(
        "| {} | us | time | spread | CPU time | allocator calls | peak resident, MiB | ratio |",
        reuse.entry.workload
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for racer in racers {
        let [p10, p50, p90] = ratios(&racer.wall_times, &reuse.wall_times);
        let [_, cpu, _] = ratios(&racer.cpu_times, &reuse.cpu_times);
        let peak = peak_resident(racer.entry);
        println!(
            "| {} | {:.0} | {p50:.2} | {p10:.2} to {p90:.2} | {cpu:.2} | {:.1} | {peak:.1} | {:.2} |",
            racer.entry.way,
            median_us(&racer.wall_times),
            racer.calls_per_frame,
            peak / reuse_peak,
        );
    }
    println!();
}

/// Returns the 10th, 50th and 90th percentile of the ratios of blocks in the same turn.
fn ratios(times: &[Duration], base: &[Duration]) -> [f64; 3] {
    let pairs = times.iter().zip(base);
    let mut ratios: Vec<f64> = pairs
        .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    [0.1, 0.5, 0.9].map(|part| ratios[(part * (ratios.len() - 1) as f64).round() as usize])
}

fn median_us(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Runs one way in processes of its own, and returns its peak of resident memory in MiB: the median,
/// for where the system puts a process moves it by a tenth.
fn peak_resident(entry: &Entry) -> f64 {
    let run = || {
        let program = std::env::current_exe().ok()?;
        let name = format!("{}/{}", entry.workload, entry.way);
        let output = Command::new(program).args([ALONE, &name]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse().ok()
    };
    let mut peaks = [(); 5].map(|()| run().unwrap_or(f64::NAN));
    peaks.sort_by(f64::total_cmp);
    peaks[peaks.len() / 2]
}

/// Runs the way of this name, and prints the peak of resident memory.
pub(crate) fn run_alone(name: &str) {
    let entry = entries().find(|entry| format!("{}/{}", entry.workload, entry.way) == name);
    Racer::new(entry.expect("a way of this name")).run_frames(WARM_UP_FRAMES);
    // Linux tells; elsewhere the column stays empty.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    if let Some(kib) = kib {
        println!("{}", kib / 1024.0);
    }
}
