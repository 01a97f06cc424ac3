//! The plugin: adds the resource and the schedule that swaps it.
#![forbid(unsafe_code)]

use bevy_app::{App, Plugin};
use bevy_ecs::schedule::{IntoScheduleConfigs, SingleThreadedExecutor};
use bevy_ecs::system::Res;

use super::diagnostics::FrameArenaDiagnosticsPlugin;
use super::figures::{FigureSinks, Figures};
use super::frame_start::{FrameArenaSchedule, FrameArenaSystems, run_at_frame_start, swap_arenas};
use super::report::{FRAME_PREFIX, FrameArenaReport, label_of};
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
        if !app.world().contains_resource::<FrameArenas>() {
            app.insert_resource(FrameArenas::new(self.settings.clone()));
        }
        // Not a new schedule: others may have added systems to it already.
        app.init_schedule(FrameArenaSchedule)
            .edit_schedule(FrameArenaSchedule, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            })
            .configure_sets(
                FrameArenaSchedule,
                (FrameArenaSystems::Swap, FrameArenaSystems::Diagnostics).chain(),
            )
            .add_systems(
                FrameArenaSchedule,
                swap_arenas.in_set(FrameArenaSystems::Swap),
            );
        run_at_frame_start(app);
        self.report_usage(app);
        if self.diagnostics && !app.is_plugin_added::<FrameArenaDiagnosticsPlugin>() {
            app.add_plugins(FrameArenaDiagnosticsPlugin::default());
        }
    }

    fn finish(&self, app: &mut App) {
        // Again, for schedules that other plugins have put in front, or that came later.
        run_at_frame_start(app);
    }
}

impl FrameArenaPlugin {
    /// Has the figures of each frame reported, before others publish them.
    fn report_usage(&self, app: &mut App) {
        let name = (label_of(FRAME_PREFIX), FRAME_PREFIX);
        let mut figures = Figures::add_to(app.world_mut(), name, None, &self.settings);
        let report_usage = move |arenas: Option<Res<FrameArenas>>, sinks: FigureSinks| {
            if let (Some(arenas), Some(figures)) = (arenas, &mut figures) {
                figures.end_period(&arenas, sinks);
            }
        };
        app.add_systems(
            FrameArenaSchedule,
            report_usage
                .after(FrameArenaSystems::Swap)
                .before(FrameArenaSystems::Diagnostics),
        );
        let mut report = app.world_mut().get_resource_or_init::<FrameArenaReport>();
        report.warnings = self.warnings;
    }
}
