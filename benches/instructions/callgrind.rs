//! Runs this program under callgrind and reads what it wrote.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Count;
use crate::blocks::CHURN;
use crate::cases::{FRAME, MAP, PUSH, PUSH_EXCLUSIVE, PUSH_U32};
use crate::temporaries::BATCH;

/// Calls `work` once to warm up, and then [`CALLS`] times.
///
/// What counts are the functions in it whose name contains [`MEASURED_NAME`].
pub(crate) fn segment(case: &str, contender: &str, mut work: impl FnMut()) {
    work();
    // Everything up to here, the first and slower call included, is not counted.
    segment_ends();
    for _ in 0..CALLS {
        work();
    }
    segment_ends();
    println!("{case}\t{contender}");
}

pub(crate) const CALLS: u32 = 100;

const MEASURED_NAME: &str = "measured_";

/// Callgrind writes its counters and clears them whenever this returns.
#[inline(never)]
fn segment_ends() {
    std::hint::black_box(());
}

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str) -> Result<Vec<Count>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = Folder::new()?;
    let out = folder.0.join("out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--branch-sim=yes"])
        .arg("--dump-after=*segment_ends*")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg(argument)
        .output()
        .map_err(|error| format!("valgrind did not start ({error}); is it installed?"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let labels = String::from_utf8_lossy(&output.stdout).into_owned();
    labels
        .lines()
        .enumerate()
        .map(|(index, label)| {
            // Two parts for each segment: its warm-up, then what counts.
            let part = format!("{}.{}", out.display(), 2 * index + 2);
            read_part(Path::new(&part), label)
        })
        .collect()
}

fn read_part(part: &Path, label: &str) -> Result<Count, String> {
    let text = fs::read_to_string(part).map_err(|error| format!("{}: {error}", part.display()))?;
    let (case, contender) = label
        .split_once('\t')
        .ok_or_else(|| format!("odd label `{label}`"))?;
    let calls = f64::from(CALLS) * calls_in_one(case);
    let cost = inclusive_cost(&text, MEASURED_NAME);
    if cost.instructions == 0 {
        return Err(format!("callgrind saw no call of `{label}`"));
    }
    Ok(Count {
        case: case.into(),
        contender: contender.into(),
        instructions: cost.instructions as f64 / calls,
        branches: cost.branches as f64 / calls,
    })
}

/// Some measured functions make a thousand calls of their own.
fn calls_in_one(case: &str) -> f64 {
    if [FRAME, PUSH, PUSH_EXCLUSIVE, PUSH_U32, MAP, BATCH, CHURN].contains(&case) {
        1000.0
    } else {
        1.0
    }
}

#[derive(Default)]
struct Cost {
    instructions: u64,
    branches: u64,
}

/// Sums the cost of the functions whose name contains `name`, with all that they called.
fn inclusive_cost(text: &str, name: &str) -> Cost {
    let mut names = HashMap::new();
    let mut inside = false;
    let mut sum = Cost::default();
    // The events are in the order `Ir Bc Bcm Bi Bim`; zeros at the end are left out.
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            inside = resolve(&mut names, function).contains(name);
        } else if let Some(function) = line.strip_prefix("cfn=") {
            resolve(&mut names, function);
        } else if inside && line.starts_with(|first: char| "+-*0123456789".contains(first)) {
            let mut costs = line.split(' ').skip(1).map_while(|cost| cost.parse().ok());
            sum.instructions += costs.next().unwrap_or(0);
            sum.branches += costs.next().unwrap_or(0);
        }
    }
    sum
}

/// Names are written once, as `(7) name`, and then as `(7)`.
fn resolve<'a>(names: &mut HashMap<&'a str, &'a str>, function: &'a str) -> &'a str {
    match function.split_once(' ') {
        Some((id, name)) => {
            names.insert(id, name);
            name
        }
        None => names.get(function).copied().unwrap_or(function),
    }
}

/// A folder that is removed with all it holds.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("instructions-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What can't be removed is left to the system's own cleaning.
        drop(fs::remove_dir_all(&self.0));
    }
}
