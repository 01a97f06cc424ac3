//! 1,000 particles that are made, moved and removed in a frame, five ways.

use std::hint::black_box;

use bevy_ecs::prelude::{Component, World};
use bevy_frame_arena::Pool;
use slab::Slab;
use slotmap::SlotMap;

use crate::counting::allocator_calls;
use crate::race::{Effort, OURS, Runner, race};

const PARTICLES: u32 = 1000;

#[derive(Clone, Component, Copy)]
struct Particle {
    place: [f32; 4],
    speed: [f32; 4],
    colour: [f32; 4],
    seconds_left: f32,
}

impl Particle {
    fn new(n: u32) -> Self {
        black_box(Self {
            place: [n as f32; 4],
            speed: [1.0; 4],
            colour: [0.5; 4],
            seconds_left: 1.0,
        })
    }

    fn step(&mut self) {
        for (place, speed) in self.place.iter_mut().zip(self.speed) {
            *place += speed * 0.016;
        }
        self.colour[3] *= 0.9;
        self.seconds_left -= 0.016;
    }
}

pub(crate) fn run_all(effort: Effort) {
    println!("\nAllocator calls in a warm frame of 1,000 particles:\n");
    for (name, mut frame) in ways() {
        frame();
        frame();
        println!("- {name}: {}", allocator_calls(frame));
    }
    let runners = ways()
        .into_iter()
        .map(|(name, frame)| Runner::new(name, frame))
        .collect();
    race(
        effort,
        "particle made, moved and removed",
        PARTICLES,
        runners,
    );
}

type Way = (&'static str, Box<dyn FnMut()>);

fn ways() -> Vec<Way> {
    vec![
        (OURS, in_a_pool()),
        ("slotmap", in_a_slotmap()),
        ("slab", in_a_slab()),
        ("`Box` each", in_boxes()),
        ("entities", as_entities()),
    ]
}

fn in_a_pool() -> Box<dyn FnMut()> {
    let mut pool = Pool::new();
    let mut keys = Vec::new();
    Box::new(move || {
        keys.extend((0..PARTICLES).map(|n| pool.insert(Particle::new(n))));
        pool.iter_mut().for_each(|(_, particle)| particle.step());
        for key in keys.drain(..) {
            black_box(pool.remove(key));
        }
    })
}

fn in_a_slotmap() -> Box<dyn FnMut()> {
    let mut map = SlotMap::new();
    let mut keys = Vec::new();
    Box::new(move || {
        keys.extend((0..PARTICLES).map(|n| map.insert(Particle::new(n))));
        map.values_mut().for_each(Particle::step);
        for key in keys.drain(..) {
            black_box(map.remove(key));
        }
    })
}

fn in_a_slab() -> Box<dyn FnMut()> {
    let mut slab = Slab::new();
    let mut keys = Vec::new();
    Box::new(move || {
        keys.extend((0..PARTICLES).map(|n| slab.insert(Particle::new(n))));
        slab.iter_mut().for_each(|(_, particle)| particle.step());
        for key in keys.drain(..) {
            black_box(slab.try_remove(key));
        }
    })
}

fn in_boxes() -> Box<dyn FnMut()> {
    let mut boxes = Vec::new();
    Box::new(move || {
        boxes.extend((0..PARTICLES).map(|n| Box::new(Particle::new(n))));
        boxes.iter_mut().for_each(|particle| particle.step());
        for particle in boxes.drain(..) {
            black_box(*particle);
        }
    })
}

fn as_entities() -> Box<dyn FnMut()> {
    let mut world = World::new();
    let mut query = world.query::<&mut Particle>();
    let mut keys = Vec::new();
    Box::new(move || {
        keys.extend(world.spawn_batch((0..PARTICLES).map(Particle::new)));
        query
            .iter_mut(&mut world)
            .for_each(|mut particle| particle.step());
        for key in keys.drain(..) {
            black_box(world.despawn(key));
        }
    })
}
