//! Greedy meshing of voxel chunks: masks and quads for each side, vertices and indices that stay.

use bevy_frame_arena::{FrameArena, FrameArenas};
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use bumpalo_herd::Herd;

use crate::ways::{self, Entry, Way};

const CHUNKS: usize = 32;
const SIDE: usize = 16;
const VOXELS: usize = SIDE * SIDE * SIDE;

pub(crate) const ENTRIES: [Entry; 7] = [
    Entry::new("meshing", ways::HEAP, || Box::new(Heap(Terrain::new()))),
    Entry::new("meshing", ways::REUSE, || Box::new(Reuse::<1>::new())),
    Entry::new("meshing", ways::REUSE_TWICE, || Box::new(Reuse::<2>::new())),
    Entry::new("meshing", ways::HERD, || {
        Box::new(Herded(Terrain::new(), Herd::new()))
    }),
    Entry::new("meshing", ways::OURS, || {
        Box::new(Ours(Terrain::new(), FrameArenas::default()))
    }),
    Entry::new("meshing", ways::SCRATCH, || {
        Box::new(Scratch(Terrain::new(), FrameArenas::default()))
    }),
    Entry::new("meshing", ways::ONE_FRAME, || {
        Box::new(Scratch(Terrain::new(), ways::arenas_of_one_frame()))
    }),
];

type Voxels = [u8; VOXELS];

/// Position and normal, as the renderer gets them.
type Vertex = [f32; 6];

/// A rectangle of one material in one layer of one side.
#[derive(Clone, Copy)]
struct Quad {
    material: u8,
    layer: u8,
    place: [u8; 2],
    size: [u8; 2],
}

struct Terrain(Vec<Voxels>);

impl Terrain {
    fn new() -> Self {
        let chunk = |chunk: usize| {
            std::array::from_fn(|voxel| {
                let [x, y, z] = [voxel % SIDE, voxel / SIDE % SIDE, voxel / SIDE / SIDE];
                let height = 6 + (x * 3 + z * 5 + chunk * 7) % 11 / 5 + (x / 4 + z / 4) % 3;
                let is_cave = (x / 3 * 7 + y / 2 * 13 + z / 3 * 17 + chunk) % 23 < 2;
                let material = 1 + (y + chunk) / 3 % 4;
                if y < height && !is_cave {
                    material as u8
                } else {
                    0
                }
            })
        };
        Self((0..CHUNKS).map(chunk).collect())
    }

    /// Somebody digs, so that each frame is a little different.
    fn dig(&mut self, frame: u32) {
        for (number, chunk) in self.0.iter_mut().enumerate() {
            let voxel = (frame as usize * 31 + number * 97) % VOXELS;
            chunk[voxel] = (chunk[voxel] + 1) % 5;
        }
    }
}

/// Returns a voxel by its layer and its place in the layer, seen along an axis.
fn voxel(chunk: &Voxels, axis: usize, layer: usize, [u, v]: [usize; 2]) -> u8 {
    let mut place = [0; 3];
    place[axis] = layer;
    place[(axis + 1) % 3] = u;
    place[(axis + 2) % 3] = v;
    chunk[(place[2] * SIDE + place[1]) * SIDE + place[0]]
}

/// Marks what can be seen of all layers from one side: a material each, or nothing.
fn fill_mask(chunk: &Voxels, axis: usize, is_back: bool, mask: &mut [u8]) {
    for layer in 0..SIDE {
        let in_front = if is_back {
            layer.wrapping_sub(1)
        } else {
            layer + 1
        };
        for v in 0..SIDE {
            for u in 0..SIDE {
                let is_hidden = in_front < SIDE && voxel(chunk, axis, in_front, [u, v]) != 0;
                let material = if is_hidden {
                    0
                } else {
                    voxel(chunk, axis, layer, [u, v])
                };
                mask[(layer * SIDE + v) * SIDE + u] = material;
            }
        }
    }
}

/// Takes the largest rectangles out of the mask, row by row.
fn take_quads(mask: &mut [u8], mut push: impl FnMut(Quad)) {
    for (layer, mask) in mask.chunks_exact_mut(SIDE * SIDE).enumerate() {
        for start in 0..SIDE * SIDE {
            let material = mask[start];
            if material == 0 {
                continue;
            }
            let row = &mask[start..start + SIDE - start % SIDE];
            let width = row.iter().take_while(|&&it| it == material).count();
            let rows = mask[start..].chunks(SIDE);
            let is_same =
                |row: &&[u8]| row.len() >= width && row[..width].iter().all(|&it| it == material);
            let height = rows.take_while(is_same).count();
            for row in 0..height {
                mask[start + row * SIDE..][..width].fill(0);
            }
            push(Quad {
                material,
                layer: layer as u8,
                place: [start % SIDE, start / SIDE].map(|it| it as u8),
                size: [width, height].map(|it| it as u8),
            });
        }
    }
}

fn corners(quad: Quad, axis: usize, is_back: bool) -> [Vertex; 4] {
    let [u, v] = quad.place.map(f32::from);
    let [width, height] = quad.size.map(f32::from);
    let layer = f32::from(quad.layer) + if is_back { 0.0 } else { 1.0 };
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[right, up]| {
        let mut vertex = [0.0; 6];
        vertex[axis] = layer;
        vertex[(axis + 1) % 3] = u + right * width;
        vertex[(axis + 2) % 3] = v + up * height;
        vertex[3 + axis] = if is_back { -1.0 } else { 1.0 };
        vertex
    })
}

fn indices(first: usize) -> [u32; 6] {
    [0, 1, 2, 2, 3, 0].map(|corner| first as u32 + corner)
}

const SIDES: [(usize, bool); 6] = [
    (0, false),
    (0, true),
    (1, false),
    (1, true),
    (2, false),
    (2, true),
];

/// Stands for the upload: reads everything once.
fn upload(vertices: &[Vertex], indices: &[u32]) -> u64 {
    let places = vertices.iter().flatten().map(|it| it.to_bits() as u64);
    let sum = places.fold(0_u64, |sum, it| sum.wrapping_mul(31).wrapping_add(it));
    indices.iter().map(|&it| u64::from(it)).sum::<u64>() ^ sum
}

/// Lists the quads of all sides of one chunk, in a list of any kind, sorted by side and material.
macro_rules! list_quads {
    ($chunk:expr, $mask:expr, $quads:expr) => {
        for side in 0..SIDES.len() {
            let (axis, is_back) = SIDES[side];
            fill_mask($chunk, axis, is_back, $mask);
            let first = $quads.len();
            take_quads($mask, |quad| $quads.push((side, quad)));
            $quads[first..].sort_unstable_by_key(|(_, quad)| quad.material);
        }
    };
}

/// Makes the mesh of one chunk out of its quads, in lists of any kind.
macro_rules! mesh {
    ($quads:expr, $vertices:expr, $indices:expr, $append:ident) => {
        for &(side, quad) in $quads.iter() {
            let (axis, is_back) = SIDES[side];
            let first = $vertices.len();
            $vertices.$append(&corners(quad, axis, is_back));
            $indices.$append(&indices(first));
        }
    };
}

struct Heap(Terrain);

impl Way for Heap {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.dig(frame);
        let meshes = self.0.0.iter().map(|chunk| {
            let mask = &mut vec![0; VOXELS];
            let mut quads = Vec::new();
            list_quads!(chunk, mask, quads);
            let mut vertices = Vec::with_capacity(4 * quads.len());
            let mut indices = Vec::with_capacity(6 * quads.len());
            mesh!(quads, vertices, indices, extend_from_slice);
            (vertices, indices)
        });
        let meshes: Vec<_> = meshes.collect();
        meshes.iter().fold(0, |sum, (v, i)| sum ^ upload(v, i))
    }
}

/// A list of vertices and one of indices for each chunk, and one mask and list of quads for all.
/// What is read for `FRAMES` frames is there as many times.
struct Reuse<const FRAMES: usize> {
    terrain: Terrain,
    mask: Vec<u8>,
    quads: Vec<(usize, Quad)>,
    meshes: [Vec<(Vec<Vertex>, Vec<u32>)>; FRAMES],
}

impl<const FRAMES: usize> Reuse<FRAMES> {
    fn new() -> Self {
        Self {
            terrain: Terrain::new(),
            mask: vec![0; VOXELS],
            quads: Vec::new(),
            meshes: std::array::from_fn(|_| vec![(Vec::new(), Vec::new()); CHUNKS]),
        }
    }
}

impl<const FRAMES: usize> Way for Reuse<FRAMES> {
    fn frame(&mut self, frame: u32) -> u64 {
        self.terrain.dig(frame);
        let (mask, quads) = (&mut self.mask, &mut self.quads);
        let meshes = &mut self.meshes[frame as usize % FRAMES];
        for (chunk, (vertices, indices)) in self.terrain.0.iter().zip(&mut *meshes) {
            quads.clear();
            list_quads!(chunk, mask, quads);
            vertices.clear();
            vertices.reserve(4 * quads.len());
            indices.clear();
            indices.reserve(6 * quads.len());
            mesh!(quads, vertices, indices, extend_from_slice);
        }
        meshes.iter().fold(0, |sum, (v, i)| sum ^ upload(v, i))
    }
}

struct Herded(Terrain, Herd);

impl Way for Herded {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.dig(frame);
        let sum = with_bump(&self.0, self.1.get().as_bump());
        self.1.reset();
        sum
    }
}

fn with_bump(terrain: &Terrain, bump: &Bump) -> u64 {
    let meshes = terrain.0.iter().map(|chunk| {
        let mask = bump.alloc_slice_fill_copy(VOXELS, 0);
        let mut quads = BumpVec::new_in(bump);
        list_quads!(chunk, mask, quads);
        let mut vertices = BumpVec::with_capacity_in(4 * quads.len(), bump);
        let mut indices = BumpVec::with_capacity_in(6 * quads.len(), bump);
        mesh!(quads, vertices, indices, extend_from_slice_copy);
        (vertices, indices)
    });
    let meshes = BumpVec::from_iter_in(meshes, bump);
    meshes.iter().fold(0, |sum, (v, i)| sum ^ upload(v, i))
}

struct Ours(Terrain, FrameArenas);

impl Way for Ours {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.dig(frame);
        self.1.swap();
        let arena = self.1.local();
        let meshes =
            arena.alloc_slice_fill_with(CHUNKS, |number| mesh_in(&self.0.0[number], arena, arena));
        meshes.iter().fold(0, |sum, (v, i)| sum ^ upload(v, i))
    }
}

/// Masks and quads in scratch that is rewound for each chunk.
struct Scratch(Terrain, FrameArenas);

impl Way for Scratch {
    fn frame(&mut self, frame: u32) -> u64 {
        self.0.dig(frame);
        self.1.swap();
        let arena = self.1.local();
        let meshes = arena.alloc_slice_fill_with(CHUNKS, |number| {
            mesh_in(&self.0.0[number], &self.1.scratch(), arena)
        });
        meshes.iter().fold(0, |sum, (v, i)| sum ^ upload(v, i))
    }
}

/// Makes a mesh in `arena`, with what is needed meanwhile in `temporary`.
fn mesh_in<'a>(
    chunk: &Voxels,
    temporary: &FrameArena,
    arena: &'a FrameArena,
) -> (&'a [Vertex], &'a [u32]) {
    let mask = temporary.alloc_slice_fill_copy(VOXELS, 0);
    let mut quads = temporary.vec();
    list_quads!(chunk, mask, quads);
    let mut vertices = arena.vec_with_capacity(4 * quads.len());
    let mut indices = arena.vec_with_capacity(6 * quads.len());
    mesh!(quads, vertices, indices, extend_from_slice);
    (vertices.leak(), indices.leak())
}
