//! The search for a way through the crowd and over the hills. It takes its time, in a task.

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_tasks::{AsyncComputeTaskPool, Task};

use super::grid::Entry;
use super::terrain::Map;

/// Blocks along a side of a field of the search.
const FIELD: usize = 4;
/// A search starts each time this many steps are over,
const EVERY_STEPS: u32 = 64;
/// and its result is needed this many steps later.
const NEEDED_AFTER_STEPS: u32 = 16;

/// Where the crowd goes.
#[derive(Resource, Default)]
pub struct Goal(pub Vec3);

/// The search that runs, and what it gives back: a goal, and the memory it used.
pub struct Search<M> {
    steps: u32,
    memory: Option<M>,
    task: Option<Task<(Vec3, M)>>,
}

impl<M: Default> Default for Search<M> {
    fn default() -> Self {
        Self {
            steps: 0,
            memory: Some(M::default()),
            task: None,
        }
    }
}

impl<M: Send + 'static> Search<M> {
    /// Counts a step, and returns the memory for a new search if it is time for one.
    pub fn begins(&mut self) -> Option<M> {
        self.steps += 1;
        let is_time = self.steps % EVERY_STEPS == 1;
        is_time.then(|| self.memory.take()).flatten()
    }

    /// Returns the number of the search that runs or begins.
    pub fn number(&self) -> u32 {
        self.steps / EVERY_STEPS
    }

    /// Runs a search in a task.
    pub fn run(&mut self, search: impl FnOnce() -> (Vec3, M) + Send + 'static) {
        let pool = AsyncComputeTaskPool::get();
        self.task = Some(pool.spawn(async move { search() }));
    }

    /// Takes the result when it is needed. In most games it would be as soon as it is there; here
    /// all runs shall be the same.
    pub fn finish(&mut self) -> Option<Vec3> {
        let is_time = self.steps % EVERY_STEPS > NEEDED_AFTER_STEPS;
        let task = self.task.as_mut().filter(|_| is_time)?;
        let (goal, memory) = wait_for(task)?;
        self.task = None;
        self.memory = Some(memory);
        Some(goal)
    }
}

#[cfg(not(target_family = "wasm"))]
pub(super) fn wait_for<T>(task: &mut Task<T>) -> Option<T> {
    Some(bevy_tasks::futures_lite::future::block_on(task))
}

/// Returns the result if it is there: a page has one thread, and the task runs after the frame.
#[cfg(target_family = "wasm")]
pub(super) fn wait_for<T>(task: &mut Task<T>) -> Option<T> {
    bevy_tasks::futures::check_ready(task)
}

/// Returns the number of fields on a map.
pub fn field_count(map: &Map) -> usize {
    let side = map.width() / FIELD;
    side * side
}

/// Writes what it costs to cross each field: it is steep here, and crowded there.
pub fn write_costs(map: &Map, crowd: &[Entry], costs: &mut [u8]) {
    let side = map.width() / FIELD;
    for (field, cost) in costs.iter_mut().enumerate() {
        let (x, z) = (field % side * FIELD, field / side * FIELD);
        let slope = map.height(x, z).abs_diff(map.height(x + FIELD, z + FIELD));
        *cost = 1 + slope.min(100);
    }
    for walker in crowd {
        let [x, z] = [walker.at.x, walker.at.z].map(|at| (at as usize / FIELD).min(side - 1));
        let cost = &mut costs[z * side + x];
        *cost = cost.saturating_add(2);
    }
}

/// Finds the way from the middle to one of the corners, and returns a goal that lies on it.
pub fn find_goal(costs: &[u8], search: u32, distances: &mut [u32]) -> Vec3 {
    let side = costs.len().isqrt();
    let corner = [0, side - 1, side * side - 1, side * (side - 1)][search as usize % 4];
    distances.fill(u32::MAX / 2);
    distances[corner] = 0;
    while sweep(costs, distances, side, 0..costs.len())
        | sweep(costs, distances, side, (0..costs.len()).rev())
    {}
    let mut field = side / 2 * side + side / 2;
    for _ in 0..side / 2 {
        let next = neighbours(field, side).min_by_key(|next| (distances[*next], *next));
        field = next.unwrap_or(field);
    }
    let place = |field: usize| (field * FIELD) as f32;
    Vec3::new(place(field % side), 0.0, place(field / side))
}

/// Updates all distances from their neighbours', and returns whether any became shorter.
fn sweep(
    costs: &[u8],
    distances: &mut [u32],
    side: usize,
    fields: impl Iterator<Item = usize>,
) -> bool {
    let mut is_changed = false;
    for field in fields {
        let best = neighbours(field, side).map(|next| distances[next]).min();
        let distance = best.unwrap_or(0) + u32::from(costs[field]);
        if distance < distances[field] {
            distances[field] = distance;
            is_changed = true;
        }
    }
    is_changed
}

fn neighbours(field: usize, side: usize) -> impl Iterator<Item = usize> {
    let (x, z) = (field % side, field / side);
    [
        (x > 0).then(|| field - 1),
        (x + 1 < side).then(|| field + 1),
        (z > 0).then(|| field - side),
        (z + 1 < side).then(|| field + side),
    ]
    .into_iter()
    .flatten()
}
