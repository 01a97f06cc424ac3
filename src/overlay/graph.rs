//! The figures of the last seconds, and their graph.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use bevy_color::Color;
use bevy_ui::prelude::{AlignItems, FlexDirection, JustifyContent, Node, Overflow, UiRect, Val};

use super::parts::{FAINT_TEXT, LETTER_EM, Painter, TRACK, USED, WIDTH_EM, percent};
use crate::app::{ArenaReport, Bytes, Kind, Problem, Seen, problems_in};
use crate::figures::Figures;

/// The number of slots kept, and of columns in the graph.
const SLOTS: usize = 60;

/// The last seconds of one set of arenas. A slot covers the time between two updates: it has the highest
/// bytes of its frames, and their counts.
#[derive(Default)]
pub(super) struct History {
    slots: VecDeque<Figures>,
    /// The slot that is being filled.
    open: Figures,
    /// The time that a slot covers.
    interval: Duration,
    seen: Seen,
    /// The number of periods that had ended at the last update.
    shown_periods: u64,
    /// The last problem of each kind, and its age in slots.
    problems: Vec<(Problem, usize)>,
}

impl History {
    /// Creates a history that starts now.
    pub(super) fn since(report: &ArenaReport) -> Self {
        let mut history = Self::default();
        history.seen.look(report);
        history
    }

    /// Records the new figures, if there are any.
    pub(super) fn note(&mut self, report: &ArenaReport) {
        let Some(news) = self.seen.look(report) else {
            return;
        };
        self.open.merge(&news.figures);
        // Other kinds are not of the last seconds, and have no room.
        let known = &self.problems;
        let is_wanted = |kind: Kind| {
            let is_in_slot = known.iter().any(|(it, age)| it.kind == kind && *age == 0);
            kind <= Kind::NearLimit && !is_in_slot
        };
        for problem in problems_in(&news, report, is_wanted) {
            let mut known = self.problems.iter_mut();
            match known.find(|(it, _)| it.kind == problem.kind) {
                // The first one of a slot is kept.
                Some((_, 0)) => {}
                Some(known) => *known = (problem, 0),
                None => self.problems.push((problem, 0)),
            }
        }
        self.problems.sort_by_key(|(problem, _)| problem.kind);
    }

    /// Ends a slot.
    pub(super) fn end_slot(&mut self, interval: Duration) {
        self.interval = interval;
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(mem::take(&mut self.open));
        for (_, age) in &mut self.problems {
            *age += 1;
        }
        self.problems.retain(|(_, age)| *age <= SLOTS);
    }

    /// Returns whether the running period is to be shown: it has used memory, and none has ended since the last
    /// call.
    pub(super) fn is_running(&mut self, report: &ArenaReport) -> bool {
        let shown = mem::replace(&mut self.shown_periods, report.periods);
        shown == report.periods && report.is_running()
    }

    /// Returns the highest bytes and the counts of all slots.
    pub(super) fn sum(&self) -> Figures {
        let mut sum = Figures::default();
        self.slots.iter().for_each(|slot| sum.merge(slot));
        sum
    }

    /// Returns the time that all slots cover.
    pub(super) fn seconds(&self) -> f32 {
        self.interval.as_secs_f32() * SLOTS as f32
    }

    /// Returns the last problem of each kind.
    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().map(|(problem, _)| problem)
    }
}

const HEIGHT_EM: f32 = 4.0;

/// Letters of the axis on the left: `1023 KiB`.
const AXIS_LETTERS: f32 = 9.0;

/// Describes a column for each slot of the history. Its height is the highest use at the end of any of its
/// frames. A line above it marks the highest peak.
pub(super) fn draw(painter: &mut Painter, history: &History) {
    let scale = history.sum().peak_bytes.next_power_of_two().max(1024);
    // It gives way if the screen is too low.
    let row = Node {
        flex_shrink: 1.0,
        min_height: Val::ZERO,
        justify_content: JustifyContent::SpaceBetween,
        overflow: Overflow::clip(),
        ..painter.fixed(WIDTH_EM, HEIGHT_EM)
    };
    let row = painter.part("graph", row, Color::NONE);
    painter.inside(row, |row| {
        let axis = Node {
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::SpaceBetween,
            height: Val::Percent(100.0),
            ..Node::default()
        };
        let axis = row.part("axis", axis, Color::NONE);
        row.inside(axis, |axis| {
            axis.line("graph/top", AXIS_LETTERS, FAINT_TEXT, Some(Bytes(scale)));
            axis.free_text("caption", FAINT_TEXT, "0");
        });
        let plot = Node {
            align_items: AlignItems::End,
            width: row.px(WIDTH_EM - AXIS_LETTERS * LETTER_EM),
            height: Val::Percent(100.0),
            ..Node::default()
        };
        let plot = row.part("plot", plot, TRACK);
        row.inside(plot, |plot| {
            // The newest slot is at the right.
            let empty = SLOTS - history.slots.len();
            for column in 0..SLOTS {
                let slot = column.checked_sub(empty);
                let slot = slot.map_or(Figures::default(), |slot| history.slots[slot]);
                draw_column(plot, column, &slot, scale);
            }
        });
    });
    painter.row(|row| {
        let start = format_args!("{:.0} s ago", history.seconds());
        row.line("graph/start", AXIS_LETTERS + 3.0, FAINT_TEXT, Some(start));
        row.free_text("caption", FAINT_TEXT, "columns: used, lines: peak");
        row.free_text("caption", FAINT_TEXT, "now");
    });
}

fn draw_column(plot: &mut Painter, column: usize, slot: &Figures, scale: usize) {
    let peak = Node {
        width: Val::Percent(100.0 / SLOTS as f32),
        height: Val::Percent(percent(slot.peak_bytes, scale)),
        border: UiRect::top(Val::Px(1.0)),
        flex_direction: FlexDirection::Column,
        justify_content: JustifyContent::End,
        ..Node::default()
    };
    let name = format_args!("graph/{column}/peak");
    let peak = plot.part(name, peak, Color::NONE);
    let used = Node {
        width: Val::Percent(100.0),
        height: Val::Percent(percent(slot.used_bytes, slot.peak_bytes)),
        ..Node::default()
    };
    plot.inside(peak, |peak| {
        peak.part(format_args!("graph/{column}/used"), used, USED);
    });
}
