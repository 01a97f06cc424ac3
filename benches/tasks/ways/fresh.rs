//! Fresh vectors in each task.

use bevy_tasks::{AsyncComputeTaskPool, Task};
use voxel_world::game::mesher::{PADDED_BLOCKS, Vertex, mesh};
use voxel_world::game::terrain::AIR;

use super::Way;
use crate::scene::Chunk;

pub(crate) struct Fresh;

impl Way for Fresh {
    type Mesh = Vec<Vertex>;

    fn mesh(&mut self, chunk: Chunk) -> Task<Vec<Vertex>> {
        let mut padded = vec![AIR; PADDED_BLOCKS];
        chunk.pad(&mut padded);
        AsyncComputeTaskPool::get().spawn(async move {
            let mut quads = Vec::new();
            mesh(&padded, |quad| quads.push(quad));
            quads.sort_unstable();
            let mut vertices = Vec::with_capacity(quads.len() * 4);
            for quad in &quads {
                vertices.extend_from_slice(&quad.corners());
            }
            vertices
        })
    }

    fn vertices(mesh: &Vec<Vertex>) -> &[Vertex] {
        mesh
    }
}
