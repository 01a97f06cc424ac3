//! The systems with lists that are kept and cleared.

use std::fmt::Write;
use std::mem;
use std::ops::Range;

use bevy_app::{App, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_utils::Parallel;

use super::{
    CELLS, Damage, Frame, HEIGHT, Health, Hit, Near, Place, Seen, Speed, Sum, Tower, WIDTH,
    cell_of, fly, is_in_view, near, shoot, strike,
};

pub(super) fn add(app: &mut App) {
    app.init_resource::<Grid>()
        .init_resource::<Targets>()
        .init_resource::<Visible>()
        .init_resource::<Labels>()
        .add_systems(
            FixedUpdate,
            (fill_grid, steer, aim, count_targets, hit).chain(),
        )
        .add_systems(Update, (cull, count_visible, label, draw).chain());
}

#[derive(Resource, Default)]
struct Grid {
    cells: Vec<u32>,
    ends: Vec<u32>,
    creeps: Vec<Seen>,
}

impl Grid {
    fn around(&self, cell: usize) -> impl Iterator<Item = &Seen> {
        let (x, y) = (cell % WIDTH, cell / WIDTH);
        let (left, right) = (x.saturating_sub(1), WIDTH.min(x + 2));
        (y.saturating_sub(1)..HEIGHT.min(y + 2)).flat_map(move |y| {
            let [start, end] = [left, right].map(|x| self.ends[y * WIDTH + x] as usize);
            &self.creeps[start..end]
        })
    }
}

#[derive(Resource, Default)]
struct Targets {
    now: Vec<Hit>,
    before: Vec<Hit>,
}

#[derive(Resource, Default)]
struct Visible {
    now: Vec<Entity>,
    before: Vec<Entity>,
}

#[derive(Resource, Default)]
struct Labels {
    text: String,
    labels: Vec<([f32; 2], Range<usize>)>,
}

fn fill_grid(mut grid: ResMut<Grid>, all: Query<(Entity, &Place, &Speed)>) {
    let Grid {
        cells,
        ends,
        creeps,
    } = &mut *grid;
    cells.clear();
    ends.clear();
    ends.resize(CELLS + 1, 0);
    for (_, place, _) in &all {
        let cell = cell_of(place.0);
        ends[cell + 1] += 1;
        cells.push(cell as u32);
    }
    let mut sum = 0;
    for end in &mut ends[1..] {
        sum += mem::replace(end, sum);
    }
    let unset = Seen {
        entity: Entity::PLACEHOLDER,
        place: [0.0; 2],
        speed: [0.0; 2],
    };
    creeps.resize(cells.len(), unset);
    for ((entity, place, speed), cell) in all.iter().zip(cells) {
        let end = &mut ends[*cell as usize + 1];
        creeps[*end as usize] = Seen {
            entity,
            place: place.0,
            speed: speed.0,
        };
        *end += 1;
    }
}

fn steer(
    grid: Res<Grid>,
    lists: Local<Parallel<Vec<Near>>>,
    mut creeps: Query<(Entity, &mut Place, &mut Speed)>,
) {
    creeps.par_iter_mut().for_each_init(
        || lists.borrow_local_mut(),
        |list, (entity, mut place, mut speed)| {
            let around = grid.around(cell_of(place.0));
            list.clear();
            list.extend(around.filter_map(|it| near(entity, place.0, it)));
            fly(&mut place, &mut speed, list);
        },
    );
}

fn aim(
    grid: Res<Grid>,
    towers: Query<&Tower>,
    mut queues: Local<Parallel<Vec<Hit>>>,
    mut targets: ResMut<Targets>,
) {
    towers.par_iter().for_each_init(
        || queues.borrow_local_mut(),
        |queue, tower| queue.extend(shoot(tower, grid.around(cell_of(tower.place)))),
    );
    let Targets { now, before } = &mut *targets;
    mem::swap(now, before);
    now.clear();
    queues.drain_into(now);
    now.sort_unstable();
}

/// Calls `f` with what only the new list has, and with what only the old one has.
fn compare<T: Copy + Ord>(now: &[T], before: &[T], mut f: impl FnMut(Option<T>, Option<T>)) {
    let mut old = before.iter().copied().peekable();
    for new in now.iter().copied() {
        while let Some(removed) = old.next_if(|old| *old < new) {
            f(None, Some(removed));
        }
        if old.next_if_eq(&new).is_none() {
            f(Some(new), None);
        }
    }
    old.for_each(|removed| f(None, Some(removed)));
}

fn count_targets(targets: Res<Targets>, mut sum: ResMut<Sum>) {
    compare(&targets.now, &targets.before, |gained, lost| {
        if let Some(hit) = gained {
            sum.add(hit.creep.to_bits());
        }
        if let Some(hit) = lost {
            sum.add(hit.damage.into());
        }
    });
}

fn hit(
    targets: Res<Targets>,
    mut creeps: Query<(&mut Place, &mut Health)>,
    mut damage: MessageWriter<Damage>,
) {
    for hit in &targets.now {
        if let Ok(creep) = creeps.get_mut(hit.creep) {
            damage.write(strike(hit, creep));
        }
    }
}

fn cull(
    frame: Res<Frame>,
    creeps: Query<(Entity, &Place), With<Health>>,
    mut queues: Local<Parallel<Vec<Entity>>>,
    mut visible: ResMut<Visible>,
) {
    creeps.par_iter().for_each_init(
        || queues.borrow_local_mut(),
        |queue, (entity, place)| {
            if is_in_view(place, frame.0) {
                queue.push(entity);
            }
        },
    );
    let Visible { now, before } = &mut *visible;
    mem::swap(now, before);
    now.clear();
    queues.drain_into(now);
    now.sort_unstable();
}

fn count_visible(visible: Res<Visible>, mut sum: ResMut<Sum>) {
    compare(&visible.now, &visible.before, |added, removed| {
        if let Some(entity) = added {
            sum.add(entity.to_bits());
        }
        if let Some(entity) = removed {
            sum.add(entity.to_bits() + 1);
        }
    });
}

fn label(mut damage: MessageReader<Damage>, mut labels: ResMut<Labels>) {
    let Labels { text, labels } = &mut *labels;
    text.clear();
    labels.clear();
    for damage in damage.read() {
        let start = text.len();
        write!(text, "-{} HP", damage.amount).expect("a `String` takes all text");
        labels.push((damage.place, start..text.len()));
    }
}

fn draw(labels: Res<Labels>, visible: Res<Visible>, mut sum: ResMut<Sum>) {
    for (place, range) in &labels.labels {
        let label = &labels.text[range.clone()];
        sum.add(label.len() as u64 + u64::from(label.as_bytes()[1]) + place[0] as u64);
    }
    for entity in &visible.now {
        sum.add(entity.to_bits());
    }
}
