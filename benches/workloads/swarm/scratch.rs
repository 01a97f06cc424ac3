//! Other ways to get the list that one creep needs for a moment.

use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

use super::ours::Grid;
use super::{HEIGHT, Place, Speed, WIDTH, cell_of, fly, near};

/// A guard for each creep.
pub(super) fn steer_with_guard_each(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    mut creeps: Query<(Entity, &mut Place, &mut Speed)>,
) {
    let cells = &arenas[grid.0];
    creeps
        .par_iter_mut()
        .for_each(|(entity, mut place, mut speed)| {
            let scratch = arenas.scratch();
            let around = cells.around(cell_of(place.0), [WIDTH, HEIGHT]);
            let mut list = scratch.collect(around.filter_map(|it| near(entity, place.0, it)));
            fly(&mut place, &mut speed, &mut list);
        });
}

/// One guard for many creeps, as in the README: a list that is dropped gives its memory back.
pub(super) fn steer_with_one_guard(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    mut creeps: Query<(Entity, &mut Place, &mut Speed)>,
) {
    let cells = &arenas[grid.0];
    creeps.par_iter_mut().for_each_init(
        || arenas.scratch(),
        |scratch, (entity, mut place, mut speed)| {
            let around = cells.around(cell_of(place.0), [WIDTH, HEIGHT]);
            let near = around.filter_map(|it| near(entity, place.0, it));
            let mut list = near.collect_in(scratch);
            fly(&mut place, &mut speed, &mut list);
        },
    );
}
