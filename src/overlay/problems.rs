//! The problems in words, and how to fix them.
#![forbid(unsafe_code)]

use std::fmt;

use bevy_ecs::entity::Entity;

use super::graph::History;
use super::parts::{Builder, LINE_LETTERS, Painter, WARNING_TEXT};
use super::workers::ShortName;
use crate::app::{Bytes, Limit, Problem};

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
        for &[what, cure] in &self.0 {
            let problem = problems.next();
            painter.show(what, problem.is_some());
            painter.show(cure, problem.is_some());
            if let Some(problem) = problem {
                painter.text(what, What(problem, history));
                painter.text(cure, Cure(problem));
            }
        }
    }
}

/// A problem in short; the log has the full text.
struct What<'a>(&'a Problem, &'a History);

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sum, seconds) = (self.1.sum(), self.1.seconds());
        match self.0 {
            Problem::NearLimit {
                worker,
                peak_bytes,
                limit_bytes,
            } => {
                let (peak, limit) = (Bytes(*peak_bytes), Bytes(*limit_bytes));
                let worker = ShortName::of(worker);
                write!(f, "! ABOVE 90 %: {worker} took {peak} of {limit}")
            }
            Problem::Refused { limit, .. } => {
                let (count, limit) = (sum.refusals, Limit(*limit));
                write!(f, "! REFUSED {count} in {seconds:.0} s: {limit}")
            }
            Problem::Parked { generations, .. } => {
                write!(f, "! PARKED {generations} generations: leases are held")
            }
            Problem::Stale { first, .. } => {
                write!(f, "! STALE {} panics in {seconds:.0} s", sum.stale_panics)?;
                let Some(line) = first.map(|first| first.read_at) else {
                    return Ok(());
                };
                // Only the name of the file: there is no room for its path.
                let file = line.file().rsplit(['/', '\\']).next().unwrap_or_default();
                write!(f, ", {file}:{}", line.line())
            }
        }
    }
}

/// The fix for a problem.
struct Cure<'a>(&'a Problem);

impl fmt::Display for Cure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, bytes)) = self.0.setting() {
            return write!(f, "  raise {name} to {bytes}");
        }
        f.write_str(match self.0 {
            Problem::Parked { .. } => "  drop each FrameLease when its reader is done",
            _ => "  read it with get, or share it anew each frame",
        })
    }
}
