//! Agents into the cells of a grid, and what is found around each of them.

use std::fmt;

use bevy_frame_arena::{CellMap, Cells, CollectIn, FrameArenas, FrameHandle};
use bevy_platform::collections::HashMap;
use bevy_tasks::ComputeTaskPool;
use bevy_utils::Parallel;

use crate::WARM_UP_FRAMES;
use crate::counts;
use crate::race::{Racer, print_table};

const COUNTING_SORT: &str = "counting sort by hand, reused lists";
const COUNTING_SORT_TWICE: &str = "the same, two of each result: the last frame can be read";
const COUNTING_SORT_DIRECT: &str = "the same, straight from the list of agents";
const CELLS: &str = "ours: `share_cells`";
const CELLS_PUSHED: &str = "ours: `push` for each agent, `share_cells`";
const CELL_MAP: &str = "ours: `share_cell_map`";
const SORTED: &str = "ours: batch, `share_sorted_by_key`";
const COLLECTED: &str = "ours: `collect_in` of a filter, `share`";
const SHARED: &str = "ours: `share_iter` of a filter";

/// Returns the most instructions that one of our ways may need, as a part of what the first needs.
pub(crate) fn limit(scene: &str, way: &str) -> f64 {
    match way {
        CELLS | CELLS_PUSHED if scene.starts_with("look-up") => 0.7,
        CELLS => 0.53,
        CELLS_PUSHED => 0.65,
        CELL_MAP if scene.starts_with("5000 agents, 100000 cells") => 0.62,
        // Valgrind counts the table that is cleared by bytes: a megabyte of it. In time it is ahead.
        CELL_MAP if scene.contains("100000 cells") && !scene.starts_with("look-up") => 1.14,
        CELL_MAP if !scene.starts_with("look-up") => 1.1,
        // A slot, a key and two ends for each cell; in time it is ahead.
        CELL_MAP if scene.starts_with("look-up") && scene.contains("1620 cells") => 1.1,
        CELL_MAP if scene.starts_with("look-up") => 0.95,
        SORTED => 1.02,
        COLLECTED | SHARED => 1.01,
        _ => f64::INFINITY,
    }
}

/// Returns which other way of the same scene one of ours is compared with, too, and the limit.
pub(crate) fn second_limit(way: &str) -> Option<(&'static str, f64)> {
    (way == CELLS).then_some((COUNTING_SORT, 0.95))
}

/// Frames of the same way before each one that is timed. A game has one way, which finds its own memory in the
/// cache, and not that of four others.
const UNTIMED_FRAMES: usize = 3;

/// Tasks that all agents are divided into, with several workers.
const TASKS: usize = 16;

/// How many agents there are, and how many cells.
#[derive(Clone, Copy)]
struct Shape {
    agents: u32,
    size: [u32; 2],
    workers: usize,
}

const SCENES: [Shape; 4] = [
    Shape::new(5_000, [54, 30]),
    Shape::new(50_000, [54, 30]),
    Shape::new(5_000, [400, 250]),
    Shape::new(50_000, [400, 250]),
];

impl Shape {
    const fn new(agents: u32, size: [u32; 2]) -> Self {
        Self {
            agents,
            size,
            workers: 1,
        }
    }

    const fn cells(self) -> u32 {
        self.size[0] * self.size[1]
    }

    fn is_dense(self) -> bool {
        self.cells() < 10_000
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [agents, cells, workers] = [self.agents, self.cells(), self.workers as u32];
        write!(f, "{agents} agents, {cells} cells, workers: {workers}")
    }
}

#[derive(Clone, Copy)]
struct Agent {
    place: [f32; 2],
    velocity: [f32; 2],
    id: u64,
}

struct Scene {
    shape: Shape,
    agents: Vec<Agent>,
}

impl Scene {
    fn new(shape: Shape) -> Self {
        let agent = |n| Agent {
            place: [0.0; 2],
            velocity: [1.0; 2],
            id: n,
        };
        let mut scene = Self {
            shape,
            agents: (0..u64::from(shape.agents)).map(agent).collect(),
        };
        scene.scatter(0);
        scene
    }

    /// Moves all agents.
    fn scatter(&mut self, frame: u32) {
        let mut random = u64::from(frame).wrapping_mul(0x9e37_79b9) | 1;
        for agent in &mut self.agents {
            agent.place = self.shape.size.map(|size| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 40) as f32 / (1 << 24) as f32 * size as f32
            });
            agent.velocity[0] += agent.place[0];
        }
    }

    fn cell_of(&self) -> impl Fn(&Agent) -> u32 + Copy + use<> {
        let width = self.shape.size[0];
        move |agent| agent.place[0] as u32 + agent.place[1] as u32 * width
    }

    /// Calls `f` with parts of all agents, on all workers.
    fn for_each_chunk(&self, f: impl Fn(&[Agent]) + Sync) {
        if self.shape.workers == 1 {
            return f(&self.agents);
        }
        let f = &f;
        ComputeTaskPool::get().scope(|scope| {
            for chunk in self.agents.chunks(self.agents.len().div_ceil(TASKS)) {
                scope.spawn(async move { f(chunk) });
            }
        });
    }

    /// Calls `f` with each agent on this thread, after the workers have seen them.
    fn gather(&self, queues: &mut Parallel<Vec<Agent>>, mut f: impl FnMut(&Agent)) {
        if self.shape.workers == 1 {
            return self.agents.iter().for_each(f);
        }
        self.for_each_chunk(|chunk| queues.borrow_local_mut().extend_from_slice(chunk));
        for queue in queues.iter_mut() {
            queue.drain(..).for_each(|agent| f(&agent));
        }
    }

    /// Calls `f` with the numbers of the cells around a place.
    fn around(&self, cell: u32, mut f: impl FnMut(u32)) {
        let [width, height] = self.shape.size;
        let (x, y) = (cell % width, cell / width);
        for y in y.saturating_sub(1)..height.min(y + 2) {
            for x in x.saturating_sub(1)..width.min(x + 2) {
                f(x + y * width);
            }
        }
    }
}

/// Sums up what depends on all agents that were found.
fn sum(found: &[Agent]) -> u64 {
    found.iter().map(|agent| agent.id).sum()
}

trait Way {
    fn name(&self) -> &'static str;
    fn build(&mut self, scene: &Scene);
    /// Sums up what is around one cell.
    fn look_up(&self, scene: &Scene, cell: u32) -> u64;
}

/// What is made, and the ways to do it.
fn groups(shape: Shape) -> Vec<(&'static str, Vec<Box<dyn Way>>)> {
    let mut groups = vec![("", ways(shape))];
    if shape.is_dense() && shape.workers == 1 {
        groups.push((
            "not in cells, but sorted: ",
            vec![Box::new(PlainSort::default()), Box::new(OurSort::default())],
        ));
        groups.push((
            "not in cells, but filtered: ",
            vec![
                Box::new(PlainFilter::default()),
                Box::new(OurFilter::default()),
                Box::new(OurShareIter::default()),
            ],
        ));
    }
    groups
}

fn ways(shape: Shape) -> Vec<Box<dyn Way>> {
    let mut ways: Vec<Box<dyn Way>> = vec![Box::new(Map::default())];
    if shape.is_dense() {
        ways.push(Box::new(CountingSort::new(COUNTING_SORT)));
        ways.push(Box::new(CountingSort::new(COUNTING_SORT_TWICE)));
    }
    if shape.is_dense() && shape.workers == 1 {
        ways.push(Box::new(CountingSort::new(COUNTING_SORT_DIRECT)));
    }
    ways.push(Box::new(Sorted::default()));
    if shape.is_dense() {
        ways.extend(
            [CELLS, CELLS_PUSHED].map(|name| Box::new(OurCells::new(name)) as Box<dyn Way>),
        );
    }
    ways.push(Box::new(OurMap::default()));
    ways
}

#[derive(Default)]
struct Map {
    queues: Parallel<Vec<Agent>>,
    cells: HashMap<u32, Vec<Agent>>,
}

impl Way for Map {
    fn name(&self) -> &'static str {
        "`HashMap<u32, Vec>`, cleared"
    }

    fn build(&mut self, scene: &Scene) {
        self.cells.values_mut().for_each(Vec::clear);
        let (cell_of, cells) = (scene.cell_of(), &mut self.cells);
        scene.gather(&mut self.queues, |agent| {
            cells.entry(cell_of(agent)).or_default().push(*agent);
        });
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        let mut all = 0;
        scene.around(cell, |cell| {
            all += self.cells.get(&cell).map_or(0, |it| sum(it));
        });
        all
    }
}

/// The cells of one frame.
#[derive(Default)]
struct Counted {
    ends: Vec<u32>,
    placed: Vec<Agent>,
}

impl Counted {
    fn count(&mut self, agents: &[Agent], keys: &mut Vec<u32>, scene: &Scene) {
        let (Self { ends, placed }, cell_of) = (self, scene.cell_of());
        ends.clear();
        ends.resize(scene.shape.cells() as usize + 1, 0);
        keys.clear();
        for agent in agents {
            let cell = cell_of(agent);
            ends[cell as usize + 1] += 1;
            keys.push(cell);
        }
        let mut all = 0;
        for end in &mut ends[1..] {
            all += std::mem::replace(end, all);
        }
        // Every place is written below, so what is there already may stay.
        placed.resize(agents.len(), agents[0]);
        for (agent, cell) in agents.iter().zip(keys.iter()) {
            let end = &mut ends[*cell as usize + 1];
            placed[*end as usize] = *agent;
            *end += 1;
        }
    }
}

#[derive(Default)]
struct CountingSort {
    queues: Parallel<Vec<Agent>>,
    agents: Vec<Agent>,
    keys: Vec<u32>,
    cells: [Counted; 2],
    is_second: bool,
    name: &'static str,
}

impl CountingSort {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

impl Way for CountingSort {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&mut self, scene: &Scene) {
        self.is_second ^= self.name == COUNTING_SORT_TWICE;
        let cells = &mut self.cells[usize::from(self.is_second)];
        if self.name == COUNTING_SORT_DIRECT {
            return cells.count(&scene.agents, &mut self.keys, scene);
        }
        self.agents.clear();
        if scene.shape.workers == 1 {
            self.agents.extend_from_slice(&scene.agents);
        } else {
            scene.for_each_chunk(|chunk| self.queues.borrow_local_mut().extend_from_slice(chunk));
            self.queues.drain_into(&mut self.agents);
        }
        cells.count(&self.agents, &mut self.keys, scene);
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        let Counted { ends, placed } = &self.cells[usize::from(self.is_second)];
        let mut all = 0;
        scene.around(cell, |cell| {
            let [start, end] = [0, 1].map(|it| ends[cell as usize + it] as usize);
            all += sum(&placed[start..end]);
        });
        all
    }
}

#[derive(Default)]
struct Sorted {
    queues: Parallel<Vec<Agent>>,
    agents: Vec<(u32, Agent)>,
}

impl Way for Sorted {
    fn name(&self) -> &'static str {
        "`sort_unstable_by_key`, binary search"
    }

    fn build(&mut self, scene: &Scene) {
        let (cell_of, agents) = (scene.cell_of(), &mut self.agents);
        agents.clear();
        scene.gather(&mut self.queues, |agent| {
            agents.push((cell_of(agent), *agent));
        });
        agents.sort_unstable_by_key(|it| it.0);
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        let mut all = 0;
        scene.around(cell, |cell| {
            let start = self.agents.partition_point(|it| it.0 < cell);
            let found = self.agents[start..].iter().take_while(|it| it.0 == cell);
            all += found.map(|it| it.1.id).sum::<u64>();
        });
        all
    }
}

#[derive(Default)]
struct OurCells {
    arenas: FrameArenas,
    cells: FrameHandle<Cells<Agent>>,
    name: &'static str,
}

impl OurCells {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

impl Way for OurCells {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&mut self, scene: &Scene) {
        self.arenas.swap();
        let cell_of = scene.cell_of();
        let agents = self.arenas.collector();
        let is_pushed = self.name == CELLS_PUSHED;
        scene.for_each_chunk(|chunk| {
            let mut batch = agents.batch();
            if is_pushed {
                chunk.iter().for_each(|agent| batch.push(*agent));
            } else {
                batch.extend_from_slice(chunk);
            }
        });
        let cells = scene.shape.cells() as usize;
        self.cells = agents.share_cells(cells, |agent| cell_of(agent) as usize);
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        let size = scene.shape.size.map(|size| size as usize);
        let around = self.arenas[self.cells].around(cell as usize, size);
        around.map(|agent| agent.id).sum()
    }
}

#[derive(Default)]
struct OurMap {
    arenas: FrameArenas,
    cells: FrameHandle<CellMap<u32, Agent>>,
}

impl Way for OurMap {
    fn name(&self) -> &'static str {
        CELL_MAP
    }

    fn build(&mut self, scene: &Scene) {
        self.arenas.swap();
        let agents = self.arenas.collector();
        scene.for_each_chunk(|chunk| agents.batch().extend_from_slice(chunk));
        self.cells = agents.share_cell_map(scene.cell_of());
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        let cells = &self.arenas[self.cells];
        let mut all = 0;
        scene.around(cell, |cell| all += sum(&cells[&cell]));
        all
    }
}

/// A list that is in no order, sorted.
#[derive(Default)]
struct PlainSort(Vec<Agent>);

/// A key that puts agents in another order than they have.
fn shuffled(agent: &Agent) -> u64 {
    agent.id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Way for PlainSort {
    fn name(&self) -> &'static str {
        "`clear`, `extend_from_slice`, `sort_unstable_by_key`"
    }

    fn build(&mut self, scene: &Scene) {
        self.0.clear();
        self.0.extend_from_slice(&scene.agents);
        self.0.sort_unstable_by_key(shuffled);
    }

    fn look_up(&self, _: &Scene, cell: u32) -> u64 {
        self.0[cell as usize].id
    }
}

#[derive(Default)]
struct OurSort {
    arenas: FrameArenas,
    list: FrameHandle<[Agent]>,
}

impl Way for OurSort {
    fn name(&self) -> &'static str {
        SORTED
    }

    fn build(&mut self, scene: &Scene) {
        self.arenas.swap();
        let agents = self.arenas.collector();
        scene.for_each_chunk(|chunk| agents.batch().extend_from_slice(chunk));
        self.list = agents.share_sorted_by_key(shuffled);
    }

    fn look_up(&self, _: &Scene, cell: u32) -> u64 {
        self.arenas[self.list][cell as usize].id
    }
}

/// A list whose length nobody knows beforehand.
#[derive(Default)]
struct PlainFilter(Vec<Agent>);

/// True for about a half.
fn is_left(agent: &&Agent) -> bool {
    agent.place[0].fract() < 0.5
}

impl Way for PlainFilter {
    fn name(&self) -> &'static str {
        "`clear`, `extend` of a filter"
    }

    fn build(&mut self, scene: &Scene) {
        self.0.clear();
        self.0.extend(scene.agents.iter().filter(is_left).copied());
    }

    fn look_up(&self, _: &Scene, cell: u32) -> u64 {
        self.0[cell as usize].id
    }
}

#[derive(Default)]
struct OurFilter {
    arenas: FrameArenas,
    list: FrameHandle<[Agent]>,
}

impl Way for OurFilter {
    fn name(&self) -> &'static str {
        COLLECTED
    }

    fn build(&mut self, scene: &Scene) {
        self.arenas.swap();
        let list = scene.agents.iter().filter(is_left).copied();
        self.list = list.collect_in(self.arenas.local()).share();
    }

    fn look_up(&self, _: &Scene, cell: u32) -> u64 {
        self.arenas[self.list][cell as usize].id
    }
}

#[derive(Default)]
struct OurShareIter(OurFilter);

impl Way for OurShareIter {
    fn name(&self) -> &'static str {
        SHARED
    }

    fn build(&mut self, scene: &Scene) {
        self.0.arenas.swap();
        let list = scene.agents.iter().filter(is_left).copied();
        self.0.list = self.0.arenas.local().share_iter(list);
    }

    fn look_up(&self, scene: &Scene, cell: u32) -> u64 {
        self.0.look_up(scene, cell)
    }
}

/// Looks up what is around all cells.
#[inline(never)]
fn look_up_all(way: &dyn Way, scene: &Scene) -> u64 {
    let cells = (0..scene.shape.cells()).step_by(scene.shape.cells() as usize / 1_620);
    cells
        .map(|cell| way.look_up(scene, cell))
        .fold(0, u64::wrapping_add)
}

/// Runs all ways in all scenes, for callgrind to count.
pub(crate) fn run_measured() {
    for shape in SCENES {
        let mut scene = Scene::new(shape);
        for (what, ways) in groups(shape) {
            for mut way in ways {
                for frame in 0..4 * WARM_UP_FRAMES {
                    scene.scatter(frame);
                    way.build(&scene);
                }
                counts::segment(&mut scene, Scene::scatter, |scene| way.build(scene));
                println!("{what}{shape}\t{}", way.name());
            }
        }
        for mut way in ways(shape) {
            way.build(&scene);
            counts::segment(
                &mut scene,
                |_, _| {},
                |scene| {
                    std::hint::black_box(look_up_all(&*way, scene));
                },
            );
            println!("look-up of 3 x 3: {shape}\t{}", way.name());
        }
    }
}

pub(crate) fn print_times(rounds: usize) {
    for workers in [1, 4] {
        for shape in SCENES {
            let shape = Shape { workers, ..shape };
            for (what, ways) in groups(shape) {
                race(what, ways, shape, rounds);
            }
        }
    }
}

fn race(what: &str, ways: Vec<Box<dyn Way>>, shape: Shape, rounds: usize) {
    let mut scene = Scene::new(shape);
    let mut racers: Vec<_> = ways.into_iter().map(Racer::new).collect();
    let mut look_ups: Vec<_> = racers.iter().map(|_| Racer::new(())).collect();
    let len = racers.len();
    for round in 0..rounds + 4 * WARM_UP_FRAMES as usize {
        for index in (0..len).map(|index| (index + round) % len) {
            let racer = &mut racers[index];
            for frame in 0..UNTIMED_FRAMES {
                scene.scatter((round * 16 + index + 1_000 * frame) as u32);
                racer.way.build(&scene);
                std::hint::black_box(look_up_all(&*racer.way, &scene));
            }
            scene.scatter((round * 16 + index) as u32);
            racer.run_timed(|way| way.build(&scene));
            let way = &*racer.way;
            look_ups[index].run_timed(|()| {
                std::hint::black_box(look_up_all(way, &scene));
            });
        }
    }
    let sums = racers.iter_mut().map(|racer| {
        racer.way.build(&scene);
        look_up_all(&*racer.way, &scene)
    });
    let sums: Vec<_> = sums.collect();
    assert!(sums.iter().all(|it| *it == sums[0]), "{sums:?}");
    let names: Vec<_> = racers.iter().map(|it| it.way.name()).collect();
    print_table(&format!("{what}{shape}"), &names, &mut racers);
    if what.is_empty() {
        print_table(&format!("look-up of 3 x 3: {shape}"), &names, &mut look_ups);
    }
}
