//! What the ways give to the renderer: a copy for the render world, unless it can read the arena.

use bevy::prelude::*;

use crate::game::camera::Draw;
use crate::game::mesher::Vertex;
use crate::game::walkers::Instance;

/// What is drawn in this frame, copied.
#[derive(Resource, Clone, Default)]
pub(crate) struct Gpu {
    /// Off while the arenas are played: the render world reads those.
    pub(crate) is_copying: bool,
    /// On in the first frame of a way, which has nothing to draw yet.
    pub(crate) is_first: bool,
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) meshes: Vec<CopiedMesh>,
    pub(crate) draws: Vec<Draw>,
    pub(crate) instances: Vec<Instance>,
}

/// A chunk, and where its vertices end.
#[derive(Clone, Copy)]
pub(crate) struct CopiedMesh {
    pub(crate) chunk: u32,
    pub(crate) end: usize,
}

impl Gpu {
    pub(crate) fn upload_mesh(&mut self, chunk: u32, vertices: &[Vertex]) {
        if self.is_copying {
            self.vertices.extend_from_slice(vertices);
            let end = self.vertices.len();
            self.meshes.push(CopiedMesh { chunk, end });
        }
    }

    pub(crate) fn draw_chunks(&mut self, draws: &[Draw]) {
        if self.is_copying {
            self.draws.extend_from_slice(draws);
        }
    }

    pub(crate) fn draw_walkers(&mut self, instances: &[Instance]) {
        if self.is_copying {
            self.instances.extend_from_slice(instances);
        }
    }

    /// Labels are written, and not drawn: thousands of texts would hide the world.
    pub(crate) fn draw_label(&mut self, _at: Vec3, _text: &str) {}

    /// Forgets the last frame.
    pub(crate) fn clear(&mut self) {
        self.vertices.clear();
        self.meshes.clear();
        self.draws.clear();
        self.instances.clear();
    }

    /// Returns the meshes: the chunk, and its vertices.
    pub(crate) fn meshes(&self) -> impl Iterator<Item = (u32, &[Vertex])> {
        let mut start = 0;
        self.meshes.iter().map(move |mesh| {
            let vertices = &self.vertices[start..mesh.end];
            start = mesh.end;
            (mesh.chunk, vertices)
        })
    }
}
