//! Reused buffers: `Local`, `Parallel`, and two of each list that the renderer reads.

use std::mem::swap;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_utils::Parallel;

use super::Way;
use crate::game::Load;
use crate::game::camera::{Draw, Seen, View, choose_detail};
use crate::game::grid::{Entry, GridView, STARTS, sort_into_cells};
use crate::game::mesher::{PADDED_BLOCKS, Quad, Vertex, mesh};
use crate::game::paths::{Goal, Search, field_count, find_goal, write_costs};
use crate::game::terrain::{AIR, Block, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};
use crate::gpu::Gpu;

pub(crate) struct LocalPlugin;

impl Plugin for LocalPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Grid>()
            .init_resource::<Goal>()
            .init_resource::<Visible>()
            .init_resource::<Draws>()
            .init_resource::<Meshes>()
            .init_resource::<Instances>()
            .init_resource::<Labels>()
            .init_resource::<Shown>()
            .register_required_components::<Walker, Near>()
            .add_systems(First, hand_over.in_set(Way::Local))
            .add_systems(
                FixedUpdate,
                (build_grid, search_path, find_neighbours, walk)
                    .chain()
                    .in_set(Way::Local),
            )
            .add_systems(
                Update,
                (
                    (cull_chunks, choose_details).chain(),
                    mesh_chunks,
                    cull_walkers,
                    write_labels,
                    render,
                )
                    .in_set(Way::Local),
            );
    }
}

#[derive(Resource, Default)]
struct Grid {
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

impl Grid {
    fn view(&self) -> GridView<'_> {
        GridView {
            starts: &self.starts,
            entries: &self.entries,
        }
    }
}

/// The others near a walker, found in the last step.
#[derive(Component, Default)]
struct Near(Vec<u32>);

#[derive(Resource, Default)]
struct Visible(Vec<Seen>);

/// The meshes that one thread made: all vertices in one list, and where each mesh ends.
#[derive(Default)]
struct MeshQueue {
    vertices: Vec<Vertex>,
    meshes: Vec<MeshEnd>,
}

struct MeshEnd {
    chunk: u32,
    end: usize,
}

impl MeshQueue {
    fn clear(&mut self) {
        self.vertices.clear();
        self.meshes.clear();
    }

    fn upload(&self, gpu: &mut Gpu) {
        let mut start = 0;
        for mesh in &self.meshes {
            gpu.upload_mesh(mesh.chunk, &self.vertices[start..mesh.end]);
            start = mesh.end;
        }
    }
}

/// The labels that one thread wrote: all texts in one string, and where each ends.
#[derive(Default)]
struct LabelQueue {
    text: String,
    labels: Vec<LabelEnd>,
}

struct LabelEnd {
    at: Vec3,
    end: usize,
}

impl LabelQueue {
    fn clear(&mut self) {
        self.text.clear();
        self.labels.clear();
    }

    fn draw(&self, gpu: &mut Gpu) {
        let mut start = 0;
        for label in &self.labels {
            gpu.draw_label(label.at, &self.text[start..label.end]);
            start = label.end;
        }
    }
}

#[derive(Resource, Default)]
struct Draws(Vec<Draw>);
#[derive(Resource, Default)]
struct Meshes(Parallel<MeshQueue>);
#[derive(Resource, Default)]
struct Instances(Vec<Instance>);
#[derive(Resource, Default)]
struct Labels(Parallel<LabelQueue>);

/// What the last frame made, and the renderer reads during this one.
#[derive(Resource, Default)]
struct Shown {
    draws: Vec<Draw>,
    meshes: Parallel<MeshQueue>,
    instances: Vec<Instance>,
    labels: Parallel<LabelQueue>,
}

/// The memory of a search, which goes into its task and comes back.
#[derive(Default)]
struct SearchBuffers {
    costs: Vec<u8>,
    distances: Vec<u32>,
}

fn build_grid(walkers: Query<&Walker>, mut grid: ResMut<Grid>) {
    let walkers = walkers.iter().map(Walker::entry);
    let Grid { starts, entries } = &mut *grid;
    starts.clear();
    starts.resize(STARTS, 0);
    // What is in it is overwritten.
    entries.resize(walkers.clone().count(), Entry::default());
    sort_into_cells(walkers, starts, entries);
}

fn search_path(
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

fn find_neighbours(grid: Res<Grid>, mut walkers: Query<(&Walker, &mut Near)>) {
    let grid = grid.view();
    walkers.par_iter_mut().for_each(|(walker, mut near)| {
        near.0.clear();
        near.0.extend(grid.near(walker.at));
    });
}

fn walk(grid: Res<Grid>, map: Res<Map>, goal: Res<Goal>, mut walkers: Query<(&mut Walker, &Near)>) {
    walkers.par_iter_mut().for_each(|(mut walker, near)| {
        walker.walk(&near.0, &grid.entries, goal.0, &map);
    });
}

fn cull_chunks(
    view: Res<View>,
    chunks: Query<&Chunk>,
    mut found: Local<Parallel<Vec<Seen>>>,
    mut visible: ResMut<Visible>,
) {
    chunks.par_iter().for_each_init(
        || found.borrow_local_mut(),
        |list, chunk| {
            if view.sees_chunk(chunk.origin()) {
                list.push(Seen::new(chunk, &view));
            }
        },
    );
    visible.0.clear();
    found.drain_into(&mut visible.0);
    visible.0.sort_unstable_by_key(Seen::key);
}

fn choose_details(visible: Res<Visible>, mut draws: ResMut<Draws>) {
    let nearest_first = visible.0.iter().enumerate();
    let chosen = nearest_first.map(|(place, seen)| choose_detail(place, seen));
    draws.0.clear();
    draws.0.extend(chosen);
}

/// What one thread needs to make a mesh.
#[derive(Default)]
struct MeshBuffers {
    padded: Vec<Block>,
    quads: Vec<Quad>,
}

fn mesh_chunks(
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    buffers: Local<Parallel<MeshBuffers>>,
    mut meshes: ResMut<Meshes>,
) {
    meshes.0.iter_mut().for_each(MeshQueue::clear);
    let meshes = &meshes.0;
    dirty.par_iter().for_each_init(
        || (meshes.borrow_local_mut(), buffers.borrow_local_mut()),
        |(queue, buffers), chunk| {
            let MeshBuffers { padded, quads } = &mut **buffers;
            padded.clear();
            padded.resize(PADDED_BLOCKS, AIR);
            map.pad(chunk, &chunks, padded);
            quads.clear();
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            queue.vertices.reserve(quads.len() * 4);
            for quad in quads {
                queue.vertices.extend_from_slice(&quad.corners());
            }
            let (chunk, end) = (chunk.number, queue.vertices.len());
            queue.meshes.push(MeshEnd { chunk, end });
        },
    );
}

fn cull_walkers(
    view: Res<View>,
    walkers: Query<&Walker>,
    mut found: Local<Parallel<Vec<Instance>>>,
    mut instances: ResMut<Instances>,
) {
    walkers.par_iter().for_each_init(
        || found.borrow_local_mut(),
        |list, walker| {
            if view.sees_sphere(walker.at, 1.0) {
                list.push(walker.instance());
            }
        },
    );
    instances.0.clear();
    found.drain_into(&mut instances.0);
}

fn write_labels(
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

fn hand_over(
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
fn render(mut shown: ResMut<Shown>, mut gpu: ResMut<Gpu>) {
    for queue in shown.meshes.iter_mut() {
        queue.upload(&mut gpu);
    }
    gpu.draw_chunks(&shown.draws);
    gpu.draw_walkers(&shown.instances);
    for queue in shown.labels.iter_mut() {
        queue.draw(&mut gpu);
    }
}
