//! Tasks that make nothing: what is left is the price of tasks.

use bevy_tasks::{AsyncComputeTaskPool, Task};
use voxel_world::game::mesher::Vertex;

use super::Way;
use crate::scene::Chunk;

pub(crate) struct Nothing;

impl Way for Nothing {
    type Mesh = ();

    fn mesh(&mut self, _chunk: Chunk) -> Task<()> {
        AsyncComputeTaskPool::get().spawn(async {})
    }

    fn vertices((): &()) -> &[Vertex] {
        &[]
    }
}
