//! A stand-in for the renderer: it reads all it is given, and remembers a sum of it.

use bevy_ecs::prelude::*;
use bevy_math::Vec3;

use crate::game::camera::Draw;
use crate::game::mesher::Vertex;
use crate::game::walkers::Instance;

/// What was uploaded and drawn. Worlds that are equal have equal sums, frame by frame.
#[derive(Resource, Default)]
pub struct Gpu {
    /// The sum of each chunk's mesh: that is all this graphics card keeps of it.
    meshes: Vec<u64>,
    sum: u64,
}

impl Gpu {
    pub fn upload_mesh(&mut self, chunk: u32, vertices: &[Vertex]) {
        let chunk = chunk as usize;
        if self.meshes.len() <= chunk {
            self.meshes.resize(chunk + 1, 0);
        }
        self.meshes[chunk] = sum_of(vertices);
    }

    /// Draws the chunks in their order.
    pub fn draw_chunks(&mut self, draws: &[Draw]) {
        for draw in draws {
            let mesh = self.meshes.get(draw.chunk as usize).copied();
            let drawn = mesh.unwrap_or(0).wrapping_add(u64::from(draw.detail));
            self.sum = self.sum.rotate_left(7) ^ drawn;
        }
    }

    /// Draws walkers, in any order.
    pub fn draw_walkers(&mut self, instances: &[Instance]) {
        self.sum = self.sum.wrapping_add(sum_of(instances));
    }

    /// Draws one of many labels, in any order.
    pub fn draw_label(&mut self, at: Vec3, text: &str) {
        let start = u64::from(at.x.to_bits() ^ at.y.to_bits() ^ at.z.to_bits());
        let add = |sum: u64, byte: u8| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
        self.sum = self.sum.wrapping_add(text.bytes().fold(start, add));
    }

    /// Returns the sum of everything so far.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

fn sum_of(list: &[[f32; 4]]) -> u64 {
    let sum = |[x, y, z, w]: [f32; 4]| {
        let [x, y, z, w] = [x, y, z, w].map(|number| u64::from(number.to_bits()));
        x + 3 * y + 5 * z + 7 * w
    };
    list.iter()
        .fold(0, |all, item| all.wrapping_add(sum(*item)))
}
