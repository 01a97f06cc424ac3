//! Frame arenas: handles across systems and frames, scratch within a system, collectors for
//! parallel ones.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::not;
use bevy_frame_arena::{
    ArenasOf, FixedStep, FrameArena, FrameArenaPacePlugin, FrameArenaPlugin, FrameArenaSettings,
    FrameArenas, FrameHandle, LivesFor, TaskResult,
};
use bevy_math::Vec3;

use super::Way;
use crate::game::Load;
use crate::game::camera::{Draw, Seen, View, choose_detail};
use crate::game::grid::{Entry, GridView, STARTS, sort_into_cells};
use crate::game::mesher::{PADDED_BLOCKS, Vertex, mesh};
use crate::game::meshing::{Meshing, is_in_tasks};
use crate::game::paths::{Goal, Search, field_count, find_goal, write_costs};
use crate::game::terrain::{AIR, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};
use crate::gpu::Gpu;

pub(super) struct ArenaPlugin;

impl Plugin for ArenaPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins((
            FrameArenaPlugin::default(),
            // Memory at the pace of the steps, which is not that of the frames. A step's lists are not read
            // after the next one begins.
            FrameArenaPacePlugin {
                settings: FrameArenaSettings {
                    lives_for: LivesFor::OnePeriod,
                    ..Default::default()
                },
                ..FrameArenaPacePlugin::fixed_step()
            },
        ))
        .init_resource::<Grid>()
        .init_resource::<Visible>()
        .init_resource::<Draws>()
        .init_resource::<Meshes>()
        .init_resource::<Instances>()
        .init_resource::<Labels>()
        .init_resource::<Shown>()
        .register_required_components::<Walker, Near>();
        Way::Arena.add_systems(
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

#[derive(Resource, Default)]
struct Grid {
    starts: FrameHandle<[u32]>,
    entries: FrameHandle<[Entry]>,
}

/// The others near a walker, found in the last step.
#[derive(Component, Default)]
pub struct Near(FrameHandle<[u32]>);

/// The memory of a search, which goes into its task and comes back.
struct SearchArena(FrameArena);

impl Default for SearchArena {
    fn default() -> Self {
        Self(FrameArena::new(64 << 10))
    }
}

#[derive(Resource, Default)]
struct Visible(FrameHandle<[Seen]>);

#[derive(Clone, Copy)]
pub struct Mesh {
    pub chunk: u32,
    pub vertices: FrameHandle<[Vertex]>,
}

#[derive(Clone, Copy)]
struct Label {
    at: Vec3,
    text: FrameHandle<str>,
}

#[derive(Resource, Default)]
pub struct Draws(pub FrameHandle<[Draw]>);
#[derive(Resource, Default)]
pub struct Meshes(pub FrameHandle<[Mesh]>);
#[derive(Resource, Default)]
pub struct Instances(pub FrameHandle<[Instance]>);
#[derive(Resource, Default)]
pub struct Labels(FrameHandle<[Label]>);

/// What the last frame made, and the renderer reads during this one.
#[derive(Resource, Default)]
struct Shown {
    draws: FrameHandle<[Draw]>,
    meshes: FrameHandle<[Mesh]>,
    instances: FrameHandle<[Instance]>,
    labels: FrameHandle<[Label]>,
}

fn build_grid(arenas: Res<ArenasOf<FixedStep>>, walkers: Query<&Walker>, mut grid: ResMut<Grid>) {
    let walkers = walkers.iter().map(Walker::entry);
    let arena = arenas.local();
    let mut starts = arena.vec();
    starts.resize(STARTS, 0);
    let mut entries = arena.vec();
    entries.resize(walkers.clone().count(), Entry::default());
    sort_into_cells(walkers, &mut starts, &mut entries);
    grid.starts = starts.share();
    grid.entries = entries.share();
}

fn search_path(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    map: Res<Map>,
    mut search: Local<Search<SearchArena>>,
    mut goal: ResMut<Goal>,
) {
    if let Some(mut memory) = search.begins() {
        let mut costs = arenas.local().vec();
        costs.resize(field_count(&map), 0);
        write_costs(&map, &arenas[grid.entries], &mut costs);
        // The lease moves into the task, and keeps the step's memory until it ends.
        let costs = arenas.lease_handle(costs.share()).expect("it is new");
        let number = search.number();
        search.run(move || {
            memory.0.reset();
            let distances = memory.0.alloc_slice_fill_copy(costs.len(), 0);
            (find_goal(&costs, number, distances), memory)
        });
    }
    if let Some(found) = search.finish() {
        goal.0 = found;
    }
}

fn find_neighbours(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    mut walkers: Query<(&Walker, &mut Near)>,
) {
    let grid = GridView {
        starts: &arenas[grid.starts],
        entries: &arenas[grid.entries],
    };
    walkers.par_iter_mut().for_each_init(
        || arenas.local(),
        |arena, (walker, mut near)| {
            near.0 = arena.collect(grid.near(walker.at)).share();
        },
    );
}

fn walk(
    arenas: Res<ArenasOf<FixedStep>>,
    grid: Res<Grid>,
    map: Res<Map>,
    goal: Res<Goal>,
    mut walkers: Query<(&mut Walker, &Near)>,
) {
    let entries = &arenas[grid.entries];
    walkers.par_iter_mut().for_each(|(mut walker, near)| {
        walker.walk(&arenas[near.0], entries, goal.0, &map);
    });
}

fn cull_chunks(
    arenas: Res<FrameArenas>,
    view: Res<View>,
    chunks: Query<&Chunk>,
    mut visible: ResMut<Visible>,
) {
    let found = arenas.collector();
    chunks.par_iter().for_each_init(
        || found.batch(),
        |batch, chunk| {
            if view.sees_chunk(chunk.origin()) {
                batch.push(Seen::new(chunk, &view));
            }
        },
    );
    visible.0 = found.share_sorted_by_key(Seen::key);
}

fn choose_details(arenas: Res<FrameArenas>, visible: Res<Visible>, mut draws: ResMut<Draws>) {
    let nearest_first = arenas[visible.0].iter().enumerate();
    let chosen = nearest_first.map(|(place, seen)| choose_detail(place, seen));
    draws.0 = arenas.local().share_iter(chosen);
}

fn mesh_chunks(
    arenas: Res<FrameArenas>,
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut meshes: ResMut<Meshes>,
) {
    let made = arenas.collector();
    dirty.par_iter().for_each_init(
        || made.batch(),
        |batch, chunk| {
            let scratch = arenas.scratch();
            let padded = scratch.alloc_slice_fill_copy(PADDED_BLOCKS, AIR);
            map.pad(chunk, &chunks, padded);
            let mut quads = scratch.vec();
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            let mut vertices = arenas.local().vec_with_capacity(quads.len() * 4);
            for quad in &quads {
                vertices.extend_from_slice(&quad.corners());
            }
            batch.push(Mesh {
                chunk: chunk.number,
                vertices: vertices.share(),
            });
        },
    );
    meshes.0 = made.share();
}

fn mesh_in_tasks(
    arenas: Res<FrameArenas>,
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut meshing: Local<Meshing<TaskResult<[Vertex]>>>,
    mut meshes: ResMut<Meshes>,
) {
    meshing.begin_frame(dirty);
    while let Some(chunk) = meshing.next_chunk() {
        // One for the work, which the task drops, and a ticket for one that its result keeps.
        let (work, tasks) = (arenas.task_arena(), arenas.tasks());
        let mut padded = work.vec();
        padded.resize(PADDED_BLOCKS, AIR);
        map.pad(&chunk, &chunks, &mut padded);
        let padded = padded.share();
        meshing.run(chunk, move || {
            let mut quads = work.vec();
            let padded = work.get(padded).expect("it is the arena's");
            mesh(padded, |quad| quads.push(quad));
            quads.sort_unstable();
            let made = tasks.arena();
            let mut vertices = made.vec_with_capacity(quads.len() * 4);
            for quad in &quads {
                vertices.extend_from_slice(&quad.corners());
            }
            let vertices = vertices.share();
            made.finish(vertices)
        });
    }
    let mut made = arenas.local().vec();
    while let Some((chunk, vertices)) = meshing.next_mesh() {
        // Its memory goes back when the frame is recycled.
        let vertices = arenas.adopt(vertices);
        made.push(Mesh { chunk, vertices });
    }
    meshes.0 = made.share();
}

fn cull_walkers(
    arenas: Res<FrameArenas>,
    view: Res<View>,
    walkers: Query<&Walker>,
    mut instances: ResMut<Instances>,
) {
    let found = arenas.collector();
    walkers.par_iter().for_each_init(
        || found.batch(),
        |batch, walker| {
            if view.sees_sphere(walker.at, 1.0) {
                batch.push(walker.instance());
            }
        },
    );
    instances.0 = found.share();
}

fn write_labels(
    arenas: Res<FrameArenas>,
    step: Res<ArenasOf<FixedStep>>,
    load: Res<Load>,
    view: Res<View>,
    walkers: Query<(&Walker, &Near)>,
    mut labels: ResMut<Labels>,
) {
    let written = arenas.collector();
    walkers.par_iter().for_each_init(
        || written.batch(),
        |batch, (walker, near)| {
            if view.can_read(walker.at, load.label_distance) {
                let mut text = arenas.local().string();
                walker.write_label(step.slice(near.0).len(), &mut text);
                batch.push(Label {
                    at: walker.at,
                    text: text.share(),
                });
            }
        },
    );
    labels.0 = written.share();
}

fn hand_over(
    draws: Res<Draws>,
    meshes: Res<Meshes>,
    instances: Res<Instances>,
    labels: Res<Labels>,
    mut shown: ResMut<Shown>,
) {
    *shown = Shown {
        draws: draws.0,
        meshes: meshes.0,
        instances: instances.0,
        labels: labels.0,
    };
}

fn render(arenas: Res<FrameArenas>, shown: Res<Shown>, mut gpu: ResMut<Gpu>) {
    for mesh in arenas.slice(shown.meshes) {
        gpu.upload_mesh(mesh.chunk, &arenas[mesh.vertices]);
    }
    gpu.draw_chunks(arenas.slice(shown.draws));
    gpu.draw_walkers(arenas.slice(shown.instances));
    for label in arenas.slice(shown.labels) {
        gpu.draw_label(label.at, &arenas[label.text]);
    }
}
