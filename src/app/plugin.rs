//! The frame's arenas, and the schedule that swaps them before all others of a frame.
#![forbid(unsafe_code)]

use std::any::TypeId;

use bevy_app::{App, MainScheduleOrder, Plugin};
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::world::World;

use super::diagnostics::FrameArenaDiagnosticsPlugin;
use super::edges::{Edge, add_at};
use super::period::add_arenas;
use super::report::{ArenaReport, FRAME_PREFIX, FrameArenaReport};
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// Adds [`FrameArenas`], swaps them at the start of each frame, before all other systems, and reports
/// their usage: in [`FrameArenaReport`](crate::FrameArenaReport), as diagnostics, and as warnings in the
/// log if there are problems.
///
/// Existing `FrameArenas` are kept. If they are removed later, the plugin does nothing until they are
/// inserted again. Allocations of startup systems belong to frame 0.
///
/// ```
/// use bevy_app::{App, Update};
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::{FrameArenaPlugin, FrameArenas};
///
/// fn list_squares(arenas: Res<FrameArenas>) {
///     let squares = arenas.local().alloc_slice_fill_with(100, |i| i * i);
///     assert_eq!(squares[9], 81);
/// }
///
/// App::new()
///     .add_plugins(FrameArenaPlugin::default())
///     .add_systems(Update, list_squares)
///     .update();
/// ```
pub struct FrameArenaPlugin {
    /// The memory policy.
    pub settings: FrameArenaSettings,
    /// Whether to add [`FrameArenaDiagnosticsPlugin`]. Default: yes.
    pub diagnostics: bool,
    /// Whether problems are logged as warnings, each only once. Default: yes.
    pub warnings: bool,
}

impl Default for FrameArenaPlugin {
    fn default() -> Self {
        Self {
            settings: FrameArenaSettings::default(),
            diagnostics: true,
            warnings: true,
        }
    }
}

impl Plugin for FrameArenaPlugin {
    fn build(&self, app: &mut App) {
        let report = ArenaReport::new("frame", "frame", FRAME_PREFIX, &self.settings);
        add_arenas::<FrameArenas>(app, &self.settings, Some(report));
        let mut report = app.world_mut().resource_mut::<FrameArenaReport>();
        report.warnings = self.warnings;
        // An existing schedule is kept: other plugins may have added systems to it.
        app.init_schedule(FrameArenaSchedule)
            .edit_schedule(FrameArenaSchedule, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            })
            .add_systems(FrameArenaSchedule, FrameArenas::end_period);
        run_at_frame_start(app);
        match app.get_added_plugins::<FrameArenaDiagnosticsPlugin>()[..] {
            // It was added before the arenas.
            [plugin, ..] => {
                let history = plugin.max_history_length;
                FrameArenaReport::publish_frame(app.world_mut(), history);
            }
            [] if self.diagnostics => {
                app.add_plugins(FrameArenaDiagnosticsPlugin::default());
            }
            [] => {}
        }
    }

    fn finish(&self, app: &mut App) {
        // Repeated for schedules that other plugins have put in front, or that were added later.
        run_at_frame_start(app);
    }
}

/// The schedule that swaps the arenas, with the system [`FrameArenas::end_period`]. It runs before
/// [`First`](bevy_app::First).
///
/// In a sub-app without a main schedule it runs before all systems of the sub-app's update schedule.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameArenaSchedule;

/// Puts the schedule before all others of a frame.
fn run_at_frame_start(app: &mut App) {
    if let Some(mut order) = app.world_mut().get_resource_mut::<MainScheduleOrder>() {
        let label = FrameArenaSchedule.intern();
        order.labels.retain(|other| *other != label);
        order.labels.insert(0, label);
    } else if let Some(update) = app.main().update_schedule {
        app.edit_schedule(update, |schedule| {
            let key = TypeId::of::<FrameArenaSchedule>();
            add_at(Edge::BeforeAll, schedule, key, start_frame);
        });
    }
}

/// Runs the schedule in a sub-app that has no main schedule.
fn start_frame(world: &mut World) {
    world.run_schedule(FrameArenaSchedule);
}
