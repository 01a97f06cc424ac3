//! A flock: each agent's neighbours as a list, found through a grid, all of them read afterwards.

use bevy_frame_arena::{FrameArena, FrameArenas};
use bumpalo::Bump;
use bumpalo_herd::Herd;

use crate::ways::{self, Entry, Way};

const AGENTS: u32 = 5_000;
const CELLS_PER_SIDE: u32 = 32;
const CELLS: usize = (CELLS_PER_SIDE * CELLS_PER_SIDE) as usize;
const RADIUS: f32 = 1.0;

pub(crate) const ENTRIES: [Entry; 8] = [
    Entry::new("boids", ways::HEAP, || Box::new(Heap(Flock::new()))),
    Entry::new("boids", ways::NESTED, || Box::new(Nested::new())),
    Entry::new("boids", ways::REUSE, || Box::new(Reuse::new())),
    Entry::new("boids", ways::HERD, || {
        Box::new(Herded(Flock::new(), Herd::new()))
    }),
    Entry::new("boids", ways::OURS, || {
        Box::new(Ours(Flock::new(), FrameArenas::default()))
    }),
    Entry::new("boids", ways::FLAT, || {
        Box::new(Flat(Flock::new(), FrameArenas::default()))
    }),
    Entry::new("boids", ways::SCRATCH, || {
        Box::new(Scratch(Flock::new(), FrameArenas::default()))
    }),
    Entry::new("boids", ways::ONE_FRAME, || {
        Box::new(Ours(Flock::new(), ways::arenas_of_one_frame()))
    }),
];

struct Flock {
    places: Vec<[f32; 2]>,
    speeds: Vec<[f32; 2]>,
}

impl Flock {
    fn new() -> Self {
        let mut random = 1_u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 24) as f32
        };
        let side = CELLS_PER_SIDE as f32;
        Self {
            places: (0..AGENTS)
                .map(|_| [next() * side, next() * side])
                .collect(),
            speeds: (0..AGENTS).map(|_| [next() - 0.5, next() - 0.5]).collect(),
        }
    }

    fn cell(&self, agent: usize) -> usize {
        let [x, y] = self.places[agent].map(|it| it as u32 % CELLS_PER_SIDE);
        (y * CELLS_PER_SIDE + x) as usize
    }

    /// Sorts the agents by their cells. `starts` has a zero for each cell and two more.
    fn fill_grid(&self, starts: &mut [u32], agents: &mut [u32]) {
        for agent in 0..self.places.len() {
            starts[self.cell(agent) + 2] += 1;
        }
        for cell in 2..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        for agent in 0..self.places.len() {
            let place = &mut starts[self.cell(agent) + 1];
            agents[*place as usize] = agent as u32;
            *place += 1;
        }
    }

    /// Calls `found` with the agents that are near an agent, from the cells around it.
    ///
    /// One function for all ways: the compiler would inline the search for some of them only, and for others in the
    /// next build.
    #[inline(never)]
    fn for_each_near(
        &self,
        agent: usize,
        starts: &[u32],
        agents: &[u32],
        found: &mut dyn FnMut(u32),
    ) {
        let [x, y] = self.places[agent];
        let rows = [CELLS_PER_SIDE - 1, 0, 1];
        let cells = rows.into_iter().flat_map(move |dy| {
            let row = (y as u32 + dy) % CELLS_PER_SIDE * CELLS_PER_SIDE;
            rows.map(move |dx| (row + (x as u32 + dx) % CELLS_PER_SIDE) as usize)
        });
        let near =
            cells.flat_map(move |cell| &agents[starts[cell] as usize..starts[cell + 1] as usize]);
        let near = near.copied().filter(move |&other| {
            let [dx, dy] = [0, 1].map(|axis| self.places[other as usize][axis] - [x, y][axis]);
            dx * dx + dy * dy < RADIUS && other as usize != agent
        });
        near.for_each(found);
    }

    /// Turns each agent a little to where its neighbours go, and returns a sum of it all.
    fn steer<'l>(&mut self, lists: impl Iterator<Item = &'l [u32]>) -> u64 {
        let mut sum = 0_u64;
        for (agent, near) in lists.enumerate() {
            let mut mean = [0.0; 2];
            for &other in near {
                let speed = self.speeds[other as usize];
                mean = [mean[0] + speed[0], mean[1] + speed[1]];
            }
            let share = 0.1 / near.len().max(1) as f32;
            let speed = &mut self.speeds[agent];
            *speed = [0, 1].map(|axis| speed[axis] * 0.9 + mean[axis] * share);
            sum += near.len() as u64 + u64::from(speed[0].to_bits() & 0xFF);
        }
        self.step();
        sum
    }

    fn step(&mut self) {
        let side = CELLS_PER_SIDE as f32;
        for (place, speed) in self.places.iter_mut().zip(&self.speeds) {
            *place = [0, 1].map(|axis| (place[axis] + speed[axis] * 0.1).rem_euclid(side));
        }
    }
}

struct Heap(Flock);

impl Way for Heap {
    fn frame(&mut self, _frame: u32) -> u64 {
        let flock = &mut self.0;
        let mut starts = vec![0; CELLS + 2];
        let mut agents = vec![0; AGENTS as usize];
        flock.fill_grid(&mut starts, &mut agents);
        let near = (0..AGENTS as usize).map(|agent| {
            let mut list = Vec::new();
            flock.for_each_near(agent, &starts, &agents, &mut |other| list.push(other));
            list
        });
        let near: Vec<Vec<u32>> = near.collect();
        flock.steer(near.iter().map(Vec::as_slice))
    }
}

/// A list for each agent, as one writes it first.
struct Nested {
    flock: Flock,
    starts: Vec<u32>,
    agents: Vec<u32>,
    near: Vec<Vec<u32>>,
}

impl Nested {
    fn new() -> Self {
        Self {
            flock: Flock::new(),
            starts: Vec::new(),
            agents: vec![0; AGENTS as usize],
            near: vec![Vec::new(); AGENTS as usize],
        }
    }
}

impl Way for Nested {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.starts.clear();
        self.starts.resize(CELLS + 2, 0);
        self.flock.fill_grid(&mut self.starts, &mut self.agents);
        for (agent, list) in self.near.iter_mut().enumerate() {
            list.clear();
            let found = &mut |other| list.push(other);
            self.flock
                .for_each_near(agent, &self.starts, &self.agents, found);
        }
        self.flock.steer(self.near.iter().map(Vec::as_slice))
    }
}

/// All lists in one, which is what reuse is best at.
struct Reuse {
    flock: Flock,
    starts: Vec<u32>,
    agents: Vec<u32>,
    near: Vec<u32>,
    ends: Vec<usize>,
}

impl Reuse {
    fn new() -> Self {
        Self {
            flock: Flock::new(),
            starts: Vec::new(),
            agents: vec![0; AGENTS as usize],
            near: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl Way for Reuse {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.starts.clear();
        self.starts.resize(CELLS + 2, 0);
        self.flock.fill_grid(&mut self.starts, &mut self.agents);
        self.near.clear();
        self.ends.clear();
        for agent in 0..AGENTS as usize {
            let found = &mut |other| self.near.push(other);
            self.flock
                .for_each_near(agent, &self.starts, &self.agents, found);
            self.ends.push(self.near.len());
        }
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let lists = starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.near[start..end]);
        self.flock.steer(lists)
    }
}

struct Herded(Flock, Herd);

impl Way for Herded {
    fn frame(&mut self, _frame: u32) -> u64 {
        let sum = with_bump(&mut self.0, self.1.get().as_bump());
        self.1.reset();
        sum
    }
}

fn with_bump(flock: &mut Flock, bump: &Bump) -> u64 {
    let starts = bump.alloc_slice_fill_copy(CELLS + 2, 0);
    let agents = bump.alloc_slice_fill_copy(AGENTS as usize, 0);
    flock.fill_grid(starts, agents);
    let near = bump.alloc_slice_fill_with(AGENTS as usize, |agent| {
        let mut list = bumpalo::collections::Vec::new_in(bump);
        flock.for_each_near(agent, starts, agents, &mut |other| list.push(other));
        list.into_bump_slice()
    });
    flock.steer(near.iter().copied())
}

struct Ours(Flock, FrameArenas);

impl Way for Ours {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.1.swap();
        with_arena(&mut self.0, self.1.local())
    }
}

/// All lists in one, as in the reused way.
struct Flat(Flock, FrameArenas);

impl Way for Flat {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.1.swap();
        let (flock, arena) = (&mut self.0, self.1.local());
        let starts = arena.alloc_slice_fill_copy(CELLS + 2, 0);
        let agents = arena.alloc_slice_fill_copy(AGENTS as usize, 0);
        flock.fill_grid(starts, agents);
        let mut ends = arena.vec_with_capacity(AGENTS as usize);
        let mut near = arena.vec();
        for agent in 0..AGENTS as usize {
            flock.for_each_near(agent, starts, agents, &mut |other| near.push(other));
            ends.push(near.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lists = starts.zip(&ends).map(|(start, &end)| &near[start..end]);
        flock.steer(lists)
    }
}

/// For lists that no other system reads.
struct Scratch(Flock, FrameArenas);

impl Way for Scratch {
    fn frame(&mut self, _frame: u32) -> u64 {
        self.1.swap();
        let scratch = self.1.scratch();
        with_arena(&mut self.0, &scratch)
    }
}

fn with_arena(flock: &mut Flock, arena: &FrameArena) -> u64 {
    let starts = arena.alloc_slice_fill_copy(CELLS + 2, 0);
    let agents = arena.alloc_slice_fill_copy(AGENTS as usize, 0);
    flock.fill_grid(starts, agents);
    let near = arena.alloc_slice_fill_with(AGENTS as usize, |agent| {
        let mut list = arena.vec();
        flock.for_each_near(agent, starts, agents, &mut |other| list.push(other));
        list.shrink_to_fit();
        &*list.leak()
    });
    flock.steer(near.iter().copied())
}
