//! The figures of all arenas on the screen: the plugin, its settings and its systems.
#![forbid(unsafe_code)]

mod block;
mod graph;
mod parts;
mod window;
mod workers;

use std::time::Duration;

use bevy_app::{App, Plugin, Update};
use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_platform::time::Instant;
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool};
use bevy_text::{FontSize, TextFont};
use bevy_time::{Real, Time};

use self::graph::History;
use self::parts::Parts;
pub use self::window::FrameArenaOverlay;
use self::window::{Contents, WindowState};
use self::workers::IN_A_ROW;
use crate::app::{FrameArenaReport, is_due, warn_without_arenas};

/// Shows the usage of all arenas on the screen.
///
/// The frame has a block, and so has each other set of arenas in the
/// [`FrameArenaReport`](crate::FrameArenaReport) once it was used. A block shows
/// - the used, peak and reserved memory, as numbers and as a bar. The bar's maximum is the budget. Without
///   a budget it is the highest peak so far, and the bar does not show reserved memory;
/// - the memory held by tasks;
/// - the problems of the last seconds, worst first, and how to fix them.
///
/// A click on the title shows or hides the details: a graph of the last seconds, a cell for each worker
/// and, with the feature `sites`, the lines of code that took the most memory. On a low screen, workers
/// without room share a cell, and the graph shrinks.
///
/// All numbers are those of the frame that ended last, as in
/// [`FrameArenas::usage`](crate::FrameArenas::usage). Numbers marked "in 6 s" are sums. A level that is
/// still running is shown with its figures so far.
///
/// The window is at the upper right, clear of Bevy's FPS overlay, and scales with `UiScale`. If the app
/// has Bevy's picking for the UI (feature `ui_picking`), the title can be dragged and clicked.
/// [`FrameArenaOverlayConfig`] shows and hides the window.
///
/// Requires the feature `overlay`. It is built on `bevy_ui`, and adds no renderer.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayPlugin, FrameArenaPlugin};
///
/// let mut app = App::new();
/// // In a game, with `DefaultPlugins`.
/// app.add_plugins((FrameArenaPlugin::default(), FrameArenaOverlayPlugin::default()));
/// app.update();
/// let mut windows = app.world_mut().query::<&FrameArenaOverlay>();
/// assert_eq!(windows.iter(app.world()).count(), 1);
/// ```
#[derive(Default)]
pub struct FrameArenaOverlayPlugin {
    /// The initial appearance of the overlay.
    pub config: FrameArenaOverlayConfig,
}

impl Plugin for FrameArenaOverlayPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.config.clone())
            .init_resource::<WindowState>()
            .add_systems(
                Update,
                (open_window.run_if(is_outdated), draw)
                    .chain()
                    .run_if(resource_exists::<FrameArenaReport>)
                    .run_if(resource_exists::<FrameArenaOverlayConfig>),
            )
            .add_systems(
                Update,
                tell_without_report.run_if(not(resource_exists::<FrameArenaReport>)),
            );
    }
}

/// The appearance of the overlay, and whether it is shown. This resource can be changed at any time.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::FrameArenaOverlayConfig;
///
/// fn toggle(mut config: ResMut<FrameArenaOverlayConfig>) {
///     config.enabled = !config.enabled;
/// }
/// ```
#[derive(Resource, Clone, Debug)]
pub struct FrameArenaOverlayConfig {
    /// Whether the window is shown. Default: yes. A hidden window costs nothing.
    pub enabled: bool,
    /// Whether the graph, the workers and the lines of code are shown as well. Default: no. A click on
    /// the title toggles it.
    pub details: bool,
    /// The time between two updates, which is also the time covered by a column of the graph. Default:
    /// 100 ms.
    pub refresh_interval: Duration,
    /// The font. All sizes in the window are multiples of its size, from 1 to 100 logical pixels
    /// ([`FontSize::Px`]). Default: 10 pixels, also for other kinds of sizes.
    pub text_config: TextFont,
    /// The colour of the text.
    pub text_color: Color,
    /// The distance from the right edge of the screen, in logical pixels. Default: 8.
    pub right: f32,
    /// The distance from the upper edge of the screen, in logical pixels. Default: 8.
    pub top: f32,
    /// The number of cells for workers in the details, four in a row, at most 256. Further workers are
    /// added up in the last cell. Default: enough for the threads of Bevy's task pools, the main thread
    /// and the render thread.
    pub worker_places: Option<usize>,
}

impl Default for FrameArenaOverlayConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            details: false,
            refresh_interval: Duration::from_millis(100),
            text_config: TextFont::from_font_size(FONT_SIZE),
            text_color: Color::srgb(0.93, 0.94, 0.96),
            right: MARGIN,
            top: MARGIN,
            worker_places: None,
        }
    }
}

const FONT_SIZE: f32 = 10.0;

const MARGIN: f32 = 8.0;

impl FrameArenaOverlayConfig {
    /// Returns the size of the font in logical pixels.
    fn em(&self) -> f32 {
        match self.text_config.font_size {
            // Bevy would draw letters of any size, and take for ever.
            FontSize::Px(pixels) if pixels.is_finite() => pixels.clamp(1.0, 100.0),
            _ => FONT_SIZE,
        }
    }

    fn font(&self) -> TextFont {
        self.text_config.clone().with_font_size(self.em())
    }
}

fn tell_without_report(mut is_told: Local<bool>) {
    warn_without_arenas(&mut is_told, "FrameArenaOverlayPlugin");
}

/// Returns whether the config has changed, as it has at the start, or arenas were added.
fn is_outdated(
    config: Option<Res<FrameArenaOverlayConfig>>,
    report: Option<Res<FrameArenaReport>>,
    windows: Query<&Contents>,
) -> bool {
    let arenas = report.map_or(0, |report| report.iter().count());
    config.is_some_and(|config| config.is_changed())
        || windows.iter().any(|window| window.arenas != arenas)
}

/// Opens the window with the current config, or closes it.
fn open_window(
    mut commands: Commands,
    config: Res<FrameArenaOverlayConfig>,
    report: Res<FrameArenaReport>,
    state: Res<WindowState>,
    windows: Query<Entity, With<FrameArenaOverlay>>,
) {
    for window in &windows {
        commands.entity(window).despawn();
    }
    if config.enabled {
        window::open(&mut commands, &config, &state, report.iter().count());
    }
}

/// The maximum number of places for workers.
const MAX_PLACES: usize = 64 * IN_A_ROW;

/// Returns the number of places: for all threads of the task pools, for the main and the render thread,
/// and for the rest.
fn default_places() -> usize {
    let pools = ComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num())
        + AsyncComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num())
        + IoTaskPool::try_get().map_or(0, |pool| pool.thread_num());
    (pools + 3).clamp(2 * IN_A_ROW, 17 * IN_A_ROW)
}

/// Records the figures of each frame, and shows them once per interval.
fn draw(
    config: Res<FrameArenaOverlayConfig>,
    report: Res<FrameArenaReport>,
    time: Option<Res<Time<Real>>>,
    mut last: Local<Option<Instant>>,
    mut histories: Local<Vec<History>>,
    mut windows: Query<(Entity, &mut Contents)>,
    mut parts: Parts,
) {
    if !config.enabled {
        if config.is_changed() {
            *histories = report.iter().map(History::since).collect();
        }
        return;
    }
    histories.resize_with(report.iter().count(), History::default);
    for (arenas, history) in report.iter().zip(&mut *histories) {
        history.note(arenas);
    }
    let interval = config.refresh_interval;
    let is_new = windows.iter().any(|(_, window)| window.is_new());
    if !is_due(&mut last, time.as_deref(), interval) && !is_new {
        return;
    }
    for history in &mut *histories {
        history.end_slot(interval);
    }
    let places = config.worker_places.unwrap_or_else(default_places);
    // Each place has nodes of its own, and no screen has room for more.
    let places = places.min(MAX_PLACES);
    for (window, mut contents) in &mut windows {
        contents.draw(window, &mut parts, &config, &report, &mut histories, places);
    }
}
