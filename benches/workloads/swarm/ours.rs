//! The systems with the crate.

use bevy_app::{App, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::system::ScheduleSystem;
use bevy_frame_arena::prelude::*;

use super::{
    CELLS, Damage, Frame, HEIGHT, Health, Hit, Place, Seen, Speed, Sum, Tower, WIDTH, cell_of, fly,
    is_in_view, near, shoot, strike,
};

pub(super) fn add<M>(app: &mut App, steer: impl IntoScheduleConfigs<ScheduleSystem, M>) {
    app.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaPacePlugin::fixed_step(),
    ))
    .init_resource::<Grid>()
    .init_resource::<Targets>()
    .init_resource::<Visible>()
    .init_resource::<Labels>()
    .add_systems(
        FixedUpdate,
        (fill_grid, steer.into_configs(), aim, count_targets, hit).chain(),
    )
    .add_systems(Update, (cull, count_visible, label, draw).chain());
}

#[derive(Resource, Default)]
pub(super) struct Grid(pub(super) FrameHandle<Cells<Seen>>);

#[derive(Resource, Default)]
struct Targets(TwoFrames<Hit>);

#[derive(Resource, Default)]
struct Visible(TwoFrames<Entity>);

#[derive(Resource, Default)]
struct Labels(FrameHandle<[([f32; 2], FrameHandle<str>)]>);

fn fill_grid(
    arenas: Res<ArenasOf<FixedStep>>,
    mut grid: ResMut<Grid>,
    all: Query<(Entity, &Place, &Speed)>,
) {
    let creeps = arenas.collector();
    creeps
        .batch()
        .extend(all.iter().map(|(entity, place, speed)| Seen {
            entity,
            place: place.0,
            speed: speed.0,
        }));
    grid.0 = creeps.share_cells(CELLS, |it| cell_of(it.place));
}

pub(super) fn steer(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    mut creeps: Query<(Entity, &mut Place, &mut Speed)>,
) {
    let cells = &arenas[grid.0];
    creeps.par_iter_mut().for_each_init(
        || arenas.local().vec(),
        |list, (entity, mut place, mut speed)| {
            let around = cells.around(cell_of(place.0), [WIDTH, HEIGHT]);
            list.clear();
            list.extend(around.filter_map(|it| near(entity, place.0, it)));
            fly(&mut place, &mut speed, list);
        },
    );
}

fn aim(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    towers: Query<&Tower>,
    mut targets: ResMut<Targets>,
) {
    let (cells, hits) = (&arenas[grid.0], arenas.collector());
    towers.par_iter().for_each_init(
        || hits.batch(),
        |batch, tower| {
            let around = cells.around(cell_of(tower.place), [WIDTH, HEIGHT]);
            batch.extend(shoot(tower, around));
        },
    );
    targets.0.set(hits.share_sorted());
}

fn count_targets(arenas: Res<ArenasOf<FixedStep>>, targets: Res<Targets>, mut sum: ResMut<Sum>) {
    for change in targets.0.changes(&arenas) {
        match change {
            Change::Added(hit) => sum.add(hit.creep.to_bits()),
            Change::Removed(hit) => sum.add(hit.damage.into()),
            Change::Changed { .. } => {}
        }
    }
}

fn hit(
    arenas: Res<ArenasOf<FixedStep>>,
    targets: Res<Targets>,
    mut creeps: Query<(&mut Place, &mut Health)>,
    mut damage: MessageWriter<Damage>,
) {
    for hit in &arenas[targets.0.now()] {
        if let Ok(creep) = creeps.get_mut(hit.creep) {
            damage.write(strike(hit, creep));
        }
    }
}

fn cull(
    arenas: Res<FrameArenas>,
    frame: Res<Frame>,
    creeps: Query<(Entity, &Place), With<Health>>,
    mut visible: ResMut<Visible>,
) {
    let seen = arenas.collector();
    creeps.par_iter().for_each_init(
        || seen.batch(),
        |batch, (entity, place)| {
            if is_in_view(place, frame.0) {
                batch.push(entity);
            }
        },
    );
    visible.0.set(seen.share_sorted());
}

fn count_visible(arenas: Res<FrameArenas>, visible: Res<Visible>, mut sum: ResMut<Sum>) {
    for change in visible.0.changes(&arenas) {
        match change {
            Change::Added(entity) => sum.add(entity.to_bits()),
            Change::Removed(entity) => sum.add(entity.to_bits() + 1),
            Change::Changed { .. } => {}
        }
    }
}

fn label(arenas: Res<FrameArenas>, mut damage: MessageReader<Damage>, mut labels: ResMut<Labels>) {
    let arena = arenas.local();
    labels.0 = arena.share_iter(
        damage
            .read()
            .map(|damage| (damage.place, share_format!(arena, "-{} HP", damage.amount))),
    );
}

fn draw(
    arenas: Res<FrameArenas>,
    labels: Res<Labels>,
    visible: Res<Visible>,
    mut sum: ResMut<Sum>,
) {
    for (place, label) in &arenas[labels.0] {
        let label = &arenas[*label];
        sum.add(label.len() as u64 + u64::from(label.as_bytes()[1]) + place[0] as u64);
    }
    for entity in &arenas[visible.0.now()] {
        sum.add(entity.to_bits());
    }
}
