//! Logs each problem once.
#![forbid(unsafe_code)]

use std::sync::Arc;

use tracing::warn;

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
                warn!("{}: {problem}", report.label);
            }
        }
    }

    fn is_new(&mut self, problem: &Problem) -> bool {
        let Some(worker) = problem.worker() else {
            let is_new = !self.kinds.contains(&problem.kind());
            if is_new {
                self.kinds.push(problem.kind());
            }
            return is_new;
        };
        let is_new = self.workers.len() < MAX_WORKERS && !self.workers.contains(worker);
        if is_new {
            self.workers.push(Arc::clone(worker));
        }
        is_new
    }
}
