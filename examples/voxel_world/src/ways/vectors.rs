//! The lists that systems hand to each other in vectors: what all ways but the arenas have in common.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;

use crate::game::camera::{Draw, Seen};
use crate::game::grid::{Entry, GridView};
use crate::game::paths::Goal;
use crate::game::terrain::Map;
use crate::game::walkers::{Instance, Walker};

pub(super) struct VectorsPlugin;

impl Plugin for VectorsPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Grid>()
            .init_resource::<Visible>()
            .init_resource::<Draws>()
            .init_resource::<Instances>()
            .register_required_components::<Walker, Near>();
    }
}

#[derive(Resource, Default)]
pub(super) struct Grid {
    pub(super) starts: Vec<u32>,
    pub(super) entries: Vec<Entry>,
}

impl Grid {
    pub(super) fn view(&self) -> GridView<'_> {
        GridView {
            starts: &self.starts,
            entries: &self.entries,
        }
    }
}

/// The others near a walker, found in the last step.
#[derive(Component, Default)]
pub(super) struct Near(pub(super) Vec<u32>);

#[derive(Resource, Default)]
pub(super) struct Visible(pub(super) Vec<Seen>);

#[derive(Resource, Default)]
pub(super) struct Draws(pub(super) Vec<Draw>);
#[derive(Resource, Default)]
pub(super) struct Instances(pub(super) Vec<Instance>);

pub(super) fn walk(
    grid: Res<Grid>,
    map: Res<Map>,
    goal: Res<Goal>,
    mut walkers: Query<(&mut Walker, &Near)>,
) {
    walkers.par_iter_mut().for_each(|(mut walker, near)| {
        walker.walk(&near.0, &grid.entries, goal.0, &map);
    });
}
