//! A window of Bevy's diagnostics overlay, made for the arenas.
#![forbid(unsafe_code)]

mod bars;
mod graph;

use std::ops::Range;
use std::time::Duration;
use std::vec;

use bevy_app::{App, Plugin, Startup, Update};
use bevy_color::palettes::tailwind;
use bevy_color::{Alpha, Color};
use bevy_dev_tools::diagnostics_overlay::{
    DiagnosticsOverlay, DiagnosticsOverlayItem, DiagnosticsOverlayPlugin,
    DiagnosticsOverlayStatistic, DiagnosticsOverlayStyle,
};
use bevy_diagnostic::DiagnosticPath;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::query::{With, Without};
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Commands, Query, Res};
use bevy_picking::Pickable;
use bevy_text::{FontSize, TextFont};
use bevy_time::common_conditions::on_timer;
use bevy_ui::prelude::{
    BackgroundColor, BorderRadius, Display, FlexDirection, Node, Text, UiRect, Val,
};

use self::bars::WorkerBars;
use self::graph::UsageGraph;
use crate::{FrameArenaDiagnosticsPlugin, FrameArenas};

/// Opens a window "Frame arenas" in Bevy's diagnostics overlay.
///
/// It lists the figures of [`FrameArenaDiagnosticsPlugin`], and what each worker used. Below is a
/// graph of the memory used in the last six seconds under the high watermark, and a bar for each
/// worker that shows how full its chunks are. A bar turns red when an allocation did not fit, or
/// when more than 90 % are used; it stays red for two seconds.
///
/// The window can be dragged by its title, and collapsed by a click on it. The plugin adds
/// [`DiagnosticsOverlayPlugin`] if nobody else does.
///
/// Behind the feature `overlay`, which brings Bevy's renderer. That declares Rust 1.97.1; with an
/// older one, from 1.95 on, pass `--ignore-rust-version` to cargo.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayPlugin, FrameArenaPlugin};
/// use bevy_time::TimePlugin;
///
/// let mut app = App::new();
/// // In a game, `DefaultPlugins` in place of the `TimePlugin`.
/// app.add_plugins((
///     TimePlugin,
///     FrameArenaPlugin::default(),
///     FrameArenaOverlayPlugin::default(),
/// ));
/// app.finish();
/// app.update();
/// let mut windows = app.world_mut().query::<&FrameArenaOverlay>();
/// assert_eq!(windows.iter(app.world()).count(), 1);
/// ```
pub struct FrameArenaOverlayPlugin {
    /// Where the window opens: logical pixels from the left edge of the screen.
    pub left: f32,
    /// Where the window opens: logical pixels from the upper edge of the screen.
    pub top: f32,
    /// The most workers to list. Default: 16.
    pub max_workers: usize,
    /// Diagnostics to list as well: `render_arena/used`, for one, of
    /// [`FrameArenaSubAppPlugin`](crate::FrameArenaSubAppPlugin).
    pub more_items: Vec<DiagnosticsOverlayItem>,
}

impl Default for FrameArenaOverlayPlugin {
    fn default() -> Self {
        Self {
            left: 32.0,
            top: 32.0,
            max_workers: 16,
            more_items: Vec::new(),
        }
    }
}

/// Marks the window that [`FrameArenaOverlayPlugin`] opened; despawn it to close it.
#[derive(Component, Debug)]
pub struct FrameArenaOverlay {
    /// The places in the list that are for workers.
    worker_places: Range<usize>,
}

impl FrameArenaOverlay {
    /// Returns the list that the window starts with, for an overlay of your own.
    ///
    /// ```
    /// use bevy_dev_tools::diagnostics_overlay::DiagnosticsOverlay;
    /// use bevy_frame_arena::FrameArenaOverlay;
    ///
    /// let overlay = DiagnosticsOverlay::new("My game", FrameArenaOverlay::items());
    /// assert_eq!(overlay.items.len(), 6);
    /// ```
    pub fn items() -> Vec<DiagnosticsOverlayItem> {
        vec![
            memory(FrameArenaDiagnosticsPlugin::USED),
            memory(FrameArenaDiagnosticsPlugin::HIGH_WATERMARK),
            memory(FrameArenaDiagnosticsPlugin::RESERVED),
            count(FrameArenaDiagnosticsPlugin::WORKERS),
            count(FrameArenaDiagnosticsPlugin::OVERFLOWS),
            count(FrameArenaDiagnosticsPlugin::PARKED),
        ]
    }
}

impl Plugin for FrameArenaOverlayPlugin {
    fn build(&self, app: &mut App) {
        let (left, top, max_workers) = (self.left, self.top, self.max_workers);
        let mut items = FrameArenaOverlay::items();
        items.extend(self.more_items.iter().cloned());
        let open = move |commands: Commands, style: Res<DiagnosticsOverlayStyle>| {
            open_window(commands, style, items.clone(), max_workers, (left, top));
        };
        app.init_resource::<DiagnosticsOverlayStyle>();
        app.add_systems(Startup, open).add_systems(
            Update,
            (
                (graph::note_peaks, bars::note_peaks),
                (list_workers, graph::draw, bars::draw).run_if(on_timer(REFRESH)),
                collapse_panel,
            )
                .chain(),
        );
    }

    // Not in `build`, where it would clash with one that is added later.
    fn finish(&self, app: &mut App) {
        if !app.is_plugin_added::<DiagnosticsOverlayPlugin>() {
            app.add_plugins(DiagnosticsOverlayPlugin);
        }
    }
}

/// How often the graph and the bars are drawn. Bevy rebuilds the list once a second.
const REFRESH: Duration = Duration::from_millis(100);

/// A bar or column that needs attention.
const WARNING: Color = Color::Srgba(tailwind::RED_600);

/// A bar or column that does not.
const FINE: Color = Color::Srgba(tailwind::SKY_600);

/// The part of the window below Bevy's list.
#[derive(Component)]
struct Panel;

fn open_window(
    mut commands: Commands,
    style: Res<DiagnosticsOverlayStyle>,
    items: Vec<DiagnosticsOverlayItem>,
    max_workers: usize,
    (left, top): (f32, f32),
) {
    let window = FrameArenaOverlay {
        worker_places: items.len()..items.len() + max_workers,
    };
    let overlay = DiagnosticsOverlay::new("Frame arenas", items);
    // Bevy's overlay builds its window on the spot; it is then there to be changed.
    let window = commands.spawn((window, overlay)).id();
    commands
        .entity(window)
        .entry::<Node>()
        .and_modify(move |mut node| {
            node.left = Val::Px(left);
            node.top = Val::Px(top);
        });
    let panel = Node {
        flex_direction: FlexDirection::Column,
        row_gap: Val::Px(3.0),
        padding: UiRect::all(Val::Px(4.0)),
        border_radius: BorderRadius::bottom(Val::Px(4.0)),
        ..Node::default()
    };
    let background = BackgroundColor(tailwind::GRAY_900.with_alpha(0.75).into());
    let panel = commands
        .spawn((Panel, panel, background, Pickable::IGNORE, ChildOf(window)))
        .id();
    UsageGraph::spawn(&mut commands, panel, style.item_font_size);
    WorkerBars::spawn(&mut commands, panel, max_workers);
}

/// Adds workers to the list as they appear, and takes those off that are gone.
fn list_workers(
    arenas: Option<Res<FrameArenas>>,
    mut windows: Query<(&FrameArenaOverlay, &mut DiagnosticsOverlay)>,
) {
    let Some(arenas) = arenas else { return };
    for (window, mut overlay) in &mut windows {
        let (items, places) = (&mut overlay.items, &window.worker_places);
        items.truncate(places.start);
        let first = items.len();
        for worker in &arenas.usage().workers {
            items.push(memory(FrameArenaDiagnosticsPlugin::worker(&worker.name)));
        }
        items[first..].sort_by(|a, b| a.path.as_str().cmp(b.path.as_str()));
        items.truncate(places.end);
    }
}

/// Hides the panel when Bevy's overlay hides its list, and shows it again.
fn collapse_panel(
    mut panels: Query<(Entity, &mut Node, &ChildOf), With<Panel>>,
    children: Query<&Children>,
    others: Query<&Node, Without<Panel>>,
) {
    for (panel, mut node, window) in &mut panels {
        let siblings = children.get(window.parent()).into_iter().flatten();
        let is_collapsed = siblings
            .filter(|&&sibling| sibling != panel)
            .filter_map(|&sibling| others.get(sibling).ok())
            .any(|sibling| sibling.display == Display::None);
        let display = match is_collapsed {
            true => Display::None,
            false => Display::Flex,
        };
        if node.display != display {
            node.display = display;
        }
    }
}

fn memory(path: DiagnosticPath) -> DiagnosticsOverlayItem {
    item(path, 2)
}

fn count(path: DiagnosticPath) -> DiagnosticsOverlayItem {
    item(path, 0)
}

fn item(path: DiagnosticPath, precision: usize) -> DiagnosticsOverlayItem {
    DiagnosticsOverlayItem {
        path,
        statistic: DiagnosticsOverlayStatistic::Value,
        precision,
    }
}

/// A line of text that the pointer goes through.
fn label(text: impl Into<String>, font_size: FontSize) -> (Text, TextFont, Pickable) {
    let font = TextFont {
        font_size,
        ..TextFont::default()
    };
    (Text::new(text), font, Pickable::IGNORE)
}

fn format_bytes(bytes: usize) -> String {
    const KIB: f64 = 1024.0;
    match bytes as f64 {
        bytes if bytes < KIB => alloc::format!("{bytes} B"),
        bytes if bytes < KIB * KIB => alloc::format!("{:.0} KiB", bytes / KIB),
        bytes => alloc::format!("{:.1} MiB", bytes / (KIB * KIB)),
    }
}

/// Returns the percentage, or none of nothing.
fn percent(part: usize, whole: usize) -> f32 {
    match whole {
        0 => 0.0,
        whole => (part as f32 / whole as f32 * 100.0).min(100.0),
    }
}

#[cfg(test)]
mod tests;
