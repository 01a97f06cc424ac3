//! The peak of resident memory, of processes that play one way each.

use std::process::Command;

use voxel_world::measure::peak_resident_kib;

use crate::ways::{WORKLOADS, Way, Workload};
use crate::{moving, spike, workers};

/// The argument with which the program runs itself, to measure a way alone.
pub(crate) const ALONE: &str = "--alone";

pub(crate) const WORKERS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Frames until every worker has had the large lists.
const FRAMES: u32 = 100;

/// The peaks of all ways of a workload, in MiB.
pub(crate) struct Table {
    pub(crate) workers: Vec<usize>,
    pub(crate) rows: Vec<(Way, Vec<f64>)>,
}

impl Table {
    /// Returns the peak of a way, if it was measured with this number of workers.
    pub(crate) fn peak(&self, way: Way, workers: usize) -> Option<f64> {
        let column = self.workers.iter().position(|it| *it == workers)?;
        let (_, row) = self.rows.iter().find(|(it, _)| *it == way)?;
        Some(row[column])
    }
}

/// Measures and prints the memory of all ways, by number of workers.
pub(crate) fn measure(workload: &Workload, is_quick: bool, is_once: bool) -> Table {
    let workers = match is_quick {
        true => vec![1, 16, 32],
        false => WORKERS.to_vec(),
    };
    let processes = if is_quick || is_once { 1 } else { 3 };
    let headings: Vec<String> = workers.iter().map(usize::to_string).collect();
    println!(
        "| {}, MiB by workers | {} |",
        workload.name,
        headings.join(" | ")
    );
    println!("|---|{}", "--:|".repeat(workers.len()));
    let mut table = Table {
        workers,
        rows: Vec::new(),
    };
    // What was computed, and how many threads took part, by number of workers.
    let mut sums = vec![None; table.workers.len()];
    let mut parts = vec![0.0; table.workers.len()];
    for way in Way::ALL {
        let mut row = Vec::new();
        for (column, workers) in table.workers.iter().enumerate() {
            let task = format!("{}/{}/{workers}", workload.name, way.name());
            let mut runs: Vec<Option<Run>> = (0..processes).map(|_| run(&task)).collect();
            if runs.iter().all(Option::is_none) {
                break;
            }
            runs.sort_by(|a, b| peak(a).total_cmp(&peak(b)));
            let median = runs[runs.len() / 2]
                .as_ref()
                .expect("the way can be played");
            row.push(median.peak_mib);
            if way != Way::Nothing {
                let sum = *sums[column].get_or_insert(median.sum);
                assert_eq!(median.sum, sum, "{task} computed something else");
                parts[column] = median.took_part;
            }
        }
        if row.is_empty() {
            continue;
        }
        let cells: Vec<String> = row.iter().map(|mib| format!("{mib:.1}")).collect();
        println!("| {} | {} |", way.name(), cells.join(" | "));
        table.rows.push((way, row));
    }
    if parts.iter().any(|part| *part > 0.0) {
        let parts: Vec<String> = parts.iter().map(|it| format!("{it:.1}")).collect();
        println!(
            "| threads that took part in a frame | {} |",
            parts.join(" | ")
        );
    }
    println!();
    table
}

/// What a process reports.
struct Run {
    peak_mib: f64,
    took_part: f64,
    sum: u64,
}

fn peak(run: &Option<Run>) -> f64 {
    run.as_ref().map_or(f64::MAX, |run| run.peak_mib)
}

fn run(task: &str) -> Option<Run> {
    let numbers = ask(task);
    let [peak_kib, took_part, sum] = numbers.try_into().ok()?;
    Some(Run {
        peak_mib: peak_kib.parse::<f64>().ok()? / 1024.0,
        took_part: took_part.parse().ok()?,
        sum: sum.parse().ok()?,
    })
}

/// Runs a task in a process of its own, and returns the words that it prints.
pub(crate) fn ask(task: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("the system tells");
    let output = Command::new(program).args([ALONE, task]).output();
    let output = output.expect("the program can be started");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{task}: {error}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Plays what the task names, and prints its figures. What can't be written in a way prints nothing.
pub(crate) fn run_alone(task: &str) {
    let words: Vec<&str> = task.split('/').collect();
    let [workload, way, number] = words[..] else {
        panic!("a task is `workload/way/number`: {task}");
    };
    match workload {
        "spike" => return spike::run_alone(way),
        "moving" => return moving::run_alone(way, number.parse().expect("a number of threads")),
        _ => {}
    }
    workers::start(number.parse().expect("a number of workers"));
    let workload = WORKLOADS.iter().find(|it| it.name == workload);
    let workload = workload.expect("a workload of this name");
    let way = Way::ALL.into_iter().find(|it| it.name() == way);
    let Some(mut app) = (workload.app)(way.expect("a way of this name")) else {
        return;
    };
    let mut took_part = 0;
    for _ in 0..FRAMES {
        app.update();
        took_part += workers::took_part();
    }
    let peak_kib = peak_resident_kib().expect("the system tells: this takes Linux");
    let took_part = f64::from(took_part) / f64::from(FRAMES);
    println!("{peak_kib} {took_part} {}", (workload.sum)(app.world()));
}
