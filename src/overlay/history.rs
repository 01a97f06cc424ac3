//! What the arenas did in the last seconds.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use crate::app::{ArenaReport, Problem, problems_of};
use crate::figures::Figures;

/// Slots that are remembered, and columns of the graph.
pub(super) const SLOTS: usize = 60;

/// The last seconds of one set of arenas, in slots of the time between two pictures.
#[derive(Default)]
pub(super) struct History {
    slots: VecDeque<Slot>,
    /// What was noted since the last slot ended.
    open: Slot,
    /// How many periods had ended when it was noted last.
    periods: u64,
    /// The totals before the first slot.
    before: Figures,
    /// The last problem of each kind, and the slots since.
    problems: Vec<(Problem, usize)>,
}

/// The highest figures of the frames of one slot, and the totals at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) figures: Figures,
    totals: Figures,
}

impl History {
    /// Creates a history that leaves out what happened before.
    pub(super) fn since(report: &ArenaReport) -> Self {
        let totals = report.totals;
        Self {
            before: totals,
            periods: report.periods,
            open: Slot {
                totals,
                ..Slot::default()
            },
            ..Self::default()
        }
    }

    /// Notes the figures of a frame.
    pub(super) fn note(&mut self, report: &ArenaReport) {
        if report.periods != self.periods {
            self.periods = report.periods;
            self.open.figures.merge(&report.usage.figures);
            self.open.totals = report.totals;
            for problem in problems_of(report) {
                self.note_problem(problem);
            }
        }
    }

    /// Of the problems of one kind, the last one stays; of a frame's, the first.
    fn note_problem(&mut self, problem: Problem) {
        let known = self.problems.iter_mut();
        let known = known
            .into_iter()
            .find(|(it, _)| it.kind() == problem.kind());
        match known {
            Some((_, 0)) => {}
            Some(known) => *known = (problem, 0),
            None => self.problems.push((problem, 0)),
        }
    }

    /// Ends a slot.
    pub(super) fn end_slot(&mut self) {
        if self.slots.len() == SLOTS
            && let Some(oldest) = self.slots.pop_front()
        {
            self.before = oldest.totals;
        }
        self.slots.push_back(self.open);
        self.open = Slot {
            totals: self.open.totals,
            ..Slot::default()
        };
        for (_, age) in &mut self.problems {
            *age += 1;
        }
        self.problems.retain(|(_, age)| *age <= SLOTS);
    }

    /// Returns the slots, the oldest first; those of the time before the start are empty.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        let missing = SLOTS - self.slots.len();
        std::iter::repeat_n(Slot::default(), missing).chain(self.slots.iter().copied())
    }

    /// Returns the highest peak of all slots.
    pub(super) fn highest_bytes(&self) -> usize {
        let peaks = self.slots.iter().map(|slot| slot.figures.peak_bytes);
        peaks.max().unwrap_or_default()
    }

    /// Returns what happened in all slots.
    pub(super) fn events(&self) -> Figures {
        let end = self.slots.back().map_or(self.before, |slot| slot.totals);
        end.since(&self.before)
    }

    /// Returns the last problem of each kind.
    pub(super) fn problems(&self) -> impl ExactSizeIterator<Item = &Problem> {
        self.problems.iter().map(|(problem, _)| problem)
    }
}
