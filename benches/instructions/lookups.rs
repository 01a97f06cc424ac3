//! Finding the calling thread's arena on each call, and the frame's end for all of them.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Barrier;

use bevy_frame_arena::FrameArenas;
use bevy_utils::Parallel;
use bumpalo::Bump;
use bumpalo_herd::Herd;
use thread_local::ThreadLocal;

use crate::counts::{CALLS, segment};

pub(crate) const LOCAL: &str = "u64, arena looked up on each call";
pub(crate) const IN_TURN: &str = "u64, arena looked up by two lines in turn";
pub(crate) const SWAP: [(&str, usize); 3] = [
    ("swap, 1 worker", 1),
    ("swap, 8 workers", 8),
    ("swap, 64 workers", 64),
];

pub(crate) fn run_all() {
    let arenas = FrameArenas::default();
    segment(LOCAL, "ours", || {
        black_box(measured_arenas(black_box(&arenas), black_box(7)));
    });
    // With the feature `sites`, each finds that another one asked last.
    segment(IN_TURN, "ours", || {
        measured_in_turn(black_box(&arenas), black_box(7));
    });
    segment(LOCAL, "`std::thread_local!` + bumpalo", || {
        black_box(measured_std(black_box(7)));
    });
    let lent = Bump::with_min_align_and_capacity(CAPACITY_BYTES);
    LENT.set(Some(Box::leak(Box::new(lent))));
    segment(
        LOCAL,
        "const `std::thread_local!` pointer to bumpalo, MIN_ALIGN 8",
        || {
            black_box(measured_pointer(black_box(7)));
        },
    );
    let locals = ThreadLocal::new();
    locals.get_or(bump);
    segment(LOCAL, "`ThreadLocal<Bump>`", || {
        black_box(measured_thread_local(black_box(&locals), black_box(7)));
    });
    let parallel = Parallel::default();
    *parallel.borrow_local_mut() = bump();
    segment(LOCAL, "`Parallel<Bump>`", || {
        black_box(measured_parallel(black_box(&parallel), black_box(7)));
    });
    let mut herd = Herd::new();
    herd.get().alloc([0_u8; CAPACITY_BYTES]);
    herd.reset();
    segment(LOCAL, "bumpalo-herd", || {
        black_box(measured_herd(black_box(&herd), black_box(7)));
    });
    for (case, workers) in SWAP {
        swap(case, workers);
    }
}

/// Swaps with `workers` threads that all allocate in each frame.
fn swap(case: &str, workers: usize) {
    let turns = Barrier::new(workers + 1);
    let arenas = std::sync::RwLock::new(FrameArenas::default());
    std::thread::scope(|scope| {
        for number in 0..workers {
            let worker = || {
                for _ in 0..=CALLS + WARM_UP {
                    turns.wait();
                    let arenas = arenas.read().expect("no thread panics");
                    arenas.local().alloc(7_u64);
                    drop(arenas);
                    turns.wait();
                }
            };
            std::thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn_scoped(scope, worker)
                .expect("a thread");
        }
        let frame = || {
            turns.wait();
            turns.wait();
            measured_swap(&mut arenas.write().expect("no thread panics"));
        };
        for _ in 0..WARM_UP {
            frame();
        }
        segment(case, "ours", frame);
    });
}

/// Frames until both generations know all workers.
const WARM_UP: u32 = 4;

#[inline(never)]
fn measured_arenas(arenas: &FrameArenas, value: u64) -> &mut u64 {
    arenas.local().alloc(value)
}

/// Nobody's counts shall contain the growth of the first chunk.
const CAPACITY_BYTES: usize = 16 << 10;

fn bump() -> Bump {
    Bump::with_capacity(CAPACITY_BYTES)
}

#[inline(never)]
fn measured_in_turn(arenas: &FrameArenas, value: u64) {
    black_box(arenas.local().alloc(value));
    black_box(arenas.local().alloc(value));
}

thread_local! {
    static BUMP: Bump = bump();
    // Neither a destructor nor a first use to look out for: the fastest that a thread local can be.
    static LENT: Cell<Option<&'static Bump<8>>> = const { Cell::new(None) };
}

#[inline(never)]
fn measured_std(value: u64) -> *mut u64 {
    BUMP.with(|bump| std::ptr::from_mut(bump.alloc(value)))
}

#[inline(never)]
fn measured_pointer(value: u64) -> *mut u64 {
    match LENT.get() {
        Some(bump) => bump.alloc(value),
        None => std::ptr::null_mut(),
    }
}

#[inline(never)]
fn measured_thread_local(locals: &ThreadLocal<Bump>, value: u64) -> *mut u64 {
    locals.get_or_default().alloc(value)
}

#[inline(never)]
fn measured_parallel(parallel: &Parallel<Bump>, value: u64) -> *mut u64 {
    parallel.borrow_local_mut().alloc(value)
}

#[inline(never)]
fn measured_herd(herd: &Herd, value: u64) -> *mut u64 {
    herd.get().alloc(value)
}

#[inline(never)]
fn measured_swap(arenas: &mut FrameArenas) {
    arenas.swap();
}
