//! The plugin of the frame's arenas, and the end of a period at any pace, the frame included. Arenas that no
//! plugin swaps are reported.
#![forbid(unsafe_code)]

use std::any::{TypeId, type_name};

use bevy_app::{App, First, Last, MainScheduleOrder, Plugin};
use bevy_ecs::component::Mutable;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::world::DeferredWorld;
use tracing::warn;

use super::Bytes;
use super::diagnostics::FrameArenaDiagnosticsPlugin;
use super::edges::{Edge, add_at};
use super::report::{ArenaReport, FrameArenaReport, Key, Sinks, pass_on};
use crate::arenas::FrameArenas;
use crate::error::Short;
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
        let report = ArenaReport::new(Key::FRAME, "frame", "frame", &self.settings);
        add_arenas(app, FrameArenas::new, report);
        let mut report = app.world_mut().resource_mut::<FrameArenaReport>();
        report.warnings = self.warnings;
        // An existing schedule is kept: other plugins may have added systems to it.
        app.init_schedule(FrameArenaSchedule)
            .edit_schedule(FrameArenaSchedule, |schedule| {
                schedule.set_executor(SingleThreadedExecutor::new());
            })
            .add_systems(FrameArenaSchedule, FrameArenas::end_period);
        run_at_frame_start(app);
        if self.diagnostics && !app.is_plugin_added::<FrameArenaDiagnosticsPlugin>() {
            app.add_plugins(FrameArenaDiagnosticsPlugin::default());
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
            let start_frame = |world: &mut World| world.run_schedule(FrameArenaSchedule);
            add_at(Edge::BeforeAll, schedule, key, start_frame);
        });
    }
}

/// A resource with the arenas of one pace.
pub(super) trait Paced: Resource<Mutability = Mutable> {
    fn arenas_mut(&mut self) -> &mut FrameArenas;
}

impl Paced for FrameArenas {
    fn arenas_mut(&mut self) -> &mut FrameArenas {
        self
    }
}

/// # Systems
impl FrameArenas {
    /// Ends the frame: swaps the arenas and publishes their figures. This is the system of
    /// [`FrameArenaSchedule`](crate::FrameArenaSchedule), to order others by.
    pub fn end_period(arenas: Option<ResMut<Self>>, sinks: Sinks) {
        end_period(arenas, sinks);
    }

    /// Called by Bevy when the arenas become a resource.
    pub(crate) fn on_add(world: DeferredWorld<'_>, context: HookContext) {
        watch::<Self>(world, context);
    }
}

/// Adds the arenas of a pace unless they exist, and adds them to the report. Existing arenas keep their settings;
/// other ones that the plugin has are reported, because they have no effect.
pub(super) fn add_arenas<R: Paced>(
    app: &mut App,
    new: impl FnOnce(FrameArenaSettings) -> R,
    report: ArenaReport,
) {
    let settings = report.settings.clone();
    let mut all = app.world_mut().get_resource_or_init::<FrameArenaReport>();
    all.swapped.push(Key::of::<R>());
    match app.world_mut().get_resource_mut::<R>() {
        None => _ = app.insert_resource(new(settings)),
        Some(mut arenas) => {
            let arenas = arenas.bypass_change_detection().arenas_mut();
            let is_used = *arenas.settings() == settings;
            if !is_used && settings != FrameArenaSettings::default() {
                warn!(
                    "`{}` existed before their plugin, so its settings have no effect: let the plugin insert \
                     the resource, or give the settings to the resource",
                    Short(type_name::<R>())
                );
            }
        }
    }
    FrameArenaReport::add(app.world_mut(), Key::of::<R>(), report);
}

/// Ends a period: swaps the arenas and passes their figures on.
pub(super) fn end_period<R: Paced>(arenas: Option<ResMut<R>>, sinks: Sinks<'_>) {
    if let Some(mut arenas) = arenas {
        // A swap must not mark the resource as changed: change detection belongs to the user.
        let arenas = arenas.bypass_change_detection().arenas_mut();
        arenas.swap();
        pass_on(Key::of::<R>(), arenas, true, sinks);
    }
}

/// The systems in `Last` that report running periods. Those that show the report run after them.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TendSystems;

/// Recycles parked generations whose last lease has ended, and reports the running period's usage so far.
///
/// The end of a long period would be too late for both. The memory of a level is needed as soon as the
/// task that reads it is done, not when the next level ends. The figures of a level are needed while it
/// runs.
pub(super) fn tend<R: Paced>(arenas: Option<ResMut<R>>, sinks: Sinks<'_>) {
    if let Some(mut arenas) = arenas {
        let arenas = arenas.bypass_change_detection().arenas_mut();
        if arenas.usage().parked > 0 {
            arenas.recycle_parked();
        }
        pass_on(Key::of::<R>(), arenas, false, sinks);
    }
}

/// The number of frames that allocate without a swap before the warning. In the first one, the game may
/// still swap after all systems.
const FRAMES: u32 = 2;

/// Watches the first frames of an app, unless a plugin already swaps the arenas: after
/// `init_resource::<FrameArenas>()` without the plugin, they would grow for ever.
pub(super) fn watch<R: Paced>(mut world: DeferredWorld<'_>, _: HookContext) {
    let report = world.get_resource::<FrameArenaReport>();
    if !is_swapped::<R>(report) && world.contains_resource::<Schedules>() {
        world.commands().queue(|world: &mut World| {
            let mut schedules = world.resource_mut::<Schedules>();
            let system = report_unswapped::<R>.ambiguous_with_all();
            // A schedule that is running is not in the list, and one added in its place would be lost.
            match schedules.get_mut(Last) {
                Some(last) => last.add_systems(system),
                None => schedules.entry(First).add_systems(system),
            };
        });
    }
}

fn is_swapped<R: Paced>(report: Option<&FrameArenaReport>) -> bool {
    report.is_some_and(|report| report.swapped.contains(&Key::of::<R>()))
}

/// Warns once if the arenas grow from frame to frame.
fn report_unswapped<R: Paced>(
    arenas: Option<ResMut<R>>,
    report: Option<Res<FrameArenaReport>>,
    mut last_bytes: Local<usize>,
    mut frames: Local<u32>,
) {
    let Some(mut arenas) = arenas.filter(|_| *frames < FRAMES) else {
        return;
    };
    let arenas = arenas.bypass_change_detection().arenas_mut();
    // The plugin may have been added later, or the game swaps the arenas itself.
    if arenas.period() > 0 || is_swapped::<R>(report.as_deref()) {
        *frames = FRAMES;
        return;
    }
    let bytes = arenas.used_bytes_so_far();
    *frames += u32::from(bytes > *last_bytes);
    *last_bytes = bytes;
    if *frames == FRAMES {
        let plugin = match Key::of::<R>() == Key::FRAME {
            true => "FrameArenaPlugin",
            false => "FrameArenaPacePlugin",
        };
        warn!(
            "nothing swaps `{}`: {FRAMES} frames took {}, and no memory is ever recycled. Add their \
             `{plugin}`, which also adds the resource",
            Short(type_name::<R>()),
            Bytes(bytes),
        );
    }
}
