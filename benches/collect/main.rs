//! Bevy's visibility check, with the list of what is visible made in five ways.
//!
//! `cargo bench -p frame_arena_benches --bench collect`, or `-- --quick` for a first look. Instructions are counted by
//! callgrind with one worker, so they are exact; times are CPU times of the process with four
//! workers, of frames that take turns in one run, as ratios to Bevy's own way. With `-- --check`
//! it fails if ours, sorted or not, needs more instructions than that. `--counts` leaves out the
//! times, `--times` the counts.

#[path = "../common/callgrind.rs"]
mod callgrind;
#[path = "../common/counted_frames.rs"]
mod counted_frames;
mod counts;
#[path = "../common/cpu.rs"]
mod cpu;
mod scene;
mod ways;

use std::process::ExitCode;
use std::time::Duration;

use crate::scene::{SCENES, Scene};
use crate::ways::Way;

/// The argument with which the program runs itself under callgrind.
const MEASURED: &str = "--measured";

/// Frames until every buffer has its size.
const WARM_UP_FRAMES: u32 = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has(MEASURED) {
        run_measured();
        return ExitCode::SUCCESS;
    }
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench collect`");
        return ExitCode::SUCCESS;
    }
    if has("--times") {
        print_times(if has("--quick") { 100 } else { 1000 });
        return ExitCode::SUCCESS;
    }
    let holds = match counts::run(MEASURED) {
        Ok(counts) => print_counts(&counts),
        Err(error) => {
            eprintln!("INSTRUCTION COUNTS NOT RUN: {error}");
            false
        }
    };
    if !has("--counts") {
        print_times(if has("--quick") { 100 } else { 1000 });
    }
    if has("--check") && !holds {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs all ways in all scenes, for callgrind to count.
fn run_measured() {
    scene::start_pool(1);
    for shape in SCENES {
        let mut scene = Scene::new(shape);
        for mut way in ways::all() {
            for _ in 0..WARM_UP_FRAMES {
                way.frame(&mut scene);
            }
            counts::segment(|| way.frame(&mut scene));
            println!("{shape}\t{}", way.name());
        }
    }
}

/// Prints the table, and returns whether ours needs no more than Bevy's own way.
fn print_counts(counts: &[counts::Count]) -> bool {
    println!("instructions of one frame with one worker, thousands, and the ratio to the first\n");
    let mut holds = true;
    for shape in SCENES {
        let of_scene = counts.iter().filter(|it| it.scene == shape.to_string());
        let of_scene: Vec<_> = of_scene.collect();
        println!("| {shape} | instructions, k | ratio |\n|---|--:|--:|");
        for count in &of_scene {
            let ratio = count.instructions as f64 / of_scene[0].instructions as f64;
            let thousands = count.instructions as f64 / 1e3;
            println!("| {} | {thousands:.0} | {ratio:.3} |", count.way);
            if ways::OURS.contains(&count.way.as_str()) && ratio > 1.0 {
                println!("TOO MANY: {shape}: {}", count.way);
                holds = false;
            }
        }
        println!();
    }
    holds
}

fn print_times(rounds: usize) {
    scene::start_pool(4);
    println!(
        "CPU time of one frame with four workers, p50 and p10 of {rounds} rounds, as ratios\n"
    );
    for shape in SCENES {
        let mut scene = Scene::new(shape);
        let mut racers: Vec<_> = ways::all().into_iter().map(Racer::new).collect();
        for racer in &mut racers {
            for _ in 0..WARM_UP_FRAMES {
                racer.way.frame(&mut scene);
            }
        }
        let ways = racers.len();
        for round in 0..rounds {
            // Another one begins each time, so that nobody always comes after the same.
            let (before, from) = racers.split_at_mut(round % ways);
            for (index, racer) in from.iter_mut().chain(before).enumerate() {
                scene.scatter((round * 16 + index) as u32);
                racer.run_timed_frame(&mut scene);
            }
        }
        for racer in &mut racers {
            racer.way.frame(&mut scene);
        }
        let expected = racers[0].way.checksum();
        assert!(racers.iter().all(|it| it.way.checksum() == expected));
        let first = [0.5, 0.1].map(|part| racers[0].percentile(part));
        println!("| {shape} | p50 | p10 | p50, us |\n|---|--:|--:|--:|");
        for racer in &mut racers {
            let [p50, p10] = [0.5, 0.1].map(|part| racer.percentile(part));
            let name = racer.way.name();
            let [p50_ratio, p10_ratio] = [p50 / first[0], p10 / first[1]];
            println!(
                "| {name} | {p50_ratio:.2} | {p10_ratio:.2} | {:.0} |",
                p50 * 1e6
            );
        }
        println!();
    }
}

struct Racer {
    way: Box<dyn Way>,
    times: Vec<Duration>,
}

impl Racer {
    fn new(way: Box<dyn Way>) -> Self {
        Self {
            way,
            times: Vec::new(),
        }
    }

    fn run_timed_frame(&mut self, scene: &mut Scene) {
        let start = cpu::cpu_time();
        self.way.frame(scene);
        self.times.push(cpu::cpu_time() - start);
    }

    /// Returns a time that the given part of the frames stayed within, in seconds.
    fn percentile(&mut self, part: f64) -> f64 {
        self.times.sort();
        let index = (part * (self.times.len() - 1) as f64).round() as usize;
        self.times[index].as_secs_f64()
    }
}
