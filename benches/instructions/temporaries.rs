//! Scratch memory and collectors: what lives for a scope, and what comes out of many workers.

use std::hint::black_box;

use bevy_frame_arena::{Batch, FrameArena, FrameArenas};
use bevy_utils::Parallel;

use crate::counts::segment;

pub(crate) const SCRATCH: &str = "scratch: take and drop";
pub(crate) const SCRATCH_ALLOC: &str = "scratch: take, u64, drop";
pub(crate) const SCRATCH_NESTED: &str = "scratch: two at once";
pub(crate) const SCRATCH_VEC: &str = "scratch: take, a `Vec` of 8 pushes, drop";
pub(crate) const BATCH: &str = "collector: push in a batch, each of 1,000";

pub(crate) fn run_all() {
    scratch();
    batches();
}

fn scratch() {
    let arenas = FrameArenas::default();
    segment(SCRATCH, "ours", || measured_scratch(black_box(&arenas)));
    segment(SCRATCH_ALLOC, "ours", || {
        measured_scratch_alloc(black_box(&arenas), black_box(7));
    });
    let parallel = Parallel::<FrameArena>::default();
    segment(SCRATCH_ALLOC, "`Parallel<FrameArena>` and reset", || {
        measured_parallel_alloc(black_box(&parallel), black_box(7));
    });
    segment(SCRATCH_NESTED, "ours", || {
        measured_nested(black_box(&arenas));
    });
    segment(SCRATCH_VEC, "ours", || {
        measured_scratch_vec(black_box(&arenas));
    });
    let parallel = Parallel::<Vec<u64>>::default();
    segment(SCRATCH_VEC, "`Parallel<Vec>`, reused", || {
        measured_parallel_vec(black_box(&parallel));
    });
}

fn batches() {
    let mut arenas = FrameArenas::default();
    segment(BATCH, "ours", || {
        arenas.swap();
        let collector = arenas.collector();
        measured_batch(black_box(&mut collector.batch()));
    });
    let parallel = Parallel::<Vec<u64>>::default();
    segment(BATCH, "`Parallel<Vec>`, reused", || {
        let mut list = parallel.borrow_local_mut();
        list.clear();
        measured_queue(black_box(&mut list));
    });
}

#[inline(never)]
fn measured_scratch(arenas: &FrameArenas) {
    black_box(&*arenas.scratch());
}

#[inline(never)]
fn measured_scratch_alloc(arenas: &FrameArenas, value: u64) {
    black_box(arenas.scratch().alloc(value));
}

#[inline(never)]
fn measured_parallel_alloc(parallel: &Parallel<FrameArena>, value: u64) {
    let mut arena = parallel.borrow_local_mut();
    arena.reset();
    black_box(arena.alloc(value));
}

#[inline(never)]
fn measured_nested(arenas: &FrameArenas) {
    let (outer, inner) = (arenas.scratch(), arenas.scratch());
    black_box((&*outer, &*inner));
}

#[inline(never)]
fn measured_scratch_vec(arenas: &FrameArenas) {
    let scratch = arenas.scratch();
    let mut list = scratch.vec();
    for number in 0..8_u64 {
        list.push(black_box(number));
    }
    black_box(&list);
}

#[inline(never)]
fn measured_parallel_vec(parallel: &Parallel<Vec<u64>>) {
    let mut list = parallel.borrow_local_mut();
    list.clear();
    for number in 0..8_u64 {
        list.push(black_box(number));
    }
    black_box(&list);
}

#[inline(never)]
fn measured_batch(batch: &mut Batch<'_, u64>) {
    for number in 0..1000 {
        batch.push(number);
    }
}

#[inline(never)]
fn measured_queue(list: &mut Vec<u64>) {
    for number in 0..1000 {
        list.push(number);
    }
}
