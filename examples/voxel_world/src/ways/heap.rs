//! The heap: fresh vectors and strings each frame, as one writes them first.

use std::mem::take;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::not;
use bevy_math::Vec3;
use bevy_utils::Parallel;

use super::vectors::{Draws, Grid, Instances, Near, VectorsPlugin, Visible, walk};
use super::{Way, add_once};
use crate::game::Load;
use crate::game::camera::{Draw, Seen, View, choose_detail};
use crate::game::grid::{Entry, STARTS, sort_into_cells};
use crate::game::mesher::{PADDED_BLOCKS, Vertex, mesh};
use crate::game::meshing::{Meshing, is_in_tasks};
use crate::game::paths::{Goal, Search, field_count, find_goal, write_costs};
use crate::game::terrain::{AIR, Block, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};
use crate::gpu::Gpu;

pub(super) struct HeapPlugin;

impl Plugin for HeapPlugin {
    fn build(&self, app: &mut App) {
        add_once(app, VectorsPlugin);
        app.init_resource::<Meshes>()
            .init_resource::<Labels>()
            .init_resource::<Shown>();
        Way::Heap.add_systems(
            app,
            hand_over,
            (build_grid, search_path, find_neighbours, walk),
            (
                (cull_chunks, choose_details).chain(),
                (
                    mesh_chunks.run_if(not(is_in_tasks)),
                    mesh_in_tasks.run_if(is_in_tasks),
                ),
                cull_walkers,
                write_labels,
                render,
            ),
        );
    }
}

struct Mesh {
    chunk: u32,
    vertices: Vec<Vertex>,
}

struct Label {
    at: Vec3,
    text: String,
}

#[derive(Resource, Default)]
struct Meshes(Vec<Mesh>);
#[derive(Resource, Default)]
struct Labels(Vec<Label>);

/// What the last frame made, and the renderer reads during this one.
#[derive(Resource, Default)]
struct Shown {
    draws: Vec<Draw>,
    meshes: Vec<Mesh>,
    instances: Vec<Instance>,
    labels: Vec<Label>,
}

fn build_grid(walkers: Query<&Walker>, mut grid: ResMut<Grid>) {
    let walkers = walkers.iter().map(Walker::entry);
    let mut starts = vec![0; STARTS];
    let mut entries = vec![Entry::default(); walkers.clone().count()];
    sort_into_cells(walkers, &mut starts, &mut entries);
    *grid = Grid { starts, entries };
}

fn search_path(
    grid: Res<Grid>,
    map: Res<Map>,
    mut search: Local<Search<()>>,
    mut goal: ResMut<Goal>,
) {
    if search.begins().is_some() {
        let mut costs = vec![0; field_count(&map)];
        write_costs(&map, &grid.entries, &mut costs);
        let number = search.number();
        search.run(move || {
            let mut distances = vec![0; costs.len()];
            (find_goal(&costs, number, &mut distances), ())
        });
    }
    if let Some(found) = search.finish() {
        goal.0 = found;
    }
}

fn find_neighbours(grid: Res<Grid>, mut walkers: Query<(&Walker, &mut Near)>) {
    let grid = grid.view();
    walkers.par_iter_mut().for_each(|(walker, mut near)| {
        near.0 = grid.near(walker.at).collect();
    });
}

/// Makes one list of those of all threads.
fn collect<T: Send>(mut lists: Parallel<Vec<T>>) -> Vec<T> {
    let mut all = Vec::new();
    lists.drain_into(&mut all);
    all
}

fn cull_chunks(view: Res<View>, chunks: Query<&Chunk>, mut visible: ResMut<Visible>) {
    let found = Parallel::<Vec<Seen>>::default();
    chunks.par_iter().for_each_init(
        || found.borrow_local_mut(),
        |list, chunk| {
            if view.sees_chunk(chunk.origin()) {
                list.push(Seen::new(chunk, &view));
            }
        },
    );
    visible.0 = collect(found);
    visible.0.sort_unstable_by_key(Seen::key);
}

fn choose_details(visible: Res<Visible>, mut draws: ResMut<Draws>) {
    let nearest_first = visible.0.iter().enumerate();
    let chosen = nearest_first.map(|(place, seen)| choose_detail(place, seen));
    draws.0 = chosen.collect();
}

fn mesh_chunks(
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut meshes: ResMut<Meshes>,
) {
    let made = Parallel::<Vec<Mesh>>::default();
    dirty.par_iter().for_each_init(
        || made.borrow_local_mut(),
        |list, chunk| {
            let mut padded = vec![AIR; PADDED_BLOCKS];
            map.pad(chunk, &chunks, &mut padded);
            list.push(Mesh {
                chunk: chunk.number,
                vertices: make_mesh(&padded),
            });
        },
    );
    meshes.0 = collect(made);
}

fn mesh_in_tasks(
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut meshing: Local<Meshing<Vec<Vertex>>>,
    mut meshes: ResMut<Meshes>,
) {
    meshing.begin_frame(dirty);
    while let Some(chunk) = meshing.next_chunk() {
        let mut padded = vec![AIR; PADDED_BLOCKS];
        map.pad(&chunk, &chunks, &mut padded);
        meshing.run(chunk, move || make_mesh(&padded));
    }
    while let Some((chunk, vertices)) = meshing.next_mesh() {
        meshes.0.push(Mesh { chunk, vertices });
    }
}

fn make_mesh(padded: &[Block]) -> Vec<Vertex> {
    let mut quads = Vec::new();
    mesh(padded, |quad| quads.push(quad));
    quads.sort_unstable();
    let mut vertices = Vec::with_capacity(quads.len() * 4);
    for quad in &quads {
        vertices.extend_from_slice(&quad.corners());
    }
    vertices
}

fn cull_walkers(view: Res<View>, walkers: Query<&Walker>, mut instances: ResMut<Instances>) {
    let found = Parallel::<Vec<Instance>>::default();
    walkers.par_iter().for_each_init(
        || found.borrow_local_mut(),
        |list, walker| {
            if view.sees_sphere(walker.at, 1.0) {
                list.push(walker.instance());
            }
        },
    );
    instances.0 = collect(found);
}

fn write_labels(
    load: Res<Load>,
    view: Res<View>,
    walkers: Query<(&Walker, &Near)>,
    mut labels: ResMut<Labels>,
) {
    let written = Parallel::<Vec<Label>>::default();
    walkers.par_iter().for_each_init(
        || written.borrow_local_mut(),
        |list, (walker, near)| {
            if view.can_read(walker.at, load.label_distance) {
                let mut text = String::new();
                walker.write_label(near.0.len(), &mut text);
                list.push(Label {
                    at: walker.at,
                    text,
                });
            }
        },
    );
    labels.0 = collect(written);
}

fn hand_over(
    mut draws: ResMut<Draws>,
    mut meshes: ResMut<Meshes>,
    mut instances: ResMut<Instances>,
    mut labels: ResMut<Labels>,
    mut shown: ResMut<Shown>,
) {
    *shown = Shown {
        draws: take(&mut draws.0),
        meshes: take(&mut meshes.0),
        instances: take(&mut instances.0),
        labels: take(&mut labels.0),
    };
}

fn render(shown: Res<Shown>, mut gpu: ResMut<Gpu>) {
    for mesh in &shown.meshes {
        gpu.upload_mesh(mesh.chunk, &mesh.vertices);
    }
    gpu.draw_chunks(&shown.draws);
    gpu.draw_walkers(&shown.instances);
    for label in &shown.labels {
        gpu.draw_label(label.at, &label.text);
    }
}
