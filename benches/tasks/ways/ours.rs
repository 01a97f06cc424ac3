//! Task arenas: one for the work, which the task drops, and one that its result keeps.

use bevy_frame_arena::{FrameArenas, TaskResult};
use bevy_tasks::{AsyncComputeTaskPool, Task};
use voxel_world::game::mesher::{PADDED_BLOCKS, Vertex, mesh};
use voxel_world::game::terrain::AIR;

use super::Way;
use crate::scene::Chunk;

#[derive(Default)]
pub(crate) struct Ours {
    arenas: FrameArenas,
}

impl Way for Ours {
    type Mesh = TaskResult<[Vertex]>;

    fn mesh(&mut self, chunk: Chunk) -> Task<TaskResult<[Vertex]>> {
        let (work, tasks) = (self.arenas.task_arena(), self.arenas.tasks());
        let mut padded = work.vec();
        padded.resize(PADDED_BLOCKS, AIR);
        chunk.pad(&mut padded);
        let padded = padded.share();
        AsyncComputeTaskPool::get().spawn(async move {
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
        })
    }

    fn vertices(mesh: &TaskResult<[Vertex]>) -> &[Vertex] {
        mesh
    }

    fn begin_frame(&mut self) {
        self.arenas.swap();
    }
}
