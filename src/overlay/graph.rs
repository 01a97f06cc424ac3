//! The graph of the last seconds.
#![forbid(unsafe_code)]

use std::time::Duration;

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ecs::name::Name;
use bevy_ui::prelude::{AlignItems, BorderColor, FlexDirection, JustifyContent, Node, UiRect, Val};

use super::history::{History, SLOTS};
use super::painter::{Painter, percent};
use super::parts::{Builder, FAINT_TEXT, LETTER_EM, LINE_EM, PEAK, TRACK, USED, WIDTH_EM};
use crate::app::Bytes;

const HEIGHT_EM: f32 = 4.0;

/// Letters of the axis on the left: `1023 KiB`.
const AXIS_LETTERS: f32 = 9.0;

/// A column for each slot of the history: as high as the most that was in use when one of its
/// frames ended, below a line for the highest peak.
pub(super) struct Graph {
    top: Entity,
    start: Entity,
    columns: Vec<Column>,
}

struct Column {
    peak: Entity,
    used: Entity,
}

impl Graph {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, prefix: &str) -> Self {
        let row = builder.row(block, HEIGHT_EM);
        let axis = Node {
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::SpaceBetween,
            height: Val::Percent(100.0),
            ..Node::default()
        };
        let axis = builder.node(row, axis, Color::NONE);
        let top = builder.text(axis, format!("{prefix}/graph/top"), AXIS_LETTERS);
        builder.caption(axis, "0", FAINT_TEXT);
        let plot = Node {
            width: builder.px(WIDTH_EM - AXIS_LETTERS * LETTER_EM),
            height: Val::Percent(100.0),
            align_items: AlignItems::End,
            ..Node::default()
        };
        let plot = builder.node(row, plot, TRACK);
        let columns = (0..SLOTS).map(|slot| Column::spawn(builder, plot, prefix, slot));
        let columns = columns.collect();

        let row = builder.row(block, LINE_EM);
        let start = builder.text(row, format!("{prefix}/graph/start"), AXIS_LETTERS + 3.0);
        builder.caption(row, "columns: used, lines: peak", FAINT_TEXT);
        builder.caption(row, "now", FAINT_TEXT);
        Self {
            top,
            start,
            columns,
        }
    }

    pub(super) fn draw(&self, painter: &mut Painter, history: &History, interval: Duration) {
        let scale = history.highest_bytes().next_power_of_two().max(1024);
        painter.text(self.top, Bytes(scale));
        let seconds = interval.as_secs_f32() * SLOTS as f32;
        painter.text(self.start, format_args!("{seconds:.0} s ago"));
        painter.text_color(self.start, FAINT_TEXT);
        for (column, slot) in self.columns.iter().zip(history.slots()) {
            painter.height(column.peak, percent(slot.figures.peak_bytes, scale));
            painter.height(
                column.used,
                percent(slot.figures.used_bytes, slot.figures.peak_bytes),
            );
        }
    }
}

impl Column {
    fn spawn(builder: &mut Builder, plot: Entity, prefix: &str, slot: usize) -> Self {
        let peak = Node {
            width: Val::Percent(100.0 / SLOTS as f32),
            height: Val::Percent(0.0),
            border: UiRect::top(Val::Px(1.0)),
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::End,
            ..Node::default()
        };
        let peak = builder.node(plot, peak, Color::NONE);
        builder.commands.entity(peak).insert((
            BorderColor::all(PEAK),
            Name::new(format!("{prefix}/graph/{slot}/peak")),
        ));
        let used = Node {
            width: Val::Percent(100.0),
            height: Val::Percent(0.0),
            ..Node::default()
        };
        let used = builder.node(peak, used, USED);
        let name = Name::new(format!("{prefix}/graph/{slot}/used"));
        builder.commands.entity(used).insert(name);
        Self { peak, used }
    }
}
