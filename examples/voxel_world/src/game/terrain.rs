//! The ground: blocks in chunks, which are entities.

use bevy_ecs::prelude::*;
use bevy_math::{UVec3, Vec3};

use super::mesher::{PADDED_SIDE, padded_index};
use super::noise::{hash, hills, unit};
use super::{Frame, Load};

/// Blocks along a side of a chunk.
pub const SIDE: usize = 16;

pub type Block = u8;
pub const AIR: Block = 0;

/// The blocks of a chunk. A chunk whose blocks have changed needs a new mesh.
#[derive(Component)]
pub struct Blocks(Box<[Block; SIDE * SIDE * SIDE]>);

impl Blocks {
    pub fn new(mut block: impl FnMut(UVec3) -> Block) -> Self {
        let mut blocks = Box::new([AIR; SIDE * SIDE * SIDE]);
        for (index, value) in blocks.iter_mut().enumerate() {
            let [x, y, z] = [index, index / (SIDE * SIDE), index / SIDE].map(|n| n % SIDE);
            *value = block(UVec3::new(x as u32, y as u32, z as u32));
        }
        Self(blocks)
    }

    /// Returns the blocks of one row along x.
    fn row(&self, y: usize, z: usize) -> &[Block; SIDE] {
        let rows = self.0.as_chunks::<SIDE>().0;
        &rows[y * SIDE + z]
    }
}

/// Which chunk it is.
#[derive(Component, Clone, Copy)]
pub struct Chunk {
    pub number: u32,
    pub place: UVec3,
}

impl Chunk {
    pub fn origin(&self) -> Vec3 {
        (self.place * SIDE as u32).as_vec3()
    }
}

/// Where to find a chunk, and how high the ground was before anybody dug.
#[derive(Resource)]
pub struct Map {
    size: UVec3,
    chunks: Vec<Entity>,
    heights: Vec<u8>,
}

impl Map {
    pub fn width(&self) -> usize {
        self.size.x as usize * SIDE
    }

    /// Returns how high the world can be.
    pub fn top(&self) -> f32 {
        (self.size.y as usize * SIDE) as f32
    }

    pub fn height(&self, x: usize, z: usize) -> u8 {
        let last = self.width() - 1;
        self.heights[z.min(last) * self.width() + x.min(last)]
    }

    fn chunk(&self, place: UVec3) -> Option<Entity> {
        let is_inside = place.cmplt(self.size).all();
        is_inside.then(|| self.chunks[chunk_number(self.size, place) as usize])
    }

    /// Copies a chunk with the nearest blocks of its six neighbours, for the mesher.
    pub fn pad(&self, chunk: &Chunk, chunks: &Query<&Blocks>, padded: &mut [Block]) {
        let blocks_at = |place: UVec3| chunks.get(self.chunk(place)?).ok();
        let last = SIDE - 1;
        let place = chunk.place;
        let [x, y, z] = [UVec3::X, UVec3::Y, UVec3::Z];
        if let Some(own) = blocks_at(place) {
            for (y, z) in squares() {
                let start = padded_index(1, y + 1, z + 1);
                padded[start..start + SIDE].copy_from_slice(own.row(y, z));
            }
        }
        // Below zero, the place wraps around to one that is not on the map.
        let sides = [(place.wrapping_sub(x), last, 0), (place + x, 0, SIDE + 1)];
        for (place, from, to) in sides {
            let Some(blocks) = blocks_at(place) else {
                continue;
            };
            for (y, z) in squares() {
                padded[padded_index(to, y + 1, z + 1)] = blocks.row(y, z)[from];
            }
        }
        let sides = [(place.wrapping_sub(y), last, 0), (place + y, 0, SIDE + 1)];
        for (place, from, to) in sides {
            let Some(blocks) = blocks_at(place) else {
                continue;
            };
            for z in 0..SIDE {
                let start = padded_index(1, to, z + 1);
                padded[start..start + SIDE].copy_from_slice(blocks.row(from, z));
            }
        }
        let sides = [(place.wrapping_sub(z), last, 0), (place + z, 0, SIDE + 1)];
        for (place, from, to) in sides {
            let Some(blocks) = blocks_at(place) else {
                continue;
            };
            for y in 0..SIDE {
                let start = padded_index(1, y + 1, to);
                padded[start..start + SIDE].copy_from_slice(blocks.row(y, from));
            }
        }
    }
}

fn squares() -> impl Iterator<Item = (usize, usize)> {
    (0..SIDE).flat_map(|a| (0..SIDE).map(move |b| (a, b)))
}

fn chunk_number(size: UVec3, place: UVec3) -> u32 {
    (place.y * size.z + place.z) * size.x + place.x
}

/// Returns the block that was there before anybody dug.
fn original(height: u8, y: u32) -> Block {
    match (u32::from(height)).checked_sub(y) {
        None | Some(0) => AIR,
        Some(1) if height > 40 => 4,
        Some(1) if height < 14 => 5,
        Some(1) => 1,
        Some(2..=4) => 2,
        Some(_) => 3,
    }
}

pub fn generate(mut commands: Commands, load: Res<Load>) {
    let size = UVec3::new(load.columns as u32, load.layers as u32, load.columns as u32);
    let width = load.columns * SIDE;
    let top = (load.layers * SIDE) as f32;
    let heights: Vec<u8> = (0..width * width)
        .map(|index| {
            let (x, z) = (index % width, index / width);
            let height = 0.7 * hills(x, z, 64) + 0.25 * hills(x, z, 21) + 0.05 * hills(x, z, 5);
            (top * (0.08 + 0.8 * height)) as u8
        })
        .collect();
    let mut chunks = Vec::new();
    for number in 0..size.element_product() {
        let [x, y, z] = [number, number / (size.x * size.z), number / size.x];
        let place = UVec3::new(x % size.x, y, z % size.z);
        let blocks = Blocks::new(|block| {
            let at = place * SIDE as u32 + block;
            original(heights[at.z as usize * width + at.x as usize], at.y)
        });
        let chunk = Chunk { number, place };
        chunks.push(commands.spawn((chunk, blocks)).id());
    }
    commands.insert_resource(Map {
        size,
        chunks,
        heights,
    });
}

/// Frames until a hole is filled in again.
const OPEN_FRAMES: u32 = 200;
const DIG_RADIUS: f32 = 4.5;

/// Digs holes along the ways of the diggers, and fills in those they dug a while ago.
pub fn dig(
    frame: Res<Frame>,
    load: Res<Load>,
    map: Res<Map>,
    mut blocks: Query<(&Chunk, &mut Blocks)>,
) {
    for digger in 0..load.diggers {
        let hole = digger_at(&map, digger, frame.0);
        change_sphere(&map, &mut blocks, hole, |_, _| AIR);
        if let Some(before) = frame.0.checked_sub(OPEN_FRAMES) {
            let hole = digger_at(&map, digger, before);
            change_sphere(&map, &mut blocks, hole, original);
        }
    }
}

/// Returns where a digger is: on a circle of its own, at the ground.
fn digger_at(map: &Map, digger: u32, frame: u32) -> Vec3 {
    let width = map.width() as f32;
    let [x, z, radius] = [0, 1, 2].map(|n| unit(digger * 3 + n) * 0.5 + 0.25);
    let angle = frame as f32 * 0.01 + hash(digger) as f32;
    let x = width * (x + 0.5 * radius * angle.cos());
    let z = width * (z + 0.5 * radius * angle.sin());
    Vec3::new(x, f32::from(map.height(x as usize, z as usize)), z)
}

/// Changes the blocks in a sphere: to what, depends on the ground's height and on the block's.
fn change_sphere(
    map: &Map,
    blocks: &mut Query<(&Chunk, &mut Blocks)>,
    center: Vec3,
    block: impl Fn(u8, u32) -> Block,
) {
    // A block next to a chunk is part of its mesh, too.
    let reach = Vec3::splat(DIG_RADIUS + 1.0);
    let first = (center - reach).max(Vec3::ZERO).as_uvec3() / SIDE as u32;
    let last = ((center + reach).as_uvec3() / SIDE as u32).min(map.size - 1);
    for y in first.y..=last.y {
        for (z, x) in (first.z..=last.z).flat_map(|z| (first.x..=last.x).map(move |x| (z, x))) {
            let entity = map.chunk(UVec3::new(x, y, z)).expect("it is on the map");
            let (chunk, mut blocks) = blocks.get_mut(entity).expect("it is a chunk");
            change_chunk(map, chunk, &mut blocks, center, &block);
        }
    }
}

fn change_chunk(
    map: &Map,
    chunk: &Chunk,
    blocks: &mut Blocks,
    center: Vec3,
    block: impl Fn(u8, u32) -> Block,
) {
    let origin = chunk.place * SIDE as u32;
    for (index, value) in blocks.0.iter_mut().enumerate() {
        let [x, y, z] = [index, index / (SIDE * SIDE), index / SIDE].map(|n| (n % SIDE) as u32);
        let at = origin + UVec3::new(x, y, z);
        if at.as_vec3().distance_squared(center) < DIG_RADIUS * DIG_RADIUS {
            *value = block(map.height(at.x as usize, at.z as usize), at.y);
        }
    }
}

const _: () = assert!(PADDED_SIDE == SIDE + 2);
