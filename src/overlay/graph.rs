//! The figures of the last seconds, and their graph.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::time::Duration;

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ui::prelude::{
    AlignItems, BorderColor, FlexDirection, JustifyContent, Node, Overflow, UiRect, Val,
};

use super::parts::{
    Builder, FAINT_TEXT, LETTER_EM, LINE_EM, PEAK, Painter, TRACK, USED, WIDTH_EM, percent,
};
use crate::app::{ArenaReport, Bytes, Problem, Seen, problems_in};
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
        for problem in problems_in(&news, report) {
            let mut known = self.problems.iter_mut();
            match known.find(|(it, _)| it.kind() == problem.kind()) {
                // The first one of a slot is kept.
                Some((_, 0)) => {}
                Some(known) => *known = (problem, 0),
                None => self.problems.push((problem, 0)),
            }
        }
        // There is no room for all: the worst come first.
        self.problems.sort_by_key(|(problem, _)| match problem {
            Problem::Refused { .. } => 0,
            Problem::Stale { .. } => 1,
            Problem::Parked { .. } => 2,
            Problem::NearLimit { .. } => 3,
        });
    }

    /// Ends a slot.
    pub(super) fn end_slot(&mut self, interval: Duration) {
        self.interval = interval;
        if self.slots.len() == SLOTS {
            self.slots.pop_front();
        }
        self.slots.push_back(std::mem::take(&mut self.open));
        for (_, age) in &mut self.problems {
            *age += 1;
        }
        self.problems.retain(|(_, age)| *age <= SLOTS);
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

/// A column for each slot of the history. Its height is the highest use at the end of any of its frames.
/// A line above it marks the highest peak.
pub(super) struct Graph {
    top: Entity,
    start: Entity,
    /// For each slot, the line of the peak, and the column of the use inside of it.
    columns: Vec<[Entity; 2]>,
}

impl Graph {
    pub(super) fn spawn(builder: &mut Builder, block: Entity) -> Self {
        // It gives way if the screen is too low.
        let row = Node {
            flex_shrink: 1.0,
            min_height: Val::ZERO,
            justify_content: JustifyContent::SpaceBetween,
            overflow: Overflow::clip(),
            ..builder.fixed(WIDTH_EM, HEIGHT_EM)
        };
        let row = builder.node(block, row, Color::NONE);
        let axis = Node {
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::SpaceBetween,
            height: Val::Percent(100.0),
            ..Node::default()
        };
        let axis = builder.node(row, axis, Color::NONE);
        let top = builder.text(axis, "graph/top", AXIS_LETTERS, FAINT_TEXT);
        builder.caption(axis, "0", FAINT_TEXT);
        let plot = Node {
            align_items: AlignItems::End,
            width: builder.px(WIDTH_EM - AXIS_LETTERS * LETTER_EM),
            height: Val::Percent(100.0),
            ..Node::default()
        };
        let plot = builder.node(row, plot, TRACK);
        let columns = (0..SLOTS).map(|slot| spawn_column(builder, plot, slot));
        let columns = columns.collect();
        let row = builder.row(block, LINE_EM);
        let start = builder.text(row, "graph/start", AXIS_LETTERS + 3.0, FAINT_TEXT);
        builder.caption(row, "columns: used, lines: peak", FAINT_TEXT);
        builder.caption(row, "now", FAINT_TEXT);
        Self {
            top,
            start,
            columns,
        }
    }

    pub(super) fn draw(&self, painter: &mut Painter, history: &History) {
        let scale = history.sum().peak_bytes.next_power_of_two().max(1024);
        painter.text(self.top, Bytes(scale));
        painter.text(self.start, format_args!("{:.0} s ago", history.seconds()));
        // The newest slot is at the right.
        let slots = history.slots.iter().rev();
        for (&[peak, used], slot) in self.columns.iter().rev().zip(slots) {
            painter.height(peak, percent(slot.peak_bytes, scale));
            painter.height(used, percent(slot.used_bytes, slot.peak_bytes));
        }
    }
}

fn spawn_column(builder: &mut Builder, plot: Entity, slot: usize) -> [Entity; 2] {
    let peak = Node {
        width: Val::Percent(100.0 / SLOTS as f32),
        height: Val::Percent(0.0),
        border: UiRect::top(Val::Px(1.0)),
        flex_direction: FlexDirection::Column,
        justify_content: JustifyContent::End,
        ..Node::default()
    };
    let peak = builder.named(plot, &format!("graph/{slot}/peak"), peak, Color::NONE);
    let line = BorderColor::all(PEAK);
    builder.commands.entity(peak).insert(line);
    let used = Node {
        width: Val::Percent(100.0),
        height: Val::Percent(0.0),
        ..Node::default()
    };
    let used = builder.named(peak, &format!("graph/{slot}/used"), used, USED);
    [peak, used]
}
