//! The chunks, and the frames in which they are meshed.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bevy_tasks::Task;
use bevy_tasks::futures::check_ready;
use voxel_world::game::mesher::{Vertex, padded_index};
use voxel_world::game::noise::hash;
use voxel_world::game::terrain::{AIR, Block, SIDE};

use crate::ways::Way;

/// Chunks, all of which are meshed in a round.
pub(crate) const CHUNKS: usize = 64;
/// Tasks at work at the same time.
const IN_FLIGHT: usize = 16;
/// Numbers that a frame adds up besides, and how often: some milliseconds.
const OWN_WORK: usize = 1 << 16;
const OWN_WORK_REPEATS: usize = 200;

/// A chunk at one moment: a floor with more or less rubble on it, so that meshes are of all sizes.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    number: u32,
    round: u32,
}

impl Chunk {
    /// Writes the chunk into a buffer of air.
    pub(crate) fn pad(self, padded: &mut [Block]) {
        let seed = hash(self.number ^ hash(self.round));
        let rubble_percent = seed % 10;
        for index in 0..SIDE * SIDE * SIDE {
            let [x, y, z] = [index, index / (SIDE * SIDE), index / SIDE].map(|n| n % SIDE);
            let random = hash(seed ^ index as u32);
            let is_rubble = random % 100 < rubble_percent;
            let is_solid = (y < SIDE / 2) != is_rubble;
            let block = if is_solid {
                1 + (random >> 8) as Block % 2
            } else {
                AIR
            };
            padded[padded_index(x + 1, y + 1, z + 1)] = block;
        }
    }
}

/// A way at play.
pub(crate) trait Play {
    /// Meshes all chunks once, and adds the times of the frames.
    fn round(&mut self, times: &mut Vec<Duration>);
    /// Returns a sum of all meshes so far.
    fn sum(&self) -> u64;
}

pub(crate) struct Game<W: Way> {
    way: W,
    round: u32,
    running: VecDeque<(usize, Task<W::Mesh>)>,
    /// The last mesh of each chunk.
    meshes: Vec<Option<W::Mesh>>,
    own_work: Vec<u32>,
    sum: u64,
}

impl<W: Way> Game<W> {
    pub(crate) fn new(way: W) -> Self {
        Self {
            way,
            round: 0,
            running: VecDeque::with_capacity(IN_FLIGHT),
            meshes: (0..CHUNKS).map(|_| None).collect(),
            own_work: vec![1; OWN_WORK],
            sum: 0,
        }
    }

    /// Keeps the meshes that are ready in place of those before.
    fn collect(&mut self) {
        for _ in 0..self.running.len() {
            let Some((chunk, mut task)) = self.running.pop_front() else {
                return;
            };
            match check_ready(&mut task) {
                Some(mesh) => {
                    self.sum = self.sum.wrapping_add(sum_of(W::vertices(&mesh)));
                    self.meshes[chunk] = Some(mesh);
                }
                None => self.running.push_back((chunk, task)),
            }
        }
    }
}

impl<W: Way> Play for Game<W> {
    fn round(&mut self, times: &mut Vec<Duration>) {
        self.round += 1;
        let mut waiting = 0..CHUNKS;
        while !waiting.is_empty() || !self.running.is_empty() {
            let start = Instant::now();
            self.way.begin_frame();
            self.collect();
            while self.running.len() < IN_FLIGHT
                && let Some(number) = waiting.next()
            {
                let chunk = Chunk {
                    number: number as u32,
                    round: self.round,
                };
                self.running.push_back((number, self.way.mesh(chunk)));
            }
            for _ in 0..OWN_WORK_REPEATS {
                black_box(black_box(&self.own_work).iter().sum::<u32>());
            }
            times.push(start.elapsed());
        }
    }

    fn sum(&self) -> u64 {
        self.sum
    }
}

fn sum_of(vertices: &[Vertex]) -> u64 {
    let sum = |[x, y, z, w]: &Vertex| (x + 20.0 * y + 400.0 * z + 8000.0 * w) as u64;
    vertices.iter().map(sum).sum()
}
