//! Instruction counts of one out-of-line call each, by callgrind.
//!
//! `cargo bench -p frame_arena_benches --bench instructions` prints the table. With `-- --check` it fails if ours has
//! grown beyond what is recorded in `limits.rs`. The counts are exact on any machine, however
//! noisy, of one architecture and compiler.

mod blocks;
#[path = "../common/callgrind.rs"]
mod callgrind;
mod cases;
#[path = "../common/objects.rs"]
mod containers;
#[path = "../common/contender.rs"]
mod contender;
mod counts;
#[path = "../common/freeing.rs"]
mod freeing;
#[path = "../common/heap.rs"]
mod heap;
#[path = "../common/limit.rs"]
mod limit;
mod limits;
mod lookups;
mod objects;
mod schedule;
mod temporaries;

use std::fmt;
use std::process::ExitCode;

/// The argument with which the program runs itself under callgrind.
const MEASURED: &str = "--measured";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has(MEASURED) {
        cases::run_all();
        lookups::run_all();
        temporaries::run_all();
        schedule::run_all();
        objects::run_all();
        return ExitCode::SUCCESS;
    }
    if !has("--bench") {
        println!(
            "a benchmark: run it with `cargo bench -p frame_arena_benches --bench instructions`"
        );
        return ExitCode::SUCCESS;
    }
    let counts = match counts::run(MEASURED) {
        Ok(counts) => counts,
        Err(error) => {
            eprintln!("INSTRUCTION COUNTS NOT RUN: {error}");
            return ExitCode::FAILURE;
        }
    };
    print_table(&counts);
    if !has("--check") || limits::hold(&counts) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// One measured call, averaged over the calls made.
pub(crate) struct Count {
    pub(crate) case: String,
    pub(crate) contender: String,
    pub(crate) instructions: f64,
    pub(crate) branches: f64,
}

/// Prints what all contenders do as one table, and what few of them do as a list.
fn print_table(counts: &[Count]) {
    let unique = |name: fn(&Count) -> &str, of: &[&Count]| {
        let mut names: Vec<String> = Vec::new();
        for count in of {
            if !names.iter().any(|known| known == name(count)) {
                names.push(name(count).into());
            }
        }
        names
    };
    let is_common = |count: &&Count| {
        let limit = |other: &Count| other.case == count.case && other.contender == "bare limit";
        counts.iter().any(limit)
    };
    let (common, rest): (Vec<&Count>, Vec<&Count>) = counts.iter().partition(is_common);
    let contenders = unique(|count| &count.contender, &common);
    println!("instructions/conditional branches of one call\n");
    println!("| | {} |", contenders.join(" | "));
    println!("|---|{}", "--:|".repeat(contenders.len()));
    for case in unique(|count| &count.case, &common) {
        print!("| {case} |");
        for contender in &contenders {
            let found = common
                .iter()
                .find(|count| count.case == case && count.contender == *contender);
            print!(
                " {} |",
                found.map_or(String::new(), |count| count.to_string())
            );
        }
        println!();
    }
    println!();
    for count in rest {
        println!("- {}, {}: {count}", count.case, count.contender);
    }
    println!();
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |number: f64| match number {
            number if number.fract() == 0.0 => 0,
            number if number < 20.0 => 2,
            _ => 0,
        };
        let (instructions, branches) = (self.instructions, self.branches);
        write!(
            f,
            "{instructions:.*}/{branches:.*}",
            digits(instructions),
            if digits(instructions) == 0 { 0 } else { 1 }
        )
    }
}
