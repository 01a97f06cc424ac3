//! bumpalo-herd for what one system needs, and reused buffers for the rest: what is in a herd
//! borrows it, so no component or resource can keep it for another system.

use std::mem::{replace, swap};
use std::sync::Mutex;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_utils::Parallel;
use bumpalo_herd::{Herd, Member};

use super::Way;
use crate::game::Load;
use crate::game::camera::{Draw, Seen, View, choose_detail};
use crate::game::grid::{Entry, GridView, STARTS, sort_into_cells};
use crate::game::mesher::{PADDED_BLOCKS, Vertex, mesh};
use crate::game::paths::{Goal, Search, field_count, find_goal, write_costs};
use crate::game::terrain::{AIR, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};
use crate::gpu::Gpu;

pub(crate) struct HerdPlugin;

impl Plugin for HerdPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Grid>()
            .init_resource::<Goal>()
            .init_resource::<Visible>()
            .init_resource::<Draws>()
            .init_resource::<Meshes>()
            .init_resource::<Instances>()
            .init_resource::<Labels>()
            .init_resource::<Shown>()
            .insert_resource(FrameHerd(Herd::new()))
            .register_required_components::<Walker, Near>()
            .add_systems(First, hand_over.in_set(Way::Herd))
            .add_systems(
                FixedUpdate,
                (build_grid, search_path, find_neighbours, walk)
                    .chain()
                    .in_set(Way::Herd),
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
                    .in_set(Way::Herd),
            )
            .add_systems(Last, reset_herd.in_set(Way::Herd));
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

#[derive(Resource)]
struct FrameHerd(Herd);

fn reset_herd(mut herd: ResMut<FrameHerd>) {
    herd.0.reset();
}

/// A list that grows in a herd. A bump vector would borrow the member, and could not be kept
/// beside it.
struct List<'herd, T> {
    values: &'herd mut [T],
    len: usize,
}

impl<'herd, T: Copy + Default> List<'herd, T> {
    fn new() -> Self {
        Self {
            values: &mut [],
            len: 0,
        }
    }

    fn push(&mut self, member: &Member<'herd>, value: T) {
        if self.len == self.values.len() {
            let capacity = 64.max(2 * self.len);
            let larger = member.alloc_slice_fill_copy(capacity, T::default());
            larger[..self.len].copy_from_slice(self.values);
            self.values = larger;
        }
        self.values[self.len] = value;
        self.len += 1;
    }

    fn into_slice(self) -> &'herd mut [T] {
        &mut self.values[..self.len]
    }
}

/// The list of one batch, which joins those of all batches when it is done.
struct Batch<'herd, 'all, T: Copy + Default> {
    member: Member<'herd>,
    list: List<'herd, T>,
    all: &'all Mutex<Vec<&'herd [T]>>,
}

impl<'herd, 'all, T: Copy + Default> Batch<'herd, 'all, T> {
    // In a box, because Bevy moves it for each item.
    fn new(herd: &'herd Herd, all: &'all Mutex<Vec<&'herd [T]>>) -> Box<Self> {
        Box::new(Self {
            member: herd.get(),
            list: List::new(),
            all,
        })
    }

    fn push(&mut self, value: T) {
        self.list.push(&self.member, value);
    }
}

impl<T: Copy + Default> Drop for Batch<'_, '_, T> {
    fn drop(&mut self) {
        let list = replace(&mut self.list, List::new());
        let mut all = self.all.lock().expect("no system panics");
        all.push(list.into_slice());
    }
}

/// Copies the lists of all batches to where the next system can read them.
fn gather<T: Copy>(lists: Mutex<Vec<&[T]>>, all: &mut Vec<T>) {
    all.clear();
    for list in lists.into_inner().expect("no system panics") {
        all.extend_from_slice(list);
    }
}

fn cull_chunks(
    herd: Res<FrameHerd>,
    view: Res<View>,
    chunks: Query<&Chunk>,
    mut visible: ResMut<Visible>,
) {
    let lists = Mutex::new(Vec::new());
    chunks.par_iter().for_each_init(
        || Batch::new(&herd.0, &lists),
        |batch, chunk| {
            if view.sees_chunk(chunk.origin()) {
                batch.push(Seen::new(chunk, &view));
            }
        },
    );
    gather(lists, &mut visible.0);
    visible.0.sort_unstable_by_key(Seen::key);
}

fn choose_details(visible: Res<Visible>, mut draws: ResMut<Draws>) {
    let nearest_first = visible.0.iter().enumerate();
    let chosen = nearest_first.map(|(place, seen)| choose_detail(place, seen));
    draws.0.clear();
    draws.0.extend(chosen);
}

fn mesh_chunks(
    herd: Res<FrameHerd>,
    map: Res<Map>,
    dirty: Query<&Chunk, Changed<Blocks>>,
    chunks: Query<&Blocks>,
    mut meshes: ResMut<Meshes>,
) {
    meshes.0.iter_mut().for_each(MeshQueue::clear);
    let meshes = &meshes.0;
    dirty.par_iter().for_each_init(
        || (meshes.borrow_local_mut(), herd.0.get()),
        |(queue, member), chunk| {
            let padded = member.alloc_slice_fill_copy(PADDED_BLOCKS, AIR);
            map.pad(chunk, &chunks, padded);
            let mut quads = List::new();
            mesh(padded, |quad| quads.push(member, quad));
            let quads = quads.into_slice();
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
    herd: Res<FrameHerd>,
    view: Res<View>,
    walkers: Query<&Walker>,
    mut instances: ResMut<Instances>,
) {
    let lists = Mutex::new(Vec::new());
    walkers.par_iter().for_each_init(
        || Batch::new(&herd.0, &lists),
        |batch, walker| {
            if view.sees_sphere(walker.at, 1.0) {
                batch.push(walker.instance());
            }
        },
    );
    gather(lists, &mut instances.0);
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
