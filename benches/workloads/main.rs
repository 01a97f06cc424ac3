//! Whole frames of five workloads, with their memory managed in several ways.
//!
//! `cargo bench -p frame_arena_benches --bench workloads`, or `-- --quick` for a first look. Times are those of blocks of
//! frames that take turns, so that noise hits all alike and each way finds its own memory in the
//! cache, as in a game; they are printed as ratios to reused buffers, with their spread over the
//! blocks. Instructions and cache misses are those of callgrind's simulation with the caches given
//! in `cache.rs`, so they are the same on any machine. `-- --counts` leaves out the times,
//! `-- --times` the counts, and `-- --check` fails if ours needs more than `limits.rs` allows. With `WORKLOAD=swarm` in
//! the environment, only that one runs.

mod boids;
mod cache;
#[path = "../common/callgrind.rs"]
mod callgrind;
#[path = "../common/counted_frames.rs"]
mod counted_frames;
#[path = "../frames/counting.rs"]
mod counting;
#[path = "../common/cpu.rs"]
mod cpu;
mod labels;
mod limits;
mod meshing;
#[path = "../collect/scene.rs"]
mod scene;
mod swarm;
mod timing;
mod visibility;
mod ways;

use std::process::ExitCode;

use crate::ways::Entry;

/// The argument with which the program runs itself under callgrind.
const MEASURED: &str = "--measured";

/// The argument with which the program runs itself to measure the memory of one way.
const ALONE: &str = "--alone";

/// Frames until every buffer has its size.
const WARM_UP_FRAMES: u32 = 4;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has(MEASURED) {
        scene::start_pool(1);
        run_measured();
        return ExitCode::SUCCESS;
    }
    if let Some(place) = arguments.iter().position(|argument| argument == ALONE) {
        scene::start_pool(1);
        timing::run_alone(&arguments[place + 1]);
        return ExitCode::SUCCESS;
    }
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench workloads`");
        return ExitCode::SUCCESS;
    }
    if has("--times") {
        scene::start_pool(1);
        timing::print(if has("--quick") { 20 } else { 200 });
        return ExitCode::SUCCESS;
    }
    swarm::print_lines();
    let holds = match cache::run(MEASURED) {
        Ok(counts) => cache::print(&counts) & limits::hold(&counts),
        Err(error) => {
            eprintln!("CACHE MISSES NOT RUN: {error}");
            false
        }
    };
    if !has("--counts") {
        scene::start_pool(1);
        timing::print(if has("--quick") { 20 } else { 200 });
    }
    if has("--check") && !holds {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// All ways of all workloads.
fn entries() -> impl Iterator<Item = &'static Entry> {
    let workloads: [&[Entry]; 5] = [
        &boids::ENTRIES,
        &meshing::ENTRIES,
        &labels::ENTRIES,
        &visibility::ENTRIES,
        &swarm::ENTRIES,
    ];
    workloads
        .into_iter()
        .flatten()
        .filter(|entry| is_wanted(entry.workload))
}

/// Whether a workload was asked for.
fn is_wanted(workload: &str) -> bool {
    std::env::var("WORKLOAD").map_or(true, |wanted| wanted == workload)
}

/// Runs all ways, for callgrind to count.
fn run_measured() {
    for entry in entries() {
        let mut way = (entry.make)();
        for frame in 0..WARM_UP_FRAMES {
            way.frame(frame);
        }
        let mut frame = WARM_UP_FRAMES;
        let mut sum = 0_u64;
        cache::segment(|| {
            sum = sum.wrapping_add(way.frame(frame));
            frame += 1;
        });
        println!("{}\t{}\t{sum}", entry.workload, entry.way);
    }
}
