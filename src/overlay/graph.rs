//! The figures of the last seconds, and their graph.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use bevy_color::Color;
use bevy_ui::prelude::*;

use super::FrameArenaOverlayConfig;
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
    seen: Seen,
    /// The number of periods that had ended at the last update.
    shown_periods: u64,
    /// The last problem of each kind, and its age in slots.
    problems: BTreeMap<Kind, (Problem, usize)>,
}

impl History {
    /// Records the new figures, if there are any.
    pub(super) fn note(&mut self, report: &ArenaReport) {
        let Some(news) = self.seen.look(report) else {
            return;
        };
        self.open.merge(&news.figures);
        let known = &self.problems;
        let is_wanted = |kind: Kind| {
            // Other kinds are not of the last seconds, and have no room. The first one of a slot is kept.
            kind <= Kind::NearLimit && known.get(&kind).is_none_or(|(_, age)| *age > 0)
        };
        for problem in problems_in(&news, report, is_wanted) {
            self.problems.insert(problem.kind, (problem, 0));
        }
    }

    /// Ends a slot.
    pub(super) fn end_slot(&mut self) {
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(mem::take(&mut self.open));
        self.problems.retain(|_, (_, age)| {
            *age += 1;
            *age <= SLOTS
        });
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

    /// Returns the last problem of each kind.
    pub(super) fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.problems.values().map(|(problem, _)| problem)
    }
}

/// Returns the time that all slots cover.
pub(super) fn seconds(config: &FrameArenaOverlayConfig) -> f32 {
    config.refresh_interval.as_secs_f32() * SLOTS as f32
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
    painter.group("graph", row, Color::NONE, |row| {
        let axis = Node {
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::SpaceBetween,
            height: Val::Percent(100.0),
            ..Node::default()
        };
        row.group("axis", axis, Color::NONE, |axis| {
            axis.line("graph/top", AXIS_LETTERS, FAINT_TEXT, Some(Bytes(scale)));
            axis.free_text("caption", FAINT_TEXT, "0");
        });
        let plot = Node {
            align_items: AlignItems::End,
            width: row.px(WIDTH_EM - AXIS_LETTERS * LETTER_EM),
            height: Val::Percent(100.0),
            ..Node::default()
        };
        row.group("plot", plot, TRACK, |plot| {
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
        let start = format_args!("{:.0} s ago", seconds(row.config));
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
    let used = Node {
        width: Val::Percent(100.0),
        height: Val::Percent(percent(slot.used_bytes, slot.peak_bytes)),
        ..Node::default()
    };
    let name = format_args!("graph/{column}");
    plot.group(format_args!("{name}/peak"), peak, Color::NONE, |peak| {
        peak.part(format_args!("{name}/used"), used, USED);
    });
}
