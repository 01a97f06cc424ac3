//! The camera: its path, and what it sees.

use bevy_ecs::prelude::*;
use bevy_math::{Mat4, Vec3, Vec4, proj};

use super::Frame;
use super::terrain::{Chunk, Map, SIDE};

const FIELD_OF_VIEW: f32 = 1.1;
const NEAR: f32 = 0.5;
const FAR: f32 = 260.0;

/// What the camera sees in this frame.
#[derive(Resource, Default, Clone)]
pub struct View {
    pub eye: Vec3,
    /// The sides of the frustum: a point is inside where all of them are positive.
    sides: [Vec4; 6],
}

impl View {
    pub fn new(eye: Vec3, target: Vec3, aspect: f32) -> Self {
        let clip_from_world = clip_from_world(eye, target, aspect);
        let [x, y, z, w] = [0, 1, 2, 3].map(|row| clip_from_world.row(row));
        let sides = [w + x, w - x, w + y, w - y, z, w - z];
        Self {
            eye,
            sides: sides.map(|side| side / side.truncate().length()),
        }
    }

    pub fn distance(&self, at: Vec3) -> f32 {
        self.eye.distance(at)
    }

    pub fn sees_sphere(&self, center: Vec3, radius: f32) -> bool {
        let is_inside = |side: &Vec4| side.truncate().dot(center) + side.w > -radius;
        self.sides.iter().all(is_inside)
    }

    /// Whether something is in sight and so near that its label can be read.
    pub fn can_read(&self, at: Vec3, distance: f32) -> bool {
        self.distance(at) < distance && self.sees_sphere(at, 1.0)
    }

    /// Whether any part of a chunk may be in sight.
    pub fn sees_chunk(&self, origin: Vec3) -> bool {
        let half = Vec3::splat(SIDE as f32 / 2.0);
        self.sides.iter().all(|side| {
            let normal = side.truncate();
            normal.dot(origin + half) + side.w > -normal.abs().dot(half)
        })
    }
}

/// Returns the projection of somebody who looks at `target`.
pub fn clip_from_world(eye: Vec3, target: Vec3, aspect: f32) -> Mat4 {
    let back = (eye - target).normalize();
    let right = Vec3::Y.cross(back).normalize();
    let axes = [right, back.cross(right), back].map(|axis| axis.extend(0.0));
    let world_from_view = Mat4::from_cols(axes[0], axes[1], axes[2], eye.extend(1.0));
    proj::perspective(FIELD_OF_VIEW, aspect, NEAR, FAR) * world_from_view.inverse()
}

/// A chunk in sight.
#[derive(Clone, Copy, Default)]
pub struct Seen {
    pub distance: f32,
    pub chunk: u32,
}

impl Seen {
    pub fn new(chunk: &Chunk, view: &View) -> Self {
        Self {
            distance: view.distance(chunk.origin()),
            chunk: chunk.number,
        }
    }

    /// The nearest first. No two are equal, so the order is the same each time.
    pub fn key(&self) -> u64 {
        u64::from(self.distance.to_bits()) << 32 | u64::from(self.chunk)
    }
}

/// A chunk to draw, the coarser the farther away it is.
#[derive(Clone, Copy)]
pub struct Draw {
    pub chunk: u32,
    pub detail: u32,
}

/// Chooses the detail of a chunk by its place in the list of all, the nearest first.
pub fn choose_detail(place: usize, seen: &Seen) -> Draw {
    let near = (seen.distance / 64.0) as u32;
    let detail = near.max(place as u32 / 128).min(3);
    Draw {
        chunk: seen.chunk,
        detail,
    }
}

/// Flies along the path.
pub fn follow_path(frame: Res<Frame>, map: Res<Map>, mut view: ResMut<View>) {
    let [eye, target] = path(frame.0, &map);
    *view = View::new(eye, target, 16.0 / 9.0);
}

/// Returns where the camera is on its path, a loop over the world, and where it looks: ahead.
pub fn path(frame: u32, map: &Map) -> [Vec3; 2] {
    let middle = map.width() as f32 / 2.0;
    let at = |frame: f32, height: f32| {
        let angle = frame * 0.004;
        let (x, z) = (angle.cos() * 0.7, (2.0 * angle).sin() * 0.5);
        Vec3::new(middle + x * middle, height, middle + z * middle)
    };
    let now = frame as f32;
    [at(now, map.top() * 1.1), at(now + 150.0, map.top() * 0.5)]
}
