//! The game that all ways play: what exists, and pure functions on it. No memory is managed here.

pub mod camera;
pub mod grid;
pub mod mesher;
pub mod meshing;
pub mod noise;
pub mod paths;
pub mod terrain;
pub mod walkers;

use std::time::Duration;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_time::{TimePlugin, TimeUpdateStrategy};

use self::camera::View;
use crate::gpu::Gpu;

/// How much there is to do.
#[derive(Resource, Clone)]
pub struct Load {
    /// Chunks along a side of the world.
    pub columns: usize,
    /// Chunks on top of each other.
    pub layers: usize,
    pub walkers: u32,
    /// Places at which the ground is dug up, and filled in again later.
    pub diggers: u32,
    /// How far away a walker's label can be read, in blocks.
    pub label_distance: f32,
    /// Whether chunks are meshed in tasks, or while the frame waits.
    pub meshes_in_tasks: bool,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            columns: 20,
            layers: 4,
            walkers: 4000,
            diggers: 5,
            label_distance: 70.0,
            meshes_in_tasks: false,
        }
    }
}

/// The number of the frame, from one.
#[derive(Resource, Default)]
pub struct Frame(pub u32);

/// The world, a camera on its path, and a clock that ticks the same on all machines.
pub struct GamePlugin {
    pub load: Load,
}

impl Plugin for GamePlugin {
    fn build(&self, app: &mut App) {
        // 100 frames a second, and 64 steps: in some frames there is a step, in others none.
        let tick = TimeUpdateStrategy::ManualDuration(Duration::from_millis(10));
        app.add_plugins((TimePlugin, WorldPlugin(self.load.clone())))
            .insert_resource(tick)
            .add_systems(PreUpdate, camera::follow_path);
    }
}

/// The world alone, for those who have a clock and a camera.
pub struct WorldPlugin(pub Load);

impl Plugin for WorldPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone())
            .init_resource::<Frame>()
            .init_resource::<View>()
            .init_resource::<Gpu>()
            .add_systems(PreStartup, (terrain::generate, walkers::spawn).chain())
            .add_systems(First, |mut frame: ResMut<Frame>| frame.0 += 1)
            .add_systems(PreUpdate, terrain::dig);
    }
}
