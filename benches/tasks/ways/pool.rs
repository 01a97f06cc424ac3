//! A pool of buffers, made by hand: they come back through channels, which do not allocate once they are made.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bevy_tasks::{AsyncComputeTaskPool, Task};
use voxel_world::game::mesher::{PADDED_BLOCKS, Quad, Vertex, mesh};
use voxel_world::game::terrain::{AIR, Block};

use super::Way;
use crate::scene::Chunk;

/// Buffers that are kept; more are freed.
const MOST: usize = 128;

pub(crate) struct Pool {
    work: (SyncSender<WorkBuffers>, Receiver<WorkBuffers>),
    vertices: (SyncSender<Vec<Vertex>>, Receiver<Vec<Vertex>>),
}

/// What a task needs while it works.
#[derive(Default)]
struct WorkBuffers {
    padded: Vec<Block>,
    quads: Vec<Quad>,
}

/// A mesh, whose buffer goes back.
pub(crate) struct PooledMesh {
    vertices: Vec<Vertex>,
    pool: SyncSender<Vec<Vertex>>,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            work: sync_channel(MOST),
            vertices: sync_channel(MOST),
        }
    }
}

impl Drop for PooledMesh {
    fn drop(&mut self) {
        // If the pool is full or gone, the buffer is freed.
        let _ = self.pool.try_send(std::mem::take(&mut self.vertices));
    }
}

impl Way for Pool {
    type Mesh = PooledMesh;

    fn mesh(&mut self, chunk: Chunk) -> Task<PooledMesh> {
        let mut work = self.work.1.try_recv().unwrap_or_default();
        work.padded.clear();
        work.padded.resize(PADDED_BLOCKS, AIR);
        chunk.pad(&mut work.padded);
        let work_pool = self.work.0.clone();
        let mut made = PooledMesh {
            vertices: self.vertices.1.try_recv().unwrap_or_default(),
            pool: self.vertices.0.clone(),
        };
        AsyncComputeTaskPool::get().spawn(async move {
            work.quads.clear();
            mesh(&work.padded, |quad| work.quads.push(quad));
            work.quads.sort_unstable();
            made.vertices.clear();
            made.vertices.reserve_exact(work.quads.len() * 4);
            for quad in &work.quads {
                made.vertices.extend_from_slice(&quad.corners());
            }
            let _ = work_pool.try_send(work);
            made
        })
    }

    fn vertices(mesh: &PooledMesh) -> &[Vertex] {
        &mesh.vertices
    }
}
