//! What is printed at the end: a table, and a verdict.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use crate::arguments::{COUNT_REQUESTS, MEASURE_MEMORY, TASKS};
use voxel_world::game::Load;
use voxel_world::measure::Player;
use voxel_world::ways::Way;

/// The figures of one way.
pub(crate) struct Figures {
    way: Way,
    /// In milliseconds.
    p50: f64,
    p99: f64,
    max: f64,
    deviation: f64,
    cpu: Option<f64>,
    /// The median of each round.
    medians: Vec<f64>,
    /// Calls and bytes in one hundred frames.
    requests: Option<[f64; 2]>,
    peak_resident_mib: Option<f64>,
}

impl Figures {
    pub(crate) fn new(player: &Player, load: &Load) -> Self {
        let times = player.sorted_times();
        let millis: Vec<f64> = times.iter().copied().map(milliseconds).collect();
        let mean = millis.iter().sum::<f64>() / millis.len() as f64;
        let squares = millis.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
        let cpu: Duration = player.cpu.iter().sum();
        let medians = player.rounds.iter().map(|round| {
            let mut round = round.clone();
            round.sort_unstable();
            milliseconds(round[round.len() / 2])
        });
        Self {
            way: player.way,
            p50: percentile(&millis, 0.5),
            p99: percentile(&millis, 0.99),
            max: percentile(&millis, 1.0),
            deviation: (squares / millis.len() as f64).sqrt(),
            cpu: (!player.cpu.is_empty()).then(|| milliseconds(cpu) / millis.len() as f64),
            medians: medians.collect(),
            requests: ask_child(COUNT_REQUESTS, player.way, load),
            peak_resident_mib: ask_child(MEASURE_MEMORY, player.way, load)
                .map(|[kib]| kib / 1024.0),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn percentile(sorted: &[f64], part: f64) -> f64 {
    sorted[(part * (sorted.len() - 1) as f64).round() as usize]
}

/// Runs one way in a process of its own, and returns the numbers that it prints.
fn ask_child<const N: usize>(option: &str, way: Way, load: &Load) -> Option<[f64; N]> {
    let program = std::env::current_exe().ok()?;
    let tasks = load.meshes_in_tasks.then_some(TASKS);
    let arguments = tasks.into_iter().chain([option, way.name()]);
    let output = Command::new(program).args(arguments).output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    numbers.try_into().ok()
}

/// Writes the table and the verdict.
pub(crate) fn write(figures: &[Figures], load: &Load) -> String {
    let mut text = String::new();
    write_table(figures, &mut text).expect("a string takes all text");
    if load.meshes_in_tasks {
        text += "Chunks are meshed in tasks: Bevy's call for each of them is among the calls.\n";
    }
    if let Some(verdict) = verdict(figures) {
        text += &verdict;
    }
    text
}

fn write_table(figures: &[Figures], text: &mut String) -> std::fmt::Result {
    writeln!(
        text,
        "| memory |                                   | p50 ms | p99 ms | max ms | deviation | CPU ms \
         |   calls | KiB asked | peak MiB | lines |"
    )?;
    writeln!(text, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    let or_unknown = |number: Option<f64>, digits: usize| {
        number.map_or("?".into(), |number| format!("{number:.digits$}"))
    };
    for it in figures {
        let [calls, bytes] = [0, 1].map(|n| it.requests.map(|all| all[n] / 100.0));
        writeln!(
            text,
            "| {:<6} | {:<33} | {:>6.2} | {:>6.2} | {:>6.2} | {:>9.2} | {:>6} | {:>7} | {:>9} | {:>8} | {:>5} |",
            it.way.name(),
            it.way.description(),
            it.p50,
            it.p99,
            it.max,
            it.deviation,
            or_unknown(it.cpu, 2),
            or_unknown(calls, 2),
            or_unknown(bytes.map(|bytes| bytes / 1024.0), 1),
            or_unknown(it.peak_resident_mib, 1),
            it.way.lines_of_code(),
        )?;
    }
    writeln!(
        text,
        "\nOne frame each. CPU: on all threads. Calls and KiB: what the systems ask of the global \
         allocator\nin a warm frame; one call in 100 frames is the task of a path search, which is \
         Bevy's. Peak: resident\nmemory of a process that plays this way alone. Lines: of code, in \
         examples/voxel_world/src/ways."
    )
}

fn verdict(figures: &[Figures]) -> Option<String> {
    let of = |way: Way| figures.iter().find(|it| it.way == way);
    let (heap, local, arena) = (of(Way::Heap)?, of(Way::Local)?, of(Way::Arena)?);
    let against_heap = match (arena.p50 < heap.p50, arena.p99 < heap.p99) {
        (true, true) => "ahead of the heap",
        (false, false) => "behind the heap",
        _ => "not clearly ahead of the heap",
    };
    // The ratio of each round: what is noise, and what is not.
    let mut ratios: Vec<f64> = (arena.medians.iter().zip(&local.medians))
        .map(|(arena, local)| arena / local)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| percentile(&ratios, part));
    let against_local = match (low > 1.0, high < 1.0) {
        (true, _) => "behind",
        (_, true) => "ahead of",
        _ => "level with",
    };
    let mut text = format!(
        "\nVerdict: the arenas are {against_heap}, with {:.2} of its time at p50 and {:.2} at p99,\n\
         and {against_local} reused buffers, with {middle:.2} of their time at p50 (half of the \
         rounds: {low:.2} to {high:.2})",
        arena.p50 / heap.p50,
        arena.p99 / heap.p99,
    );
    if let Some((arena, local)) = arena.peak_resident_mib.zip(local.peak_resident_mib) {
        write!(text, "\nand {:.2} of their memory", arena / local).ok()?;
    }
    Some(text + ".\n")
}
