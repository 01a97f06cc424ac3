//! The frame's arenas, and the schedule that swaps them before all others of a frame.
#![forbid(unsafe_code)]

use bevy_app::{App, MainScheduleOrder, Plugin};
use bevy_ecs::resource::Resource;
use bevy_ecs::schedule::{
    InternedScheduleLabel, IntoScheduleConfigs, Schedule, ScheduleLabel, SingleThreadedExecutor,
    SystemSet,
};
use bevy_ecs::world::World;

use super::diagnostics::FrameArenaDiagnosticsPlugin;
use super::period::{add_arenas, end_period};
use super::report::{FRAME_PREFIX, FrameArenaReport, NewEntry, label_of};
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// Adds [`FrameArenas`], swaps them before everything else of a frame, and reports what they used:
/// in [`FrameArenaReport`](crate::FrameArenaReport), as diagnostics, and, if something is wrong, as
/// a warning in the log.
///
/// A `FrameArenas` that is already there is kept; if it is removed later, the plugin waits until
/// there is one again. What startup systems allocate counts as frame 0.
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
    /// Whether problems are logged, each once, as warnings. Default: yes.
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
        let entry = NewEntry {
            label: label_of(FRAME_PREFIX),
            prefix: FRAME_PREFIX,
            history: None,
        };
        add_arenas::<FrameArenas>(app, &self.settings, Some(entry));
        let mut report = app.world_mut().resource_mut::<FrameArenaReport>();
        report.warnings = self.warnings;
        // Not a new schedule: others may have added systems to it already.
        app.init_schedule(FrameArenaSchedule)
            .edit_schedule(FrameArenaSchedule, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            })
            .add_systems(
                FrameArenaSchedule,
                end_period::<FrameArenas>.in_set(FrameArenaSystems::Swap),
            );
        run_at_frame_start(app);
        if self.diagnostics && !app.is_plugin_added::<FrameArenaDiagnosticsPlugin>() {
            app.add_plugins(FrameArenaDiagnosticsPlugin::default());
        }
    }

    fn finish(&self, app: &mut App) {
        // Again, for schedules that other plugins have put in front, or that came later.
        run_at_frame_start(app);
    }
}

/// The schedule that swaps the arenas. It runs before [`First`](bevy_app::First).
///
/// In a sub-app without a main schedule it runs before the sub-app's own update schedule.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameArenaSchedule;

/// The steps of [`FrameArenaSchedule`].
#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FrameArenaSystems {
    /// The frame ends: [`FrameArenas::swap`], and its figures are published.
    Swap,
}

/// Puts the schedule before all others of a frame.
fn run_at_frame_start(app: &mut App) {
    if let Some(mut order) = app.world_mut().get_resource_mut::<MainScheduleOrder>() {
        let label = FrameArenaSchedule.intern();
        order.labels.retain(|other| *other != label);
        order.labels.insert(0, label);
    } else if let Some(update) = app.main().update_schedule
        && update != SwapThenUpdate.intern()
    {
        wrap_update_schedule(app, update);
    }
}

/// The update schedule of a sub-app that has no main schedule.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct SwapThenUpdate;

/// The update schedule that the sub-app had.
#[derive(Resource)]
struct UpdateSchedule(InternedScheduleLabel);

fn swap_then_update(world: &mut World) {
    world.run_schedule(FrameArenaSchedule);
    let update = world.get_resource::<UpdateSchedule>().map(|it| it.0);
    if let Some(update) = update {
        world.run_schedule(update);
    }
}

fn wrap_update_schedule(app: &mut App, update: InternedScheduleLabel) {
    let mut schedule = Schedule::new(SwapThenUpdate);
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.add_systems(swap_then_update);
    app.insert_resource(UpdateSchedule(update))
        .add_schedule(schedule);
    app.main_mut().update_schedule = Some(SwapThenUpdate.intern());
}
