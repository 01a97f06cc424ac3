//! Reused buffers: `Local`, `Parallel`, and two of each list that the renderer reads.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::common_conditions::not;
use bevy_utils::Parallel;

use super::reused::{
    MeshEnd, MeshQueue, Meshes, ReusedPlugin, build_grid, choose_details, find_neighbours,
    hand_over, mesh_in_tasks, render, search_path, write_labels,
};
use super::vectors::{Instances, Visible, walk};
use super::{Way, add_once};
use crate::game::camera::{Seen, View};
use crate::game::mesher::{PADDED_BLOCKS, Quad, mesh};
use crate::game::meshing::is_in_tasks;
use crate::game::terrain::{AIR, Block, Blocks, Chunk, Map};
use crate::game::walkers::{Instance, Walker};

pub(super) struct LocalPlugin;

impl Plugin for LocalPlugin {
    fn build(&self, app: &mut App) {
        add_once(app, ReusedPlugin);
        Way::Local.add_systems(
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
