//! All contenders side by side: `cargo bench -p frame_arena_benches --bench versus`, or `-- --quick` for a first look.
//!
//! They take turns round by round, so that noise hits all alike, and the best round of each
//! counts. What to look at are the ratios; the times are those of this machine and this minute.

#[path = "../common/contender.rs"]
mod contender;
mod growth;
#[path = "../common/heap.rs"]
mod heap;
#[path = "../common/limit.rs"]
mod limit;
mod lookups;
mod race;
mod threads;
mod workloads;

use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|it| it == growth::ONE_START) {
        growth::print_one_start(&arguments[place + 1]);
        return;
    }
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if !has("--bench") {
        println!("a benchmark: run it with `cargo bench -p frame_arena_benches --bench versus`");
        return;
    }
    let milliseconds = if has("--quick") { 400 } else { 3500 };
    let effort = race::Effort {
        per_race: Duration::from_millis(milliseconds),
    };
    println!("Nanoseconds for one operation, with its share of the frame's end.");
    workloads::run_all(effort);
    lookups::run_all(effort);
    threads::run_all(effort);
    growth::run_all(effort);
}
