//! Reused buffers, two of each list that the renderer reads: what `local` and `herd` have in common.

use std::mem::swap;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_utils::Parallel;

use super::add_once;
use super::vectors::{Draws, Grid, Instances, Near, VectorsPlugin, Visible};
use crate::game::Load;
use crate::game::camera::{Draw, View, choose_detail};
use crate::game::grid::{Entry, STARTS, sort_into_cells};
use crate::game::mesher::{PADDED_BLOCKS, Quad, Vertex, mesh};
use crate::game::meshing::Meshing;
use crate::game::paths::{Goal, Search, field_count, find_goal, write_costs};
use crate::game::terrain::{AIR, Block, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};
use crate::gpu::Gpu;

pub(super) struct ReusedPlugin;

impl Plugin for ReusedPlugin {
    fn build(&self, app: &mut App) {
        add_once(app, VectorsPlugin);
        app.init_resource::<Meshes>()
            .init_resource::<Labels>()
            .init_resource::<Shown>();
    }
}

/// The meshes that one thread made: all vertices in one list, and where each mesh ends.
#[derive(Default)]
pub(super) struct MeshQueue {
    pub(super) vertices: Vec<Vertex>,
    pub(super) meshes: Vec<MeshEnd>,
}

pub(super) struct MeshEnd {
    pub(super) chunk: u32,
    pub(super) end: usize,
}

impl MeshQueue {
    pub(super) fn clear(&mut self) {
        self.vertices.clear();
        self.meshes.clear();
    }

    pub(super) fn upload(&self, gpu: &mut Gpu) {
        let mut start = 0;
        for mesh in &self.meshes {
            gpu.upload_mesh(mesh.chunk, &self.vertices[start..mesh.end]);
            start = mesh.end;
        }
    }
}

/// The labels that one thread wrote: all texts in one string, and where each ends.
#[derive(Default)]
pub(super) struct LabelQueue {
    pub(super) text: String,
    pub(super) labels: Vec<LabelEnd>,
}

pub(super) struct LabelEnd {
    pub(super) at: Vec3,
    pub(super) end: usize,
}

impl LabelQueue {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.labels.clear();
    }

    pub(super) fn draw(&self, gpu: &mut Gpu) {
        let mut start = 0;
        for label in &self.labels {
            gpu.draw_label(label.at, &self.text[start..label.end]);
            start = label.end;
        }
    }
}

#[derive(Resource, Default)]
pub(super) struct Meshes(pub(super) Parallel<MeshQueue>);

#[derive(Resource, Default)]
pub(super) struct Labels(pub(super) Parallel<LabelQueue>);

/// What the last frame made, and the renderer reads during this one.
#[derive(Resource, Default)]
pub(super) struct Shown {
    pub(super) draws: Vec<Draw>,
    pub(super) meshes: Parallel<MeshQueue>,
    pub(super) instances: Vec<Instance>,
    pub(super) labels: Parallel<LabelQueue>,
}

/// The memory of a search, which goes into its task and comes back.
#[derive(Default)]
pub(super) struct SearchBuffers {
    pub(super) costs: Vec<u8>,
    pub(super) distances: Vec<u32>,
}

pub(super) fn build_grid(walkers: Query<&Walker>, mut grid: ResMut<Grid>) {
    let walkers = walkers.iter().map(Walker::entry);
    let Grid { starts, entries } = &mut *grid;
    starts.clear();
    starts.resize(STARTS, 0);
    // What is in it is overwritten.
    entries.resize(walkers.clone().count(), Entry::default());
    sort_into_cells(walkers, starts, entries);
}

pub(super) fn search_path(
    grid: Res<Grid>,
    map: Res<Map>,
    mut search: Local<Search<SearchBuffers>>,
    mut goal: ResMut<Goal>,
) {
    if let Some(mut memory) = search.begins() {
        memory.costs.resize(field_count(&map), 0);
        memory.distances.resize(field_count(&map), 0);
        write_costs(&map, &grid.entries, &mut memory.costs);
        let number = search.number();
        search.run(move || {
            let goal = find_goal(&memory.costs, number, &mut memory.distances);
            (goal, memory)
        });
    }
    if let Some(found) = search.finish() {
        goal.0 = found;
    }
}

pub(super) fn find_neighbours(grid: Res<Grid>, mut walkers: Query<(&Walker, &mut Near)>) {
    let grid = grid.view();
    walkers.par_iter_mut().for_each(|(walker, mut near)| {
        near.0.clear();
        near.0.extend(grid.near(walker.at));
    });
}

pub(super) fn choose_details(visible: Res<Visible>, mut draws: ResMut<Draws>) {
    let nearest_first = visible.0.iter().enumerate();
    let chosen = nearest_first.map(|(place, seen)| choose_detail(place, seen));
    draws.0.clear();
    draws.0.extend(chosen);
}

/// The memory of a meshing task, which goes into it and comes back.
#[derive(Default)]
pub(super) struct TaskBuffers {
    padded: Vec<Block>,
    quads: Vec<Quad>,
    vertices: Vec<Vertex>,
}

/// Buffers that no task has.
#[derive(Default)]
pub(super) struct BufferPool(Vec<TaskBuffers>);

// A herd cannot go into a task, which outlives the system.
pub(super) fn mesh_in_tasks(
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut pool: Local<BufferPool>,
    mut meshing: Local<Meshing<TaskBuffers>>,
    mut meshes: ResMut<Meshes>,
) {
    meshing.begin_frame(dirty);
    while let Some(chunk) = meshing.next_chunk() {
        let mut buffers = pool.0.pop().unwrap_or_default();
        buffers.padded.clear();
        buffers.padded.resize(PADDED_BLOCKS, AIR);
        map.pad(&chunk, &chunks, &mut buffers.padded);
        meshing.run(chunk, move || {
            let TaskBuffers {
                padded,
                quads,
                vertices,
            } = &mut buffers;
            quads.clear();
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            vertices.clear();
            vertices.reserve(quads.len() * 4);
            for quad in quads {
                vertices.extend_from_slice(&quad.corners());
            }
            buffers
        });
    }
    meshes.0.iter_mut().for_each(MeshQueue::clear);
    let mut queue = meshes.0.borrow_local_mut();
    while let Some((chunk, buffers)) = meshing.next_mesh() {
        queue.vertices.extend_from_slice(&buffers.vertices);
        let end = queue.vertices.len();
        queue.meshes.push(MeshEnd { chunk, end });
        pool.0.push(buffers);
    }
}

pub(super) fn write_labels(
    load: Res<Load>,
    view: Res<View>,
    walkers: Query<(&Walker, &Near)>,
    mut labels: ResMut<Labels>,
) {
    labels.0.iter_mut().for_each(LabelQueue::clear);
    let labels = &labels.0;
    walkers.par_iter().for_each_init(
        || labels.borrow_local_mut(),
        |queue, (walker, near)| {
            if view.can_read(walker.at, load.label_distance) {
                walker.write_label(near.0.len(), &mut queue.text);
                let (at, end) = (walker.at, queue.text.len());
                queue.labels.push(LabelEnd { at, end });
            }
        },
    );
}

pub(super) fn hand_over(
    mut draws: ResMut<Draws>,
    mut meshes: ResMut<Meshes>,
    mut instances: ResMut<Instances>,
    mut labels: ResMut<Labels>,
    mut shown: ResMut<Shown>,
) {
    swap(&mut draws.0, &mut shown.draws);
    swap(&mut meshes.0, &mut shown.meshes);
    swap(&mut instances.0, &mut shown.instances);
    swap(&mut labels.0, &mut shown.labels);
}

// The lists of other threads can be reached through `&mut` alone.
pub(super) fn render(mut shown: ResMut<Shown>, mut gpu: ResMut<Gpu>) {
    for queue in shown.meshes.iter_mut() {
        queue.upload(&mut gpu);
    }
    gpu.draw_chunks(&shown.draws);
    gpu.draw_walkers(&shown.instances);
    for queue in shown.labels.iter_mut() {
        queue.draw(&mut gpu);
    }
}
