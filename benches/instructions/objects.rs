//! Objects that are made and freed one by one: in pools, and in a free list.

use std::alloc::{GlobalAlloc, System};
use std::hint::black_box;

use bevy_frame_arena::Pool;
use mimalloc::MiMalloc;
use slab::Slab;
use slotmap::{DefaultKey, SlotMap};

use crate::blocks;
use crate::containers::{OBJECTS, Object, Objects};
use crate::counts::segment;

const INSERT: &str = "object of 64 bytes, made";
const REMOVE: &str = "object of 64 bytes, removed";
const GET: &str = "object looked up";
const VISIT: &str = "1,000 objects visited, every second slot vacant";

/// What ours may cost.
pub(crate) fn limits() -> impl Iterator<Item = (&'static str, f64)> {
    let pool = [(INSERT, 25.0), (REMOVE, 25.0), (GET, 9.0), (VISIT, 9_443.0)];
    pool.into_iter().chain(blocks::limits())
}

pub(crate) fn run_all() {
    run::<Pool<Object>>();
    run::<SlotMap<DefaultKey, Object>>();
    run::<thunderdome::Arena<Object>>();
    run::<Slab<Object>>();
    run_heap("malloc", &System);
    run_heap("mimalloc", &MiMalloc);
    blocks::run_all();
}

/// With every second one of twice as many objects removed, so that slots are vacant.
fn run<O: Objects>() {
    let mut objects = O::default();
    let keys: Vec<_> = (0..2 * OBJECTS).map(|n| objects.insert([n; 8])).collect();
    for key in keys.iter().skip(1).step_by(2) {
        objects.remove(*key);
    }
    segment(INSERT, O::NAME, || {
        let key = measured_insert(black_box(&mut objects), black_box([7; 8]));
        black_box(objects.remove(key));
    });
    segment(REMOVE, O::NAME, || {
        let key = objects.insert(black_box([7; 8]));
        black_box(measured_remove(black_box(&mut objects), key));
    });
    segment(GET, O::NAME, || {
        black_box(measured_get(black_box(&objects), black_box(keys[2])));
    });
    segment(VISIT, O::NAME, || {
        black_box(measured_sum(black_box(&objects)));
    });
}

/// A box for each object: its address is its key.
fn run_heap(name: &str, heap: &impl GlobalAlloc) {
    let others: Vec<_> = (0..OBJECTS).map(|n| blocks::make(heap, [n; 8])).collect();
    segment(INSERT, name, || {
        let object = measured_make(black_box(heap), black_box([7; 8]));
        blocks::free(heap, object);
    });
    segment(REMOVE, name, || {
        let object = blocks::make(heap, black_box([7; 8]));
        measured_free(black_box(heap), object);
    });
    for object in others {
        blocks::free(heap, object);
    }
}

#[inline(never)]
fn measured_insert<O: Objects>(objects: &mut O, object: Object) -> O::Key {
    objects.insert(object)
}

#[inline(never)]
fn measured_remove<O: Objects>(objects: &mut O, key: O::Key) -> Option<Object> {
    objects.remove(key)
}

#[inline(never)]
fn measured_get<O: Objects>(objects: &O, key: O::Key) -> Option<&Object> {
    objects.get(key)
}

#[inline(never)]
fn measured_sum<O: Objects>(objects: &O) -> u64 {
    objects.sum()
}

#[inline(never)]
fn measured_make(heap: &impl GlobalAlloc, object: Object) -> blocks::Made<Object> {
    blocks::make(heap, object)
}

#[inline(never)]
fn measured_free(heap: &impl GlobalAlloc, object: blocks::Made<Object>) {
    blocks::free(heap, object);
}
