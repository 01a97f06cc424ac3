//! A flock: the neighbours of each agent, found in a `par_iter` and read by another system. Some are in a crowd, so that
//! their lists are long. The grid is temporary.

use std::sync::Mutex;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArena, FrameArenas, FrameHandle};
use bevy_utils::Parallel;

use crate::scene::{Checksum, Frame};
use crate::ways::{FrameHerd, Way};
use crate::workers::{one_by_one, spread};

const GROUPS: u32 = 64;
const AGENTS_PER_GROUP: u32 = 256;
const AGENTS: usize = (GROUPS * AGENTS_PER_GROUP) as usize;
const CELLS_PER_SIDE: u32 = 64;
const CELLS: usize = (CELLS_PER_SIDE * CELLS_PER_SIDE) as usize;

pub(crate) fn app(way: Way) -> Option<App> {
    let mut app = App::new();
    way.add_memory(&mut app);
    app.init_resource::<Frame>()
        .init_resource::<Checksum>()
        .insert_resource(Flock::new())
        .add_systems(PreUpdate, go);
    match way {
        Way::Nothing => {}
        Way::Reuse => {
            app.register_required_components::<Group, Reused<1>>();
            app.add_systems(Update, (find_reused::<1>, steer_reused::<1>).chain());
        }
        Way::ReuseTwice => {
            app.register_required_components::<Group, Reused<2>>();
            app.add_systems(Update, (find_reused::<2>, steer_reused::<2>).chain());
        }
        Way::Herd => {
            app.add_systems(Update, find_in_herd);
        }
        Way::Ours => {
            app.register_required_components::<Group, Shared>();
            app.add_systems(Update, (find_in_arena, steer_shared).chain());
        }
        Way::Scratch | Way::OnePeriod => {
            app.register_required_components::<Group, Shared>();
            app.add_systems(Update, (find_with_scratch, steer_shared).chain());
        }
    }
    app.world_mut().spawn_batch((0..GROUPS).map(Group));
    Some(app)
}

/// The agents with the numbers from `256 * n` on.
#[derive(Component, Clone, Copy)]
struct Group(u32);

impl Group {
    fn agents(self) -> std::ops::Range<u32> {
        self.0 * AGENTS_PER_GROUP..(self.0 + 1) * AGENTS_PER_GROUP
    }
}

#[derive(Resource)]
struct Flock {
    homes: Vec<[f32; 2]>,
    places: Vec<[f32; 2]>,
    speeds: Vec<[f32; 2]>,
    next_speeds: Vec<[f32; 2]>,
}

impl Flock {
    fn new() -> Self {
        let mut random = 1_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 24) as f32
        };
        // One group of eight is in a crowd.
        let side = |agent: usize| match (agent as u32 / AGENTS_PER_GROUP).is_multiple_of(8) {
            true => 6.0,
            false => CELLS_PER_SIDE as f32,
        };
        let homes: Vec<[f32; 2]> = (0..AGENTS)
            .map(|agent| [next() * side(agent), next() * side(agent)])
            .collect();
        let speeds: Vec<[f32; 2]> = (0..AGENTS).map(|_| [next() - 0.5, next() - 0.5]).collect();
        Self {
            places: homes.clone(),
            homes,
            next_speeds: speeds.clone(),
            speeds,
        }
    }

    fn cell(&self, agent: usize) -> usize {
        let [x, y] = self.places[agent].map(|it| it as u32 % CELLS_PER_SIDE);
        (y * CELLS_PER_SIDE + x) as usize
    }

    /// Sorts the agents by their cells. `starts` has a zero for each cell and two more.
    fn fill_grid(&self, starts: &mut [u32], agents: &mut [u32]) {
        for agent in 0..AGENTS {
            starts[self.cell(agent) + 2] += 1;
        }
        for cell in 2..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        for agent in 0..AGENTS {
            let place = &mut starts[self.cell(agent) + 1];
            agents[*place as usize] = agent as u32;
            *place += 1;
        }
    }

    /// The agents that are near an agent, from the cells around it.
    fn neighbours(&self, agent: u32, (starts, agents): Grid<'_>) -> impl Iterator<Item = u32> {
        let [x, y] = self.places[agent as usize];
        let steps = [CELLS_PER_SIDE - 1, 0, 1];
        let cells = steps.into_iter().flat_map(move |dy| {
            let row = (y as u32 + dy) % CELLS_PER_SIDE * CELLS_PER_SIDE;
            steps.map(move |dx| (row + (x as u32 + dx) % CELLS_PER_SIDE) as usize)
        });
        let near =
            cells.flat_map(move |cell| &agents[starts[cell] as usize..starts[cell + 1] as usize]);
        near.copied().filter(move |&other| {
            let [dx, dy] = [0, 1].map(|axis| self.places[other as usize][axis] - [x, y][axis]);
            dx * dx + dy * dy < 1.0 && other != agent
        })
    }

    /// Turns each agent of a group a little to where its neighbours go, and returns a sum of it all.
    fn steer(&mut self, group: Group, near: &[u32], ends: &[u32]) -> u64 {
        let (mut sum, mut start) = (0_u64, 0);
        for (agent, &end) in group.agents().zip(ends) {
            let list = &near[start as usize..end as usize];
            start = end;
            let mut mean = [0.0; 2];
            for &other in list {
                let speed = self.speeds[other as usize];
                mean = [mean[0] + speed[0], mean[1] + speed[1]];
            }
            let share = 0.1 / list.len().max(1) as f32;
            let speed = self.speeds[agent as usize];
            let next = [0, 1].map(|axis| speed[axis] * 0.9 + mean[axis] * share);
            self.next_speeds[agent as usize] = next;
            sum += list.len() as u64 + u64::from(next[0].to_bits() & 0xFF);
        }
        sum
    }
}

/// The starts of the cells, and the agents by cell.
type Grid<'a> = (&'a [u32], &'a [u32]);

/// Moves all agents, each around its home.
fn go(mut frame: ResMut<Frame>, mut flock: ResMut<Flock>) {
    frame.0 += 1;
    let flock = &mut *flock;
    std::mem::swap(&mut flock.speeds, &mut flock.next_speeds);
    let way = (frame.0 % 32).abs_diff(16) as f32 * 0.1;
    for (agent, place) in flock.places.iter_mut().enumerate() {
        let (home, speed) = (flock.homes[agent], flock.speeds[agent]);
        let side = CELLS_PER_SIDE as f32;
        *place = [0, 1].map(|axis| (home[axis] + speed[axis] * way).rem_euclid(side));
    }
}

/// The lists of a group's agents, one after the other, and where each ends; for a number of frames.
#[derive(Component)]
struct Reused<const FRAMES: usize>([(Vec<u32>, Vec<u32>); FRAMES]);

impl<const FRAMES: usize> Default for Reused<FRAMES> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Default::default()))
    }
}

fn find_reused<const FRAMES: usize>(
    (frame, flock): (Res<Frame>, Res<Flock>),
    mut groups: Query<(&Group, &mut Reused<FRAMES>)>,
    mut starts: Local<Vec<u32>>,
    mut agents: Local<Vec<u32>>,
) {
    starts.clear();
    starts.resize(CELLS + 2, 0);
    agents.resize(AGENTS, 0);
    flock.fill_grid(&mut starts, &mut agents);
    let grid: Grid<'_> = (&starts, &agents);
    let groups = groups.par_iter_mut().batching_strategy(one_by_one());
    groups.for_each(|(group, mut lists)| {
        let (near, ends) = &mut lists.0[frame.0 as usize % FRAMES];
        near.clear();
        ends.clear();
        for agent in group.agents() {
            near.extend(flock.neighbours(agent, grid));
            ends.push(near.len() as u32);
        }
        spread();
    });
}

fn steer_reused<const FRAMES: usize>(
    (frame, checksum): (Res<Frame>, Res<Checksum>),
    mut flock: ResMut<Flock>,
    groups: Query<(&Group, &Reused<FRAMES>)>,
) {
    for (group, lists) in &groups {
        let (near, ends) = &lists.0[frame.0 as usize % FRAMES];
        checksum.add(flock.steer(*group, near, ends));
    }
}

#[derive(Component, Default)]
struct Shared {
    near: FrameHandle<[u32]>,
    ends: FrameHandle<[u32]>,
}

fn fill_grid_in<'a>(flock: &Flock, arena: &'a FrameArena) -> Grid<'a> {
    let starts = arena.alloc_slice_fill_copy(CELLS + 2, 0);
    let agents = arena.alloc_slice_fill_copy(AGENTS, 0);
    flock.fill_grid(starts, agents);
    (starts, agents)
}

fn find_in_arena(
    arenas: Res<FrameArenas>,
    flock: Res<Flock>,
    mut groups: Query<(&Group, &mut Shared)>,
) {
    let grid = fill_grid_in(&flock, arenas.local());
    let groups = groups.par_iter_mut().batching_strategy(one_by_one());
    groups.for_each(|(group, mut shared)| {
        let arena = arenas.local();
        let mut ends = arena.vec_with_capacity(AGENTS_PER_GROUP as usize);
        let mut near = arena.vec();
        for agent in group.agents() {
            near.extend(flock.neighbours(agent, grid));
            ends.push(near.len() as u32);
        }
        *shared = Shared {
            near: near.share(),
            ends: ends.share(),
        };
        spread();
    });
}

/// Lists grow in scratch, and are shared at their size.
fn find_with_scratch(
    arenas: Res<FrameArenas>,
    flock: Res<Flock>,
    mut groups: Query<(&Group, &mut Shared)>,
) {
    let scratch = arenas.scratch();
    let grid = fill_grid_in(&flock, &scratch);
    let groups = groups.par_iter_mut().batching_strategy(one_by_one());
    groups.for_each(|(group, mut shared)| {
        {
            let (arena, scratch) = (arenas.local(), arenas.scratch());
            let mut ends = arena.vec_with_capacity(AGENTS_PER_GROUP as usize);
            let mut near = scratch.vec();
            for agent in group.agents() {
                near.extend(flock.neighbours(agent, grid));
                ends.push(near.len() as u32);
            }
            *shared = Shared {
                near: arena.share_slice_copy(&near),
                ends: ends.share(),
            };
        }
        spread();
    });
}

fn steer_shared(
    (arenas, checksum): (Res<FrameArenas>, Res<Checksum>),
    mut flock: ResMut<Flock>,
    groups: Query<(&Group, &Shared)>,
) {
    for (group, lists) in &groups {
        checksum.add(flock.steer(*group, &arenas[lists.near], &arenas[lists.ends]));
    }
}

/// What is in a herd borrows it, so the lists are read in the same system. They grow in a reused buffer: a vector in
/// the herd would borrow its member.
fn find_in_herd(
    mut herd: ResMut<FrameHerd>,
    checksum: Res<Checksum>,
    mut flock: ResMut<Flock>,
    groups: Query<&Group>,
    growing: Local<Parallel<Vec<u32>>>,
) {
    let found = Mutex::new(Vec::with_capacity(GROUPS as usize));
    let members = &herd.0;
    {
        let member = members.get();
        let starts = member.alloc_slice_fill_copy(CELLS + 2, 0);
        let agents = member.alloc_slice_fill_copy(AGENTS, 0);
        flock.fill_grid(starts, agents);
        let grid: Grid<'_> = (starts, agents);
        let flock = &*flock;
        let all = groups.par_iter().batching_strategy(one_by_one());
        all.for_each(|group| {
            {
                let member = members.get();
                let near = &mut *growing.borrow_local_mut();
                near.clear();
                let mut agents = group.agents();
                let ends = member.alloc_slice_fill_with(agents.len(), |_| {
                    near.extend(
                        agents
                            .by_ref()
                            .take(1)
                            .flat_map(|agent| flock.neighbours(agent, grid)),
                    );
                    near.len() as u32
                });
                let near: &[u32] = member.alloc_slice_copy(near);
                let ends: &[u32] = ends;
                found
                    .lock()
                    .expect("no system panics")
                    .push((*group, near, ends));
            }
            spread();
        });
    }
    for (group, near, ends) in found.into_inner().expect("no system panics") {
        checksum.add(flock.steer(group, near, ends));
    }
    herd.0.reset();
}
