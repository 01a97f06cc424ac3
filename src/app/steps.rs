//! Debug builds: a warning where a handle of the frame crosses the edge of a fixed step.
//!
//! It resolves on the machine of a developer at 60 frames a second, and does not on that of a
//! player at 144.
#![forbid(unsafe_code)]

use bevy_app::{App, FixedMain};
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::schedule::{IntoScheduleConfigs, SystemSet};
use bevy_ecs::system::ResMut;
use tracing::warn;

use super::frame_start::{FrameArenaSchedule, FrameArenaSystems};
use super::pace::{PaceSystems, keep_edges};
use crate::arenas::{FrameArenas, SeenCrossing};
use crate::handles::StepCrossing;

/// Has the arenas of the frame know when a fixed step runs, and says what they saw.
pub(super) fn watch_steps(app: &mut App) {
    app.edit_schedule(FixedMain, |schedule| {
        if !schedule.graph().system_sets.contains(Watching) {
            keep_edges(schedule);
            schedule.add_systems((
                enter_step.in_set(PaceSystems::BeforeAll).in_set(Watching),
                leave_step.in_set(PaceSystems::AfterAll).in_set(Watching),
            ));
        }
    });
    // What the others of that set publish are other figures.
    let tell_crossings = tell_crossings.ambiguous_with_all();
    app.add_systems(
        FrameArenaSchedule,
        tell_crossings.in_set(FrameArenaSystems::Diagnostics),
    );
}

#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Watching;

fn enter_step(arenas: Option<ResMut<FrameArenas>>) {
    if let Some(mut arenas) = arenas {
        arenas.bypass_change_detection().enter_step();
    }
}

fn leave_step(arenas: Option<ResMut<FrameArenas>>) {
    if let Some(mut arenas) = arenas {
        arenas.bypass_change_detection().leave_step();
    }
}

fn tell_crossings(arenas: Option<ResMut<FrameArenas>>) {
    let Some(mut arenas) = arenas else {
        return;
    };
    while let Some(seen) = arenas.bypass_change_detection().take_crossing() {
        let SeenCrossing {
            made_at, read_at, ..
        } = seen;
        match seen.crossing {
            StepCrossing::MadeInFrame => warn!(
                "a handle of `FrameArenas`, made at {made_at}, is read in a fixed step, at \
                 {read_at}. It resolves in this frame. Above 64 frames a second some frames have \
                 no step, and the next step may come too late for it. Allocate what is for the next \
                 step in `ArenasOf<FixedStep>`. Nothing is wrong if each frame makes the handle \
                 anew: then silence this with `FrameArenaPlugin {{ warns_of_steps: false, .. }}`"
            ),
            StepCrossing::MadeInStep => warn!(
                "a handle of `FrameArenas`, made in a fixed step at {made_at}, is read outside of \
                 steps, at {read_at}. It resolves in this frame. Above 64 frames a second some \
                 frames have no step, and in those it may be stale. Allocate what is read until the \
                 next step replaces it in `ArenasOf<FixedStep>`. Nothing is wrong if the handle is \
                 read in the frame of its step alone: then silence this with \
                 `FrameArenaPlugin {{ warns_of_steps: false, .. }}`"
            ),
        }
    }
}
