//! The problems in words, and how to fix them.
#![forbid(unsafe_code)]

use bevy_ecs::entity::Entity;

use super::graph::History;
use super::parts::{Builder, LINE_LETTERS, Painter, WARNING_TEXT};
use super::workers::ShortName;
use crate::app::{Bytes, Limit, Problem};
use crate::arenas::StaleLookup;

/// Two lines for each kind of problem of the last seconds, and no line without problems.
pub(super) struct ProblemList(Vec<[Entity; 2]>);

impl ProblemList {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, count: usize) -> Self {
        let lines = (0..count).map(|index| {
            ["what", "cure"].map(|part| {
                let name = format!("problems/{index}/{part}");
                builder.text(block, &name, LINE_LETTERS, WARNING_TEXT)
            })
        });
        Self(lines.collect())
    }

    pub(super) fn draw(&self, painter: &mut Painter, history: &History) {
        let mut problems = history.problems();
        for &[of_what, of_cure] in &self.0 {
            let problem = problems.next();
            painter.show(of_what, problem.is_some());
            painter.show(of_cure, problem.is_some());
            if let Some(problem) = problem {
                painter.text(of_what, what(problem, history));
                painter.text(of_cure, cure(problem));
            }
        }
    }
}

/// Returns a problem in short; the log has the full text.
fn what(problem: &Problem, history: &History) -> String {
    let (sum, seconds) = (history.sum(), history.seconds());
    match problem {
        Problem::NearLimit {
            worker,
            peak_bytes,
            limit_bytes,
        } => {
            let (peak, limit) = (Bytes(*peak_bytes), Bytes(*limit_bytes));
            let worker = ShortName::of(worker);
            format!("! ABOVE 90 %: {worker} took {peak} of {limit}")
        }
        Problem::Refused { limit, .. } => {
            let (count, limit) = (sum.refusals, Limit(*limit));
            format!("! REFUSED {count} in {seconds:.0} s: {limit}")
        }
        Problem::Parked { generations, .. } => {
            format!("! PARKED {generations} generations: leases are held")
        }
        Problem::Stale { first, .. } => {
            let line = first.map_or(String::new(), |StaleLookup { read_at, .. }| {
                // Only the name of the file: there is no room for its path.
                let file = read_at.file().rsplit(['/', '\\']).next();
                format!(", {}:{}", file.unwrap_or_default(), read_at.line())
            });
            format!(
                "! STALE {} panics in {seconds:.0} s{line}",
                sum.stale_panics
            )
        }
    }
}

/// Returns the fix for a problem.
fn cure(problem: &Problem) -> String {
    match (problem.setting(), problem) {
        (Some((name, bytes)), _) => format!("  raise {name} to {bytes}"),
        (None, Problem::Parked { .. }) => {
            "  drop each FrameLease when its reader is done".to_owned()
        }
        (None, _) => "  read it with get, or share it anew each frame".to_owned(),
    }
}
