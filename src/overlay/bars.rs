//! The bars that show how full each worker's chunks are.
#![forbid(unsafe_code)]

use std::sync::Arc;

use bevy_color::palettes::tailwind;
use bevy_dev_tools::diagnostics_overlay::DiagnosticsOverlayStyle;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::system::{Commands, Query, Res};
use bevy_picking::Pickable;
use bevy_text::FontSize;
use bevy_ui::prelude::{
    BackgroundColor, BorderRadius, FlexDirection, JustifyContent, Node, PositionType, Text, UiRect,
    Val,
};

use super::{FINE, WARNING, format_bytes, label, percent};
use crate::{FrameArenas, WorkerUsage};

/// How long a bar stays red, in refreshes: two seconds.
const WARNING_REFRESHES: u32 = 20;

/// A bar for each worker, in the order of their names.
#[derive(Component)]
pub(super) struct WorkerBars {
    pub(super) bars: Vec<Bar>,
    max_workers: usize,
}

pub(super) struct Bar {
    pub(super) name: Arc<str>,
    /// The most that was used in a frame since the last refresh.
    used_bytes: usize,
    capacity_bytes: usize,
    /// Refreshes for which it stays red.
    warning: u32,
    row: Entity,
    pub(super) text: Entity,
    pub(super) fill: Entity,
}

impl WorkerBars {
    pub(super) fn spawn(commands: &mut Commands, panel: Entity, max_workers: usize) {
        let bars = Self {
            bars: Vec::new(),
            max_workers,
        };
        let node = Node {
            flex_direction: FlexDirection::Column,
            row_gap: Val::Px(2.0),
            ..Node::default()
        };
        commands.spawn((bars, node, Pickable::IGNORE, ChildOf(panel)));
    }
}

impl Bar {
    fn spawn(
        commands: &mut Commands,
        (bars, index): (Entity, usize),
        name: Arc<str>,
        font_size: FontSize,
    ) -> Self {
        let radius = BorderRadius::all(Val::Px(2.0));
        let row = Node {
            justify_content: JustifyContent::SpaceBetween,
            column_gap: Val::Px(8.0),
            padding: UiRect::axes(Val::Px(3.0), Val::Px(1.0)),
            border_radius: radius,
            ..Node::default()
        };
        let track = BackgroundColor(tailwind::GRAY_700.into());
        let row = commands.spawn((row, track, Pickable::IGNORE)).id();
        commands.entity(bars).insert_children(index, &[row]);

        // Behind the texts, and not in their row.
        let fill = Node {
            position_type: PositionType::Absolute,
            left: Val::ZERO,
            top: Val::ZERO,
            height: Val::Percent(100.0),
            width: Val::ZERO,
            border_radius: radius,
            ..Node::default()
        };
        let color = BackgroundColor(FINE);
        let fill = commands
            .spawn((fill, color, Pickable::IGNORE, ChildOf(row)))
            .id();
        commands.spawn((label(&*name, font_size), ChildOf(row)));
        let text = commands.spawn((label("", font_size), ChildOf(row))).id();
        Self {
            name,
            used_bytes: 0,
            capacity_bytes: 0,
            warning: 0,
            row,
            text,
            fill,
        }
    }

    /// Notes what a frame used.
    fn note(&mut self, worker: &WorkerUsage) {
        self.used_bytes = self.used_bytes.max(worker.used_bytes);
        // An idle worker has no chunks in use; the bar goes on showing those it had.
        if worker.capacity_bytes > 0 {
            self.capacity_bytes = worker.capacity_bytes;
        }
        let is_full = worker.used_bytes > worker.capacity_bytes / 10 * 9;
        if worker.overflows > 0 || is_full {
            self.warning = WARNING_REFRESHES;
        }
    }

    fn color(&self) -> BackgroundColor {
        BackgroundColor(if self.warning > 0 { WARNING } else { FINE })
    }
}

/// Notes what the last frame used: the bars show the peaks of the frames between two refreshes.
pub(super) fn note_peaks(arenas: Option<Res<FrameArenas>>, mut windows: Query<&mut WorkerBars>) {
    let Some(arenas) = arenas else { return };
    for mut window in &mut windows {
        for worker in &arenas.usage().workers {
            let mut bars = window.bars.iter_mut();
            if let Some(bar) = bars.find(|bar| bar.name == worker.name) {
                bar.note(worker);
            }
        }
    }
}

/// Draws the bars. New workers get one, as long as there is room; those that are gone lose theirs.
pub(super) fn draw(
    mut commands: Commands,
    arenas: Option<Res<FrameArenas>>,
    style: Res<DiagnosticsOverlayStyle>,
    mut windows: Query<(Entity, &mut WorkerBars)>,
    mut fills: Query<(&mut Node, &mut BackgroundColor)>,
    mut texts: Query<&mut Text>,
) {
    let Some(arenas) = arenas else { return };
    let workers = &arenas.usage().workers;
    for (entity, mut window) in &mut windows {
        let WorkerBars { bars, max_workers } = &mut *window;
        bars.retain(|bar| {
            let is_listed = workers.iter().any(|worker| worker.name == bar.name);
            if !is_listed {
                commands.entity(bar.row).despawn();
            }
            is_listed
        });
        for bar in bars.iter_mut() {
            if let Ok((mut node, mut color)) = fills.get_mut(bar.fill) {
                node.width = Val::Percent(percent(bar.used_bytes, bar.capacity_bytes));
                *color = bar.color();
            }
            if let Ok(mut text) = texts.get_mut(bar.text) {
                let used = format_bytes(bar.used_bytes);
                text.0 = format!("{used} of {}", format_bytes(bar.capacity_bytes));
            }
            bar.used_bytes = 0;
            bar.warning = bar.warning.saturating_sub(1);
        }
        for worker in workers {
            let place = bars.binary_search_by(|bar| bar.name.cmp(&worker.name));
            if let Err(index) = place
                && bars.len() < *max_workers
            {
                let name = Arc::clone(&worker.name);
                let place = (entity, index);
                let mut bar = Bar::spawn(&mut commands, place, name, style.item_font_size);
                bar.note(worker);
                bars.insert(index, bar);
            }
        }
    }
}
