//! bumpalo-herd for what one system needs, and reused buffers for the rest: what is in a herd
//! borrows it, so no component or resource can keep it for another system.

use std::mem::replace;
use std::sync::Mutex;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::not;
use bumpalo_herd::{Herd, Member};

use super::reused::{
    MeshEnd, MeshQueue, Meshes, ReusedPlugin, build_grid, choose_details, find_neighbours,
    hand_over, mesh_in_tasks, render, search_path, write_labels,
};
use super::vectors::{Instances, Visible, walk};
use super::{Way, add_once};
use crate::game::camera::{Seen, View};
use crate::game::mesher::{PADDED_BLOCKS, mesh};
use crate::game::meshing::is_in_tasks;
use crate::game::terrain::{AIR, Blocks, Chunk, Map};
use crate::game::walkers::Walker;

pub(super) struct HerdPlugin;

impl Plugin for HerdPlugin {
    fn build(&self, app: &mut App) {
        add_once(app, ReusedPlugin);
        app.insert_resource(FrameHerd(Herd::new()))
            .add_systems(Last, reset_herd.in_set(Way::Herd));
        Way::Herd.add_systems(
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
