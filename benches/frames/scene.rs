//! The game that all ways play: its entities, and what is computed from them.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bevy_app::{App, First, TaskPoolOptions, TaskPoolPlugin};
use bevy_ecs::prelude::*;

const ENTITIES: u32 = 20_000;
pub(crate) const AGENTS: u32 = 2_000;
pub(crate) const LABELS: u32 = 500;

#[derive(Component, Clone, Copy)]
pub(crate) struct Position(pub(crate) [f32; 3]);

#[derive(Component, Clone, Copy)]
pub(crate) struct Id(pub(crate) u32);

#[derive(Resource, Default)]
pub(crate) struct Frame(pub(crate) u32);

/// What all systems computed so far: the same for all ways.
#[derive(Resource, Default)]
pub(crate) struct Checksum(AtomicU64);

impl Checksum {
    pub(crate) fn add(&self, value: u64) {
        self.0.fetch_add(value, Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Creates the app without the systems of a way.
pub(crate) fn app() -> App {
    let mut app = App::new();
    app.add_plugins(TaskPoolPlugin {
        // Half of them compute: enough for real parallelism on a small machine too.
        task_pool_options: TaskPoolOptions::with_num_threads(8),
    });
    app.init_resource::<Frame>();
    app.init_resource::<Checksum>();
    app.add_systems(First, |mut frame: ResMut<Frame>| frame.0 += 1);
    let entity = |number: u32| {
        let [x, y, z] = [1, 7, 13].map(|step| (number.wrapping_mul(step) % 1000) as f32);
        (Position([x, y, z]), Id(number))
    };
    app.world_mut().spawn_batch((0..ENTITIES).map(entity));
    app
}

/// Whether the camera sees an entity in this frame: two of three, and not always the same.
pub(crate) fn is_visible(frame: u32, id: u32) -> bool {
    !(id.wrapping_mul(2_654_435_761) ^ frame.wrapping_mul(97)).is_multiple_of(3)
}

/// What the drawn entities are sorted by.
pub(crate) fn sort_key(position: Position, id: u32) -> u64 {
    let [x, y, z] = position.0;
    (u64::from((x * x + y * y + z * z).to_bits()) << 32) | u64::from(id)
}

/// What the renderer gets for one entity.
pub(crate) type Instance = [f32; 16];

pub(crate) fn instance(key: u64) -> Instance {
    let scale = (key >> 32) as f32;
    let mut matrix = [0.0; 16];
    for diagonal in [0, 5, 10, 15] {
        matrix[diagonal] = scale;
    }
    matrix[12] = (key as u32) as f32;
    matrix
}

/// The agents that are near an agent: some of its 32 candidates.
pub(crate) fn neighbours(frame: u32, agent: u32) -> impl Iterator<Item = u32> {
    (1..=32)
        .map(move |step| (agent + step * 17) % AGENTS)
        .filter(move |other| (other ^ agent ^ frame) % 5 < 2)
}

/// Writes what hovers above an entity.
pub(crate) fn write_label(text: &mut impl Write, frame: u32, number: u32) {
    let hit_points = (number + frame) % 100;
    let written: fmt::Result = write!(text, "soldier {number}: {hit_points} HP");
    written.expect("memory takes all text");
}

/// Stands for the work that the game does with the drawn entities.
pub(crate) fn sum_of_instances(instances: &[Instance]) -> u64 {
    instances
        .iter()
        .map(|matrix| u64::from(matrix[12].to_bits()))
        .sum()
}
