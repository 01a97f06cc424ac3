//! The start of a frame: the schedule that swaps, and its place before all others.
#![forbid(unsafe_code)]

use bevy_app::{App, MainScheduleOrder};
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::schedule::{
    InternedScheduleLabel, Schedule, ScheduleLabel, SingleThreadedExecutor, SystemSet,
};
use bevy_ecs::system::ResMut;
use bevy_ecs::world::World;

use crate::arenas::FrameArenas;

/// The schedule that swaps the arenas. It runs before [`First`](bevy_app::First).
///
/// In a sub-app without a main schedule it runs before the sub-app's own update schedule.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameArenaSchedule;

/// The steps of [`FrameArenaSchedule`], in their order.
#[derive(SystemSet, Clone, Debug, PartialEq, Eq, Hash)]
pub enum FrameArenaSystems {
    /// The frame ends: [`FrameArenas::swap`].
    Swap,
    /// The figures of the frame that ended are published.
    Diagnostics,
}

pub(super) fn swap_arenas(arenas: Option<ResMut<FrameArenas>>) {
    if let Some(mut arenas) = arenas {
        // A swap every frame is no news; leave change detection to the user.
        arenas.bypass_change_detection().swap();
    }
}

/// Puts the schedule before all others of a frame.
pub(super) fn run_at_frame_start(app: &mut App) {
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

fn wrap_update_schedule(app: &mut App, update: InternedScheduleLabel) {
    let mut schedule = Schedule::new(SwapThenUpdate);
    schedule.set_executor(SingleThreadedExecutor::new());
    schedule.add_systems(move |world: &mut World| {
        world.run_schedule(FrameArenaSchedule);
        world.run_schedule(update);
    });
    app.add_schedule(schedule);
    app.main_mut().update_schedule = Some(SwapThenUpdate.intern());
}
