//! Whole frames of a headless, multi-threaded Bevy app, with its memory managed in several ways.
//!
//! `cargo bench -p frame_arena_benches --bench frames`, or `-- --quick` for a first look. The apps take turns in
//! blocks of frames, so that noise hits all alike, and yet each finds its own memory in the cache,
//! as the only app of a process does. Calls of the allocator are counted in a pass of their own,
//! and the peak of the resident memory is that of a process with one app alone.

mod counting;
mod scene;
mod ways;

use std::process::Command;
use std::time::{Duration, Instant};

use bevy_app::App;

use crate::counting::allocator_calls;
use crate::scene::Checksum;
use crate::ways::{WAYS, Way};

/// The argument with which the program runs itself to measure the memory of one way.
const ALONE: &str = "--alone";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if let Some(place) = arguments.iter().position(|argument| argument == ALONE) {
        run_alone(&arguments[place + 1]);
        return;
    }
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench frames`");
        return;
    }
    let frames = if has("--quick") { 300 } else { 3000 };
    let mut racers: Vec<Racer> = WAYS.iter().map(Racer::new).collect();
    for _ in 0..frames / BLOCK_FRAMES {
        for racer in &mut racers {
            // It fetches what the others have pushed out of the cache.
            racer.app.update();
            for _ in 0..BLOCK_FRAMES {
                racer.run_timed_frame();
            }
        }
    }
    for racer in &mut racers {
        racer.count_calls();
    }
    assert_all_did_the_same(&racers);
    print_table(&racers, frames);
}

/// Frames of one app before it is another's turn.
const BLOCK_FRAMES: u32 = 20;

/// Frames until every buffer has its size.
const WARM_UP_FRAMES: u32 = 100;

struct Racer {
    way: &'static Way,
    app: App,
    times: Vec<Duration>,
    calls_per_frame: f64,
}

impl Racer {
    fn new(way: &'static Way) -> Self {
        let mut app = scene::app();
        (way.add_systems)(&mut app);
        for _ in 0..WARM_UP_FRAMES {
            app.update();
        }
        Self {
            way,
            app,
            times: Vec::new(),
            calls_per_frame: 0.0,
        }
    }

    fn run_timed_frame(&mut self) {
        let start = Instant::now();
        self.app.update();
        self.times.push(start.elapsed());
    }

    fn count_calls(&mut self) {
        const FRAMES: u32 = 100;
        let calls = allocator_calls(|| {
            for _ in 0..FRAMES {
                self.app.update();
            }
        });
        self.calls_per_frame = calls as f64 / f64::from(FRAMES);
    }

    /// Returns a time that the given part of the frames stayed within, in microseconds.
    fn percentile(&self, part: f64) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        let index = (part * (times.len() - 1) as f64).round() as usize;
        times[index].as_secs_f64() * 1e6
    }
}

fn assert_all_did_the_same(racers: &[Racer]) {
    let sums = racers.iter().map(|racer| {
        let sum = racer.app.world().resource::<Checksum>();
        sum.value()
    });
    let sums: Vec<u64> = sums.collect();
    assert!(
        sums.windows(2).all(|pair| pair[0] == pair[1]),
        "the ways computed different things: {sums:?}"
    );
}

fn print_table(racers: &[Racer], frames: u32) {
    println!(
        "{frames} frames of each way, in turns of {BLOCK_FRAMES}; microseconds for one frame\n"
    );
    println!("| memory by | p50 | p99 | max | p99 - p50 | allocator calls | peak resident, MiB |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for racer in racers {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| racer.percentile(part));
        let (name, calls) = (racer.way.name, racer.calls_per_frame);
        let peak = peak_resident(name).map_or("?".into(), |mib| format!("{mib:.1}"));
        let spread = p99 - p50;
        println!("| {name} | {p50:.0} | {p99:.0} | {max:.0} | {spread:.0} | {calls:.1} | {peak} |");
    }
}

/// Runs one way in a process of its own, and returns its peak of resident memory.
fn peak_resident(name: &str) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args([ALONE, name]).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

fn run_alone(name: &str) {
    let way = WAYS.iter().find(|way| way.name == name);
    let mut racer = Racer::new(way.expect("a way of this name"));
    for _ in 0..WARM_UP_FRAMES {
        racer.run_timed_frame();
    }
    // Linux tells; elsewhere the column stays empty.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    if let Some(kib) = kib {
        println!("{}", kib / 1024.0);
    }
}
