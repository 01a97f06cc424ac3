//! What the program is asked to do.

use std::path::PathBuf;

use voxel_world::game::Load;
use voxel_world::ways::Way;

pub(crate) const HELP: &str = "\
A voxel world whose frames are computed with memory managed in four ways.

cargo run --release -p voxel_world -- [OPTIONS]

  --memory heap|local|herd|arena|all   which ways take part [all]
  --rounds N                           rounds, in each of which every way plays 40 frames [12]
  --tasks                              chunks are meshed in tasks, not while a frame waits
  --plot FILE.svg                      draw the frame times, and the use of the arenas
  --help                               print this text";

/// The work of one process.
pub(crate) enum Task {
    Compare(Comparison),
    /// Play one way alone, and print how much memory the process needed. For the report.
    MeasureMemory(Way, Load),
    /// Play one way on one thread, and print what its systems ask of the allocator.
    CountRequests(Way, Load),
    Help,
}

pub(crate) struct Comparison {
    pub(crate) ways: Vec<Way>,
    pub(crate) rounds: usize,
    pub(crate) load: Load,
    pub(crate) plot: Option<PathBuf>,
}

pub(crate) const TASKS: &str = "--tasks";
pub(crate) const MEASURE_MEMORY: &str = "--measure-memory";
pub(crate) const COUNT_REQUESTS: &str = "--count-requests";

/// Reads the arguments of the command line.
pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut comparison = Comparison {
        ways: Way::ALL.to_vec(),
        rounds: 12,
        load: Load::default(),
        plot: None,
    };
    while let Some(argument) = arguments.next() {
        if argument == "--help" {
            return Ok(Task::Help);
        }
        if argument == TASKS {
            comparison.load.meshes_in_tasks = true;
            continue;
        }
        let value = arguments.next();
        let value = value.ok_or_else(|| format!("{argument} needs a value, or is unknown"))?;
        match argument.as_str() {
            "--memory" if value == "all" => {}
            "--memory" => comparison.ways = vec![way(&value)?],
            "--rounds" => {
                let rounds = value.parse().ok().filter(|rounds| *rounds > 0);
                comparison.rounds = rounds.ok_or("--rounds needs a number")?;
            }
            "--plot" => comparison.plot = Some(value.into()),
            MEASURE_MEMORY => return Ok(Task::MeasureMemory(way(&value)?, comparison.load)),
            COUNT_REQUESTS => return Ok(Task::CountRequests(way(&value)?, comparison.load)),
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    Ok(Task::Compare(comparison))
}

fn way(name: &str) -> Result<Way, String> {
    let way = Way::ALL.into_iter().find(|way| way.name() == name);
    way.ok_or_else(|| format!("unknown memory {name}: one of heap, local, herd, arena, all"))
}
