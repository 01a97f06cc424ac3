//! The walkers: a crowd that keeps together, keeps its distance, and has somewhere to go.

use std::fmt;

use bevy_ecs::prelude::*;
use bevy_math::Vec3;

use super::Load;
use super::grid::{Entry, RADIUS};
use super::noise::unit;
use super::terrain::Map;

const SPEED: f32 = 6.0;
const STEP_SECONDS: f32 = 1.0 / 64.0;

#[derive(Component, Clone, Copy)]
pub struct Walker {
    pub number: u32,
    pub at: Vec3,
    pub velocity: Vec3,
}

/// What is drawn of a walker: its place and its number.
pub type Instance = [f32; 4];

impl Walker {
    pub fn entry(&self) -> Entry {
        Entry {
            at: self.at,
            velocity: self.velocity,
        }
    }

    pub fn instance(&self) -> Instance {
        self.at.extend(self.number as f32).into()
    }

    /// Writes what hovers above it.
    pub fn write_label(&self, near: usize, text: &mut impl fmt::Write) {
        let (number, speed) = (self.number, self.velocity.length());
        write!(text, "walker {number}: {near} near, {speed:.1} m/s")
            .expect("memory takes all text");
    }

    /// Moves for one step, with the others near it.
    pub fn walk(&mut self, near: &[u32], entries: &[Entry], goal: Vec3, map: &Map) {
        let mut away = Vec3::ZERO;
        let mut together = Vec3::ZERO;
        let mut along = Vec3::ZERO;
        for place in near {
            let other = &entries[*place as usize];
            let offset = self.at - other.at;
            away += offset * (RADIUS / offset.length_squared().max(0.25) - 1.0 / RADIUS);
            together -= offset;
            along += other.velocity - self.velocity;
        }
        let share = 1.0 / near.len().max(1) as f32;
        let to_goal = (goal - self.at).with_y(0.0).normalize_or_zero();
        let force = away * 0.8 + together * share * 0.3 + along * share * 0.5 + to_goal * 2.0;
        self.velocity += force.with_y(0.0) * STEP_SECONDS;
        self.velocity = self.velocity.clamp_length_max(SPEED);
        self.at += self.velocity * STEP_SECONDS;
        let last = map.width() as f32 - 1.0;
        self.at = self.at.clamp(Vec3::ZERO, Vec3::splat(last));
        self.at.y = f32::from(map.height(self.at.x as usize, self.at.z as usize));
    }
}

/// Returns a new walker, somewhere on the map.
pub fn walker(number: u32, map: &Map) -> Walker {
    let width = map.width() as f32;
    let [x, z, dx, dz] = [0, 1, 2, 3].map(|n| unit(number * 4 + n));
    Walker {
        number,
        at: Vec3::new(x * width, 0.0, z * width),
        velocity: Vec3::new(dx - 0.5, 0.0, dz - 0.5),
    }
}

pub fn spawn(mut commands: Commands, load: Res<Load>, map: Res<Map>) {
    for number in 0..load.walkers {
        commands.spawn(walker(number, &map));
    }
}
