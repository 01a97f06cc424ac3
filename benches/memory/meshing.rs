//! Greedy meshing of 64 chunks a frame, in a `par_iter`. A padded copy of the voxels and the quads are temporary; the
//! meshes are read by another system.

use std::sync::Mutex;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArena, FrameArenas, FrameHandle};
use bevy_utils::Parallel;
use bumpalo::collections::Vec as BumpVec;
use voxel_world::game::mesher::{PADDED_BLOCKS, Quad, Vertex, mesh, padded_index};
use voxel_world::game::noise::hash;
use voxel_world::game::terrain::{AIR, Block, SIDE};

use crate::scene::{Checksum, Frame};
use crate::ways::{FrameHerd, Way};
use crate::workers::{one_by_one, spread};

const CHUNKS: u32 = 64;
const VOXELS: usize = SIDE * SIDE * SIDE;

pub(crate) fn app(way: Way) -> Option<App> {
    let mut app = App::new();
    way.add_memory(&mut app);
    app.init_resource::<Frame>()
        .init_resource::<Checksum>()
        .add_systems(PreUpdate, dig);
    match way {
        Way::Nothing => {}
        Way::Reuse => {
            app.register_required_components::<Chunk, Reused<1>>();
            app.add_systems(Update, (mesh_reused::<1>, upload_reused::<1>).chain());
        }
        Way::ReuseTwice => {
            app.register_required_components::<Chunk, Reused<2>>();
            app.add_systems(Update, (mesh_reused::<2>, upload_reused::<2>).chain());
        }
        Way::Herd => {
            app.add_systems(Update, mesh_in_herd);
        }
        Way::Ours => {
            app.register_required_components::<Chunk, Shared>();
            app.add_systems(Update, (mesh_in_arena, upload_shared).chain());
        }
        Way::Scratch | Way::OnePeriod => {
            app.register_required_components::<Chunk, Shared>();
            app.add_systems(Update, (mesh_with_scratch, upload_shared).chain());
        }
    }
    app.world_mut().spawn_batch((0..CHUNKS).map(Chunk::new));
    Some(app)
}

#[derive(Component)]
struct Chunk {
    number: u32,
    voxels: Box<[Block; VOXELS]>,
}

impl Chunk {
    /// A floor with more or less rubble on it, so that meshes are of all sizes.
    fn new(number: u32) -> Self {
        let voxel = |index: usize| {
            let random = hash(number * VOXELS as u32 + index as u32);
            let is_rubble = random % 100 < number * 29 % CHUNKS / 6;
            let is_solid = (index / (SIDE * SIDE) < SIDE / 2) != is_rubble;
            if is_solid {
                1 + (random >> 8) as u8 % 2
            } else {
                AIR
            }
        };
        Self {
            number,
            voxels: Box::new(std::array::from_fn(voxel)),
        }
    }

    /// Copies the voxels into a buffer with air around them.
    fn pad(&self, padded: &mut [Block]) {
        for (row, blocks) in self.voxels.as_chunks::<SIDE>().0.iter().enumerate() {
            let start = padded_index(1, row / SIDE + 1, row % SIDE + 1);
            padded[start..start + SIDE].copy_from_slice(blocks);
        }
    }
}

/// Somebody digs, so that each frame is a little different.
fn dig(mut frame: ResMut<Frame>, mut chunks: Query<&mut Chunk>) {
    frame.0 += 1;
    for mut chunk in &mut chunks {
        let place = hash(frame.0 * CHUNKS + chunk.number) as usize % VOXELS;
        let voxel = &mut chunk.voxels[place];
        *voxel = (*voxel + 1) % 3;
    }
}

fn indices(quad: usize) -> [u32; 6] {
    [0, 1, 2, 2, 3, 0].map(|corner| 4 * quad as u32 + corner)
}

/// Stands for the upload: reads everything once.
fn upload(vertices: &[Vertex], indices: &[u32]) -> u64 {
    let places = vertices.iter().flatten().map(|it| u64::from(it.to_bits()));
    let sum = places.fold(0_u64, |sum, it| sum.wrapping_mul(31).wrapping_add(it));
    indices.iter().map(|&it| u64::from(it)).sum::<u64>() ^ sum
}

/// Meshes that are kept for a number of frames.
#[derive(Component)]
struct Reused<const FRAMES: usize>([(Vec<Vertex>, Vec<u32>); FRAMES]);

impl<const FRAMES: usize> Default for Reused<FRAMES> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Default::default()))
    }
}

struct Buffers {
    /// With air around, which stays.
    padded: Vec<Block>,
    quads: Vec<Quad>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            padded: vec![AIR; PADDED_BLOCKS],
            quads: Vec::new(),
        }
    }
}

fn mesh_reused<const FRAMES: usize>(
    frame: Res<Frame>,
    mut chunks: Query<(&Chunk, &mut Reused<FRAMES>)>,
    buffers: Local<Parallel<Buffers>>,
) {
    let chunks = chunks.par_iter_mut().batching_strategy(one_by_one());
    chunks.for_each(|(chunk, mut made)| {
        {
            let Buffers { padded, quads } = &mut *buffers.borrow_local_mut();
            chunk.pad(padded);
            quads.clear();
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            let (vertices, indices_) = &mut made.0[frame.0 as usize % FRAMES];
            vertices.clear();
            vertices.reserve(4 * quads.len());
            indices_.clear();
            indices_.reserve(6 * quads.len());
            for (number, quad) in quads.iter().enumerate() {
                vertices.extend_from_slice(&quad.corners());
                indices_.extend_from_slice(&indices(number));
            }
        }
        spread();
    });
}

fn upload_reused<const FRAMES: usize>(
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    chunks: Query<&Reused<FRAMES>>,
) {
    for made in &chunks {
        let (vertices, indices) = &made.0[frame.0 as usize % FRAMES];
        checksum.add(upload(vertices, indices));
    }
}

#[derive(Component, Default)]
struct Shared {
    vertices: FrameHandle<[Vertex]>,
    indices: FrameHandle<[u32]>,
}

fn mesh_in_arena(arenas: Res<FrameArenas>, mut chunks: Query<(&Chunk, &mut Shared)>) {
    let chunks = chunks.par_iter_mut().batching_strategy(one_by_one());
    chunks.for_each(|(chunk, mut made)| {
        let arena = arenas.local();
        *made = mesh_in(chunk, arena, arena);
        spread();
    });
}

fn mesh_with_scratch(arenas: Res<FrameArenas>, mut chunks: Query<(&Chunk, &mut Shared)>) {
    let chunks = chunks.par_iter_mut().batching_strategy(one_by_one());
    chunks.for_each(|(chunk, mut made)| {
        *made = mesh_in(chunk, &arenas.scratch(), arenas.local());
        spread();
    });
}

fn mesh_in(chunk: &Chunk, temporary: &FrameArena, arena: &FrameArena) -> Shared {
    let padded = temporary.alloc_slice_fill_copy(PADDED_BLOCKS, AIR);
    chunk.pad(padded);
    let mut quads = temporary.vec();
    mesh(padded, |quad| quads.push(quad));
    quads.sort_unstable();
    let mut vertices = arena.vec_with_capacity(4 * quads.len());
    let mut indices_ = arena.vec_with_capacity(6 * quads.len());
    for (number, quad) in quads.iter().enumerate() {
        vertices.extend_from_slice(&quad.corners());
        indices_.extend_from_slice(&indices(number));
    }
    Shared {
        vertices: vertices.share(),
        indices: indices_.share(),
    }
}

fn upload_shared(arenas: Res<FrameArenas>, checksum: Res<Checksum>, chunks: Query<&Shared>) {
    for made in &chunks {
        checksum.add(upload(&arenas[made.vertices], &arenas[made.indices]));
    }
}

/// What is in a herd borrows it, so the meshes are read in the same system.
fn mesh_in_herd(mut herd: ResMut<FrameHerd>, checksum: Res<Checksum>, chunks: Query<&Chunk>) {
    let made = Mutex::new(Vec::with_capacity(CHUNKS as usize));
    let members = &herd.0;
    let all = chunks.par_iter().batching_strategy(one_by_one());
    all.for_each(|chunk| {
        {
            let member = members.get();
            let padded = member.alloc_slice_fill_copy(PADDED_BLOCKS, AIR);
            chunk.pad(padded);
            let mut quads = BumpVec::new_in(member.as_bump());
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            let vertices = member.alloc_slice_fill_iter(quads.iter().map(Quad::corners));
            let indices = member.alloc_slice_fill_iter((0..quads.len()).map(indices));
            let list = (vertices.as_flattened(), indices.as_flattened());
            made.lock().expect("no system panics").push(list);
        }
        spread();
    });
    for (vertices, indices) in made.into_inner().expect("no system panics") {
        checksum.add(upload(vertices, indices));
    }
    herd.0.reset();
}
