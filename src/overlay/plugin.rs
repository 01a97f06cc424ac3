//! The plugin that opens the overlay, and its systems.
#![forbid(unsafe_code)]

use bevy_app::{App, Plugin, Update};
use bevy_ecs::change_detection::DetectChanges;
use bevy_ecs::entity::Entity;
use bevy_ecs::query::With;
use bevy_ecs::resource::Resource;
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::schedule::common_conditions::{not, resource_exists};
use bevy_ecs::system::{Commands, Local, Query, Res, ResMut};
use bevy_tasks::{AsyncComputeTaskPool, ComputeTaskPool, IoTaskPool};
use bevy_time::{Real, Time};

use super::config::FrameArenaOverlayConfig;
use super::grid::IN_A_ROW;
use super::history::History;
use super::painter::Painter;
use super::window::{self, Blocks, FrameArenaOverlay, WindowState};
use crate::app::{FrameArenaReport, Timer, WithoutReport, now};

/// Shows what the arenas use, as one picture of one moment.
///
/// For each set of arenas of the [`FrameArenaReport`](crate::FrameArenaReport) there is a block: what
/// is used, the peak, what is reserved, and the budget, as numbers and a bar; and what went wrong in
/// the last seconds, in words. The frame's own arenas have a graph of the last seconds and a cell for
/// each worker too. All numbers are those of the frame that ended last, as
/// [`FrameArenas::usage`](crate::FrameArenas::usage) has them; where it says "in 6 s", they are sums.
///
/// The window is at the upper right, clear of Bevy's FPS overlay, and scales with `UiScale`. It can be
/// dragged by its title, and folded by a click on it, if the app has Bevy's picking for the UI (feature
/// `ui_picking`). [`FrameArenaOverlayConfig`] shows and hides it.
///
/// Behind the feature `overlay`. It is made of `bevy_ui`, and brings no renderer.
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
    /// What the overlay looks like at the start.
    pub config: FrameArenaOverlayConfig,
}

impl Plugin for FrameArenaOverlayPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.config.clone())
            .init_resource::<WindowState>()
            .init_resource::<Histories>()
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
            )
            .add_observer(window::press_title)
            .add_observer(window::drag_by_title)
            .add_observer(window::collapse_by_title);
    }
}

fn tell_without_report(mut without: Local<WithoutReport>) {
    without.tell("FrameArenaOverlayPlugin");
}

/// The histories of all arenas, in the order of the report.
#[derive(Resource, Default)]
struct Histories(Vec<History>);

/// Whether the window is not as the config wants it (at the start there is none), or arenas are new.
fn is_outdated(
    config: Option<Res<FrameArenaOverlayConfig>>,
    report: Option<Res<FrameArenaReport>>,
    windows: Query<&Blocks>,
) -> bool {
    let arenas = report.map_or(0, |report| report.iter().count());
    config.is_some_and(|config| config.is_changed())
        || windows.iter().any(|blocks| blocks.0.len() != arenas)
}

/// Opens the window as the config wants it, or closes it.
fn open_window(
    mut commands: Commands,
    config: Res<FrameArenaOverlayConfig>,
    report: Res<FrameArenaReport>,
    state: Res<WindowState>,
    windows: Query<Entity, With<FrameArenaOverlay>>,
    mut histories: ResMut<Histories>,
) {
    for window in &windows {
        commands.entity(window).despawn();
    }
    if config.enabled {
        let places = config.worker_places.unwrap_or_else(default_places);
        // Each has nodes of its own, and no screen has room for more.
        let places = places.min(MAX_PLACES);
        window::spawn(&mut commands, &config, &report, &state, places);
    } else {
        let from_now_on = report.iter().map(History::since);
        histories.0 = from_now_on.collect();
    }
}

/// The most places for workers.
const MAX_PLACES: usize = 64 * IN_A_ROW;

/// Returns places for all threads of the task pools, for the main and the render thread, and for
/// the rest.
fn default_places() -> usize {
    let pools = ComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num())
        + AsyncComputeTaskPool::try_get().map_or(0, |pool| pool.thread_num())
        + IoTaskPool::try_get().map_or(0, |pool| pool.thread_num());
    (pools + 3).clamp(2 * IN_A_ROW, 17 * IN_A_ROW)
}

/// Notes the figures of each frame, and shows them when it is time.
fn draw(
    config: Res<FrameArenaOverlayConfig>,
    report: Res<FrameArenaReport>,
    time: Option<Res<Time<Real>>>,
    mut timer: Local<Timer>,
    mut histories: ResMut<Histories>,
    mut windows: Query<&mut Blocks>,
    mut painter: Painter,
) {
    if !config.enabled {
        return;
    }
    let histories = &mut histories.0;
    histories.resize_with(report.iter().count(), History::default);
    for (arenas, history) in report.iter().zip(&mut *histories) {
        history.note(arenas);
    }
    let interval = config.refresh_interval;
    if !timer.is_due(now(time.as_deref()), interval) && !config.is_changed() {
        return;
    }
    for history in &mut *histories {
        history.end_slot();
    }
    for mut blocks in &mut windows {
        let arenas = report.iter().zip(histories.iter());
        for (block, (arenas, history)) in blocks.0.iter_mut().zip(arenas) {
            block.draw(&mut painter, arenas, history, interval);
        }
    }
}
