//! Many allocations of one thread that looks its arena up each time, or shares what it allocates.

use std::hint::black_box;
use std::sync::Arc;

use bevy_frame_arena::FrameArenas;
use bevy_utils::Parallel;
use bumpalo::Bump;
use bumpalo_herd::Herd;
use thread_local::ThreadLocal;

use crate::race::{Effort, OURS, Runner, race};

const COUNT: u64 = 1000;
const UNITS: u32 = 1000;

pub(crate) fn run_all(effort: Effort) {
    looked_up(effort);
    taken_once(effort);
    shared(effort);
}

thread_local! {
    static BUMP: std::cell::RefCell<Bump> = std::cell::RefCell::new(Bump::with_capacity(1 << 20));
}

fn looked_up(effort: Effort) {
    let mut ours = FrameArenas::default();
    let mut locals = ThreadLocal::<Bump>::new();
    let mut parallel = Parallel::<Bump>::default();
    let mut herd = Herd::new();
    let runners = vec![
        Runner::new(OURS, || {
            for number in 0..COUNT {
                black_box(&ours).local().alloc(number);
            }
            ours.swap();
        }),
        Runner::new("`std::thread_local!` + bumpalo", || {
            for number in 0..COUNT {
                BUMP.with(|bump| {
                    bump.borrow().alloc(number);
                });
            }
            BUMP.with(|bump| bump.borrow_mut().reset());
        }),
        Runner::new("`ThreadLocal<Bump>`", || {
            for number in 0..COUNT {
                black_box(&locals).get_or_default().alloc(number);
            }
            locals.iter_mut().for_each(Bump::reset);
        }),
        Runner::new("`Parallel<Bump>`", || {
            for number in 0..COUNT {
                black_box(&parallel).borrow_local_mut().alloc(number);
            }
            parallel.iter_mut().for_each(Bump::reset);
        }),
        Runner::new("bumpalo-herd", || {
            for number in 0..COUNT {
                black_box(&herd).get().alloc(number);
            }
            herd.reset();
        }),
    ];
    race(effort, "u64, arena looked up for each", UNITS, runners);
}

fn taken_once(effort: Effort) {
    let mut ours = FrameArenas::default();
    let mut locals = ThreadLocal::<Bump>::new();
    let mut parallel = Parallel::<Bump>::default();
    let mut herd = Herd::new();
    let runners = vec![
        Runner::new(OURS, || {
            let arena = black_box(&ours).local();
            for number in 0..COUNT {
                arena.alloc(number);
            }
            ours.swap();
        }),
        Runner::new("`ThreadLocal<Bump>`", || {
            let arena = black_box(&locals).get_or_default();
            for number in 0..COUNT {
                arena.alloc(number);
            }
            locals.iter_mut().for_each(Bump::reset);
        }),
        Runner::new("`Parallel<Bump>`", || {
            let arena = black_box(&parallel).borrow_local_mut();
            for number in 0..COUNT {
                arena.alloc(number);
            }
            drop(arena);
            parallel.iter_mut().for_each(Bump::reset);
        }),
        Runner::new("bumpalo-herd", || {
            let member = black_box(&herd).get();
            for number in 0..COUNT {
                member.alloc(number);
            }
            drop(member);
            herd.reset();
        }),
    ];
    race(
        effort,
        "u64, arena taken once, with the swap",
        UNITS,
        runners,
    );
}

fn shared(effort: Effort) {
    let mut ours = FrameArenas::default();
    let mut handles = Vec::with_capacity(COUNT as usize);
    let mut arcs = Vec::with_capacity(COUNT as usize);
    let runners = vec![
        Runner::new(OURS, || {
            let arena = ours.local();
            for number in 0..COUNT {
                handles.push(arena.share(number));
            }
            let sum: u64 = handles.drain(..).filter_map(|it| ours.get(it)).sum();
            black_box(sum);
            ours.swap();
        }),
        Runner::new("`Arc` on the heap", || {
            for number in 0..COUNT {
                arcs.push(Arc::new(number));
            }
            let sum: u64 = arcs.drain(..).map(|it| *it).sum();
            black_box(sum);
        }),
    ];
    race(
        effort,
        "u64 shared, then read through its handle",
        UNITS,
        runners,
    );
}
