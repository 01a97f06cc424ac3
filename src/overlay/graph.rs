//! The graph of the memory used in the last seconds.
#![forbid(unsafe_code)]

use alloc::collections::VecDeque;

use bevy_color::palettes::tailwind;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::system::{Commands, Query, Res};
use bevy_picking::Pickable;
use bevy_text::FontSize;
use bevy_ui::prelude::{
    AlignItems, BackgroundColor, BorderColor, FlexDirection, JustifyContent, Node, Text, UiRect,
    Val,
};

use super::{FINE, WARNING, format_bytes, label, percent};
use crate::FrameArenas;

/// Columns of the graph: six seconds of them.
pub(super) const COLUMNS: usize = 60;

const HEIGHT: f32 = 40.0;

/// A column for each tenth of a second, as high as the most memory used in it. A line above it
/// shows the high watermark of that time.
#[derive(Component)]
pub(super) struct UsageGraph {
    samples: VecDeque<Sample>,
    /// What was noted since the last one.
    next: Sample,
    pub(super) columns: Vec<Column>,
    pub(super) caption: Entity,
}

#[derive(Clone, Copy, Default)]
struct Sample {
    used_bytes: usize,
    high_watermark_bytes: usize,
    overflowed: bool,
}

pub(super) struct Column {
    watermark: Entity,
    pub(super) used: Entity,
}

impl UsageGraph {
    pub(super) fn spawn(commands: &mut Commands, panel: Entity, font_size: FontSize) {
        let caption = commands.spawn((label("", font_size), ChildOf(panel))).id();
        let frame = Node {
            height: Val::Px(HEIGHT),
            align_items: AlignItems::End,
            column_gap: Val::Px(1.0),
            ..Node::default()
        };
        let graph = commands
            .spawn((frame, Pickable::IGNORE, ChildOf(panel)))
            .id();
        let columns = (0..COLUMNS)
            .map(|_| Column::spawn(commands, graph))
            .collect();
        commands.entity(graph).insert(Self {
            samples: VecDeque::with_capacity(COLUMNS),
            next: Sample::default(),
            columns,
            caption,
        });
    }

    /// Returns the sample of each column; those of the time before the window opened are empty.
    fn samples(&self) -> impl Iterator<Item = Sample> {
        let missing = COLUMNS - self.samples.len();
        std::iter::repeat_n(Sample::default(), missing).chain(self.samples.iter().copied())
    }
}

impl Column {
    fn spawn(commands: &mut Commands, graph: Entity) -> Self {
        let watermark = Node {
            width: Val::Px(3.0),
            flex_grow: 1.0,
            height: Val::ZERO,
            border: UiRect::top(Val::Px(1.0)),
            flex_direction: FlexDirection::Column,
            justify_content: JustifyContent::End,
            ..Node::default()
        };
        let line = BorderColor::all(tailwind::AMBER_300);
        let watermark = commands
            .spawn((watermark, line, Pickable::IGNORE, ChildOf(graph)))
            .id();
        let used = Node {
            height: Val::ZERO,
            ..Node::default()
        };
        let used = commands
            .spawn((
                used,
                BackgroundColor(FINE),
                Pickable::IGNORE,
                ChildOf(watermark),
            ))
            .id();
        Self { watermark, used }
    }
}

/// Notes what the last frame used: the graph shows the peaks of what it has no column for.
pub(super) fn note_peaks(arenas: Option<Res<FrameArenas>>, mut graphs: Query<&mut UsageGraph>) {
    let Some(arenas) = arenas else { return };
    let usage = arenas.usage();
    for mut graph in &mut graphs {
        let next = &mut graph.next;
        next.used_bytes = next.used_bytes.max(usage.used_bytes);
        next.high_watermark_bytes = usage.high_watermark_bytes;
        next.overflowed |= usage.overflows > 0;
    }
}

pub(super) fn draw(
    mut graphs: Query<&mut UsageGraph>,
    mut nodes: Query<(&mut Node, &mut BackgroundColor)>,
    mut texts: Query<&mut Text>,
) {
    for mut graph in &mut graphs {
        let next = std::mem::take(&mut graph.next);
        if graph.samples.len() == COLUMNS {
            graph.samples.pop_front();
        }
        graph.samples.push_back(next);

        let highest = graph.samples().map(|sample| sample.high_watermark_bytes);
        let scale = highest.max().unwrap_or_default();
        for (column, sample) in graph.columns.iter().zip(graph.samples()) {
            if let Ok((mut node, _)) = nodes.get_mut(column.watermark) {
                node.height = Val::Percent(percent(sample.high_watermark_bytes, scale));
            }
            if let Ok((mut node, mut color)) = nodes.get_mut(column.used) {
                let height = percent(sample.used_bytes, sample.high_watermark_bytes);
                node.height = Val::Percent(height);
                color.0 = if sample.overflowed { WARNING } else { FINE };
            }
        }
        if let Ok(mut text) = texts.get_mut(graph.caption) {
            let used = format_bytes(next.used_bytes);
            text.0 = format!("{used} used, at most {}", format_bytes(scale));
        }
    }
}
