//! A game: creeps in the cells of a grid that keep away from each other, towers that shoot at the nearest one in
//! each fixed step, and a frame that draws what is in view and the damage.
//!
//! Its systems are written twice: in `plain.rs` with lists and maps that are kept from step to step, as Bevy's own
//! systems do, and in `ours.rs` with the crate. What both call is here. `scratch.rs` has other ways to get the
//! list that one creep needs for a moment.

mod ours;
mod plain;
mod scratch;

use bevy_app::{App, FixedMain, RunFixedMainLoop};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{Schedules, SingleThreadedExecutor};

use crate::ways::{self, Entry, Way};

const CREEPS: u32 = 5_000;
const TOWERS: u32 = 200;
const WIDTH: usize = 54;
const HEIGHT: usize = 30;
const CELLS: usize = WIDTH * HEIGHT;
const STEPS_PER_SECOND: u64 = 64;
const FRAMES_PER_SECOND: u64 = 60;

pub(crate) const ENTRIES: [Entry; 4] = [
    Entry::new("swarm", ways::REUSE, || Box::new(Game::new(plain::add))),
    Entry::new("swarm", ways::OURS, || {
        Box::new(Game::new(|app| ours::add(app, ours::steer)))
    }),
    Entry::new("swarm", ways::GUARD_EACH, || {
        Box::new(Game::new(|app| {
            ours::add(app, scratch::steer_with_guard_each);
        }))
    }),
    Entry::new("swarm", ways::ONE_GUARD, || {
        Box::new(Game::new(|app| {
            ours::add(app, scratch::steer_with_one_guard);
        }))
    }),
];

/// Prints how long the systems of the two ways are, without blank lines, comments and imports.
pub(crate) fn print_lines() {
    let [plain, ours] = [
        include_str!("swarm/plain.rs"),
        include_str!("swarm/ours.rs"),
    ]
    .map(|text| {
        let is_code = |line: &&str| {
            !["", "//", "use "]
                .iter()
                .any(|it| line.trim() == *it || (!it.is_empty() && line.trim().starts_with(it)))
        };
        text.lines().filter(is_code).count()
    });
    println!(
        "swarm, lines of all systems: {} {plain}, {} {ours}\n",
        ways::REUSE,
        ways::OURS
    );
}

#[derive(Component)]
struct Place([f32; 2]);

#[derive(Component)]
struct Speed([f32; 2]);

#[derive(Component)]
struct Health(u32);

#[derive(Component)]
struct Tower {
    place: [f32; 2],
    damage: u32,
}

/// What others see of a creep.
#[derive(Clone, Copy)]
struct Seen {
    entity: Entity,
    place: [f32; 2],
    speed: [f32; 2],
}

/// A creep and its distance.
type Near = (f32, Seen);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    creep: Entity,
    damage: u32,
}

/// From a step to the frame.
#[derive(Message)]
struct Damage {
    place: [f32; 2],
    amount: u32,
}

/// Depends on all that the game does: the same for all ways.
#[derive(Resource, Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, number: u64) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(number);
    }
}

fn cell_of(place: [f32; 2]) -> usize {
    place[0] as usize + place[1] as usize * WIDTH
}

fn squared_distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    let [x, y] = [a[0] - b[0], a[1] - b[1]];
    x * x + y * y
}

/// Returns a creep that another one looks at, if it is near.
fn near(entity: Entity, place: [f32; 2], other: &Seen) -> Option<Near> {
    let distance = squared_distance(place, other.place);
    (distance < 1.0 && other.entity != entity).then_some((distance, *other))
}

/// Moves a creep: it flies with the seven that are nearest, and keeps away from them.
fn fly(place: &mut Place, speed: &mut Speed, near: &mut [Near]) {
    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut turn = [0.0; 2];
    for (distance, other) in near.iter().take(7) {
        for (axis, turn) in turn.iter_mut().enumerate() {
            let away = (place.0[axis] - other.place[axis]) / (distance + 0.1);
            *turn += 0.01 * away + 0.02 * (other.speed[axis] - speed.0[axis]);
        }
    }
    for (axis, size) in [WIDTH as f32, HEIGHT as f32].into_iter().enumerate() {
        speed.0[axis] = (speed.0[axis] + turn[axis]).clamp(-1.0, 1.0);
        // Strictly below the size: a remainder may be rounded up to it.
        let moved = (place.0[axis] + speed.0[axis] * 0.1).rem_euclid(size);
        place.0[axis] = moved.min(size - 0.01);
    }
}

/// Returns the shot of a tower at the nearest creep.
fn shoot<'s>(tower: &Tower, around: impl Iterator<Item = &'s Seen>) -> Option<Hit> {
    let distance = |it: &Seen| squared_distance(tower.place, it.place);
    let nearest = around.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some(Hit {
        creep: nearest.entity,
        damage: tower.damage,
    })
}

/// Takes health from a creep. One that dies begins anew at the left.
fn strike(hit: &Hit, creep: (Mut<Place>, Mut<Health>)) -> Damage {
    let (mut place, mut health) = creep;
    let damage = Damage {
        place: place.0,
        amount: hit.damage,
    };
    match health.0.checked_sub(hit.damage) {
        Some(left) => health.0 = left,
        None => {
            health.0 = 100;
            place.0[0] = 0.0;
        }
    }
    damage
}

fn is_in_view(place: &Place, frame: u64) -> bool {
    let left = (frame % 30) as f32;
    place.0[0] >= left && place.0[0] < left + 24.0
}

#[derive(Resource, Default)]
struct Frame(u64);

struct Game(App);

impl Game {
    fn new(add_systems: fn(&mut App)) -> Self {
        let mut app = App::new();
        let mut random = 1_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 24) as f32
        };
        let mut place = || [next() * WIDTH as f32, next() * HEIGHT as f32];
        for _ in 0..CREEPS {
            let (place, [x, y]) = (place(), place());
            let speed = [x / WIDTH as f32 - 0.5, y / HEIGHT as f32 - 0.5];
            app.world_mut()
                .spawn((Place(place), Speed(speed), Health(100)));
        }
        for damage in 1..=TOWERS {
            let place = place();
            app.world_mut().spawn(Tower { place, damage });
        }
        // After the creeps: resources are entities too, and creeps have the same numbers in all ways.
        app.init_resource::<Sum>()
            .init_resource::<Frame>()
            .add_message::<Damage>()
            .add_systems(RunFixedMainLoop, run_steps);
        add_systems(&mut app);
        app.finish();
        app.cleanup();
        // All on this thread, so that callgrind counts all of it.
        let mut schedules = app.world_mut().resource_mut::<Schedules>();
        for (_, schedule) in schedules.iter_mut() {
            schedule.set_executor(SingleThreadedExecutor::new());
        }
        Self(app)
    }
}

impl Way for Game {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.0.update();
        self.0.world().resource::<Sum>().0
    }
}

/// Runs one step in most frames, two in some.
fn run_steps(world: &mut World) {
    let mut frame = world.resource_mut::<Frame>();
    frame.0 += 1;
    let steps_until = |frame| frame * STEPS_PER_SECOND / FRAMES_PER_SECOND;
    for _ in steps_until(frame.0 - 1)..steps_until(frame.0) {
        world.run_schedule(FixedMain);
    }
}
