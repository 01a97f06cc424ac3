//! Instructions and branches of the functions that are measured.

use std::collections::HashMap;

use crate::Count;
use crate::blocks::CHURN;
use crate::callgrind::{self, Segment, segment_ends};
use crate::cases::{FRAME, MAP, PUSH, PUSH_EXCLUSIVE, PUSH_U32};
use crate::lookups::IN_TURN;
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

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str) -> Result<Vec<Count>, String> {
    let segments = callgrind::run(argument, &["--branch-sim=yes"])?;
    segments.iter().map(read).collect()
}

fn read(segment: &Segment) -> Result<Count, String> {
    let Segment { label, text } = segment;
    let (case, contender) = label
        .split_once('\t')
        .ok_or_else(|| format!("odd label `{label}`"))?;
    let calls = f64::from(CALLS) * calls_in_one(case);
    let cost = inclusive_cost(text, MEASURED_NAME);
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

/// Some measured functions make two calls, or a thousand, of their own.
fn calls_in_one(case: &str) -> f64 {
    if case == IN_TURN {
        2.0
    } else if [FRAME, PUSH, PUSH_EXCLUSIVE, PUSH_U32, MAP, BATCH, CHURN].contains(&case) {
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
