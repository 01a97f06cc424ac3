//! Resident memory by number of workers: four workloads, with their memory managed in several ways.
//!
//! `cargo bench -p frame_arena_benches --bench memory`, or `-- --quick` for a first look. Each figure is the peak of a
//! process that plays one way alone, and the median of three; with `-- --once` it is that of one process. Then follow a frame that needs 64 MB once, and a large
//! list that another worker makes each frame. `-- --time` takes CPU times instead, of all ways in turns, and
//! `-- --check` fails if ours needs more than `limits.rs` allows. `--only NAME` leaves out the other workloads, and
//! `--workers N` says how many take part in `--time` (2).

mod boids;
#[path = "../common/cpu.rs"]
mod cpu;
#[path = "../frames"]
mod frames {
    pub(crate) mod scene;
    pub(crate) mod ways;
}
mod frames_in_bevy;
mod limits;
mod meshing;
mod moving;
mod resident;
mod scene;
mod spike;
mod timing;
mod ways;
mod workers;
mod world;

use std::process::ExitCode;

use voxel_world::counting::Counting;

use crate::limits::Findings;
use crate::ways::WORKLOADS;

#[global_allocator]
static GLOBAL: Counting = Counting;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).map(String::as_str)
    };
    if let Some(task) = value(resident::ALONE) {
        resident::run_alone(task);
        return ExitCode::SUCCESS;
    }
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench memory`");
        return ExitCode::SUCCESS;
    }
    let only = value("--only");
    let is_asked_for = |name: &str| only.is_none_or(|only| only == name);
    let workloads = WORKLOADS.iter().filter(|it| is_asked_for(it.name));
    let mut findings = Findings::default();
    if has("--time") {
        let workers = value("--workers").map_or(2, |it| it.parse().expect("a number of workers"));
        workers::start(workers);
        println!("CPU time with {workers} compute threads\n");
        for workload in workloads {
            let rows = timing::measure(workload, if has("--quick") { 20 } else { 100 });
            limits::check_times(workload, &rows, &mut findings);
        }
    } else {
        for workload in workloads {
            let table = resident::measure(workload, has("--quick"), has("--once"));
            limits::check_memory(workload, &table, &mut findings);
        }
        if is_asked_for("spike") {
            limits::check_spike(&spike::measure(), &mut findings);
        }
        if is_asked_for("moving") {
            limits::check_moving(&moving::measure(), &mut findings);
        }
    }
    findings.print();
    if has("--check") && findings.any_is_exceeded() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
