//! The ways to manage the memory of a frame, and the workloads that are written in each of them.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenaSettings, FrameArenas, LivesFor};
use bumpalo_herd::Herd;

use crate::scene::Checksum;
use crate::{boids, frames_in_bevy, meshing, world};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The app without systems that need memory.
    Nothing,
    /// Buffers that are cleared and filled again.
    Reuse,
    /// Two of each buffer whose content is read by other systems, so that the last frame can be read.
    ReuseTwice,
    Herd,
    Ours,
    Scratch,
    /// Scratch, and data that lives for one frame.
    OnePeriod,
}

impl Way {
    pub(crate) const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Reuse,
        Self::ReuseTwice,
        Self::Herd,
        Self::Ours,
        Self::Scratch,
        Self::OnePeriod,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing stored",
            Self::Reuse => "reused buffers",
            Self::ReuseTwice => "reused buffers, two frames",
            Self::Herd => "bumpalo-herd",
            Self::Ours => "ours",
            Self::Scratch => "ours, `Scratch`",
            Self::OnePeriod => "ours, `Scratch`, `OnePeriod`",
        }
    }

    /// Adds the arenas of this way, or the herd.
    pub(crate) fn add_memory(self, app: &mut App) {
        match self {
            Self::Nothing | Self::Reuse | Self::ReuseTwice => {}
            Self::Herd => {
                app.insert_resource(FrameHerd(Herd::new()));
            }
            Self::Ours | Self::Scratch => {
                app.add_plugins(FrameArenaPlugin::default());
            }
            Self::OnePeriod => {
                app.insert_resource(arenas_of_one_period())
                    .add_plugins(FrameArenaPlugin::default());
            }
        }
    }
}

#[derive(Resource)]
pub(crate) struct FrameHerd(pub(crate) Herd);

pub(crate) fn arenas_of_one_period() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        lives_for: LivesFor::OnePeriod,
        ..FrameArenaSettings::default()
    })
}

/// A game that is played in several ways.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// Makes the app of a way, if it can be written in that way.
    pub(crate) app: fn(Way) -> Option<App>,
    /// Returns a sum of all that was computed: the same for all ways.
    pub(crate) sum: fn(&World) -> u64,
    /// How long its data lives, which decides what ours is held to.
    pub(crate) lives: Lives,
}

/// How long the data of a workload lives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lives {
    /// Nobody reads it in the next frame.
    OneFrame,
    /// It is shared, so it can be read in the next frame; with `OnePeriod` it can't.
    AsSet,
    /// The renderer reads it in the next frame, in all ways.
    TwoFrames,
}

pub(crate) const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "meshing",
        app: meshing::app,
        sum: sum_of_checksum,
        lives: Lives::AsSet,
    },
    Workload {
        name: "boids",
        app: boids::app,
        sum: sum_of_checksum,
        lives: Lives::AsSet,
    },
    Workload {
        name: "frames",
        app: frames_in_bevy::app,
        sum: sum_of_checksum,
        lives: Lives::OneFrame,
    },
    Workload {
        name: "voxel_world",
        app: world::app,
        sum: world::sum,
        lives: Lives::TwoFrames,
    },
];

fn sum_of_checksum(world: &World) -> u64 {
    world.resource::<Checksum>().value()
}
