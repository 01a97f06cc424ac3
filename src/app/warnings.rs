//! Logs each problem once.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tracing::warn;

use super::blame::Blame;
use super::problems::{Kind, Problem, problems_of};
use super::report::ArenaReport;

/// The most threads that are warned of by name: a game may start threads with ever new names.
const MAX_WORKERS: usize = 64;

/// Remembers what one set of arenas was warned of.
#[derive(Default)]
pub(super) struct Warnings {
    kinds: Vec<Kind>,
    workers: Vec<Arc<str>>,
}

impl Warnings {
    /// Logs what is new among the problems of the period that ended last.
    pub(super) fn warn(&mut self, report: &ArenaReport) {
        for problem in problems_of(report) {
            if self.is_new(&problem) {
                let blame = Blame {
                    kind: problem.kind(),
                    usage: &report.usage,
                };
                warn!("{}: {problem}{blame}", report.label);
            }
        }
    }

    /// Notes a problem, and returns whether it was not noted before.
    fn is_new(&mut self, problem: &Problem) -> bool {
        match problem.worker() {
            Some(worker) if self.workers.len() < MAX_WORKERS => {
                note(&mut self.workers, Arc::clone(worker))
            }
            Some(_) => false,
            None => note(&mut self.kinds, problem.kind()),
        }
    }
}

/// Adds what is not in the list, and returns whether it was not.
fn note<T: PartialEq>(list: &mut Vec<T>, item: T) -> bool {
    let is_missing = !list.contains(&item);
    if is_missing {
        list.push(item);
    }
    is_missing
}
