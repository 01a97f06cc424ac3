//! Meshing 64 chunks in tasks, 16 in flight, with the tasks' memory managed in three ways:
//! `cargo bench -p frame_arena_benches --bench tasks`, or `-- --quick` for a first look. `RESULTS.md` has a run of it.
//!
//! A frame collects the meshes that are ready, each of which replaces the last one of its chunk, begins as many
//! tasks, and does some work of its own. Calls of the allocator are counted and times are taken in one process, all
//! ways in turns; resident memory is the peak of a process that plays one way alone.

#[path = "../common/cpu.rs"]
mod cpu;
mod scene;
mod ways;

use std::process::Command;
use std::time::Duration;

use bevy_tasks::{AsyncComputeTaskPool, TaskPoolBuilder};
use voxel_world::counting::{Counting, requests_of};
use voxel_world::measure::peak_resident_kib;

use crate::cpu::cpu_time;
use crate::scene::{CHUNKS, Play};
use crate::ways::WAYS;

#[global_allocator]
static GLOBAL: Counting = Counting;

/// The argument with which the program runs itself, to measure a way alone.
const ALONE: &str = "--alone";

/// Rounds until every buffer has its size.
const WARM_UP_ROUNDS: usize = 30;

/// Rounds in which calls of the allocator are counted.
const COUNTED_ROUNDS: usize = 20;

/// Threads that run tasks: enough to return blocks and buffers from others than took them.
const THREADS: usize = 2;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if !has("--bench") && !has(ALONE) {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench tasks`");
        return;
    }
    AsyncComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(THREADS).build());
    if has(ALONE) {
        let way = WAYS.into_iter().find(|way| has(way.name));
        let mut play = (way.expect("the name of a way").play)();
        (0..WARM_UP_ROUNDS).for_each(|_| play.round(&mut Vec::new()));
        let peak_kib = peak_resident_kib().expect("the system tells: this takes Linux");
        println!("{peak_kib}");
        return;
    }
    let rounds = if has("--quick") { 20 } else { 200 };
    let mut players: Vec<Player> = WAYS
        .into_iter()
        .map(|way| Player {
            name: way.name,
            lines: ways::lines_of_code(way.source),
            play: (way.play)(),
            calls: 0,
            times: Vec::with_capacity(1 << 20),
            cpu: Duration::ZERO,
        })
        .collect();
    for player in &mut players {
        (0..WARM_UP_ROUNDS).for_each(|_| player.play.round(&mut Vec::new()));
    }
    for round in 0..rounds {
        // Another one begins each time, so that nobody always comes after the same.
        let turn = round % players.len();
        players.rotate_left(turn);
        players.iter_mut().for_each(Player::play_round);
        players.rotate_right(turn);
    }
    players.iter_mut().for_each(Player::count_calls);
    let sums: Vec<u64> = players.iter().map(|player| player.play.sum()).collect();
    assert!(sums[1..].iter().all(|sum| *sum == sums[1]), "{sums:?}");
    print(&mut players, rounds);
}

/// One way, and what was measured.
struct Player {
    name: &'static str,
    lines: usize,
    play: Box<dyn Play>,
    /// Calls of the allocator in the counted rounds.
    calls: u64,
    times: Vec<Duration>,
    cpu: Duration,
}

impl Player {
    fn play_round(&mut self) {
        let before = cpu_time();
        self.play.round(&mut self.times);
        self.cpu += cpu_time() - before;
    }

    /// Counts calls, after the times were taken: a counter of all threads is slow for those who allocate.
    fn count_calls(&mut self) {
        let mut times = Vec::with_capacity(1 << 20);
        let count = || (0..COUNTED_ROUNDS).for_each(|_| self.play.round(&mut times));
        self.calls = requests_of(count).calls;
    }
}

fn print(players: &mut [Player], rounds: usize) {
    let trips = (rounds * CHUNKS) as f64;
    println!(
        "| memory of the tasks | allocator calls each | peak, MiB | frames: p50 µs | p99 µs | CPU µs each | lines |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for player in players {
        player.times.sort_unstable();
        let percentile = |part: usize| {
            let time = player.times[(player.times.len() - 1) * part / 100];
            time.as_secs_f64() * 1e6
        };
        println!(
            "| {} | {:.2} | {:.1} | {:.0} | {:.0} | {:.0} | {} |",
            player.name,
            player.calls as f64 / (COUNTED_ROUNDS * CHUNKS) as f64,
            peak_mib(player.name),
            percentile(50),
            percentile(99),
            player.cpu.as_secs_f64() * 1e6 / trips,
            player.lines,
        );
    }
    println!(
        "\n{trips} tasks of each way, {THREADS} threads. Each: one task, with Bevy's part. Peak: resident memory of a process \
         of its own,\nthe median of three. Lines: of code, in benches/tasks/ways."
    );
}

/// Returns the peak of a process that plays one way alone, the median of three.
fn peak_mib(way: &str) -> f64 {
    let program = std::env::current_exe().expect("the system tells");
    let mut peaks = [(); 3].map(|()| {
        let output = Command::new(&program).args([ALONE, way]).output();
        let output = output.expect("the program can be started");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse::<f64>().expect("it prints a number") / 1024.0
    });
    peaks.sort_by(f64::total_cmp);
    peaks[1]
}
