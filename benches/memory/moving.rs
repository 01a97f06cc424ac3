//! A large list that another thread makes each frame. Once warm, no frame may call the allocator.

use std::sync::{Barrier, RwLock};
use std::thread;

use bevy_frame_arena::FrameArenas;
use voxel_world::counting::requests_of;
use voxel_world::measure::peak_resident_kib;

use crate::resident::ask;

const THREADS: [usize; 2] = [4, 24];
/// The list has 1.2 MB.
const LARGE: usize = 150_000;
const SMALL: usize = 500;

/// What a frame does with its lists.
const KINDS: [(&str, bool, bool); 3] = [
    ("not shared", false, false),
    ("shared", true, false),
    ("shared, of changing size", true, true),
];

/// What a moving list cost.
pub(crate) struct Moving {
    pub(crate) kind: &'static str,
    pub(crate) threads: usize,
    /// Calls of the allocator in all warm frames.
    pub(crate) calls: u64,
}

/// Measures and prints what a moving list costs.
pub(crate) fn measure() -> Vec<Moving> {
    println!(
        "\n| a list of 1.2 MB moves between threads | threads | allocator calls, warm | peak, MiB |"
    );
    println!("|---|--:|--:|--:|");
    let mut rows = Vec::new();
    for (kind, ..) in KINDS {
        for threads in THREADS {
            let words = ask(&format!("moving/{kind}/{threads}"));
            let numbers: Vec<u64> = words
                .iter()
                .map(|it| it.parse().expect("a number"))
                .collect();
            let [calls, peak_kib] = numbers[..] else {
                panic!("two figures: {words:?}");
            };
            println!(
                "| {kind} | {threads} | {calls} | {:.1} |",
                peak_kib as f64 / 1024.0
            );
            rows.push(Moving {
                kind,
                threads,
                calls,
            });
        }
    }
    println!();
    rows
}

/// Has threads take turns with the large list, and prints the calls of the allocator and the peak of memory.
pub(crate) fn run_alone(kind: &str, threads: usize) {
    let kind = KINDS.into_iter().find(|(name, ..)| *name == kind);
    let (_, is_shared, is_changing) = kind.expect("a kind of this name");
    let arenas = RwLock::new(FrameArenas::default());
    let barrier = Barrier::new(threads + 1);
    let warm_up = 20 * threads;
    let frames = warm_up + 20 * threads;
    let make_lists = |thread: usize, frame: usize| {
        let arenas = arenas.read().expect("nobody panics");
        let large = match is_changing {
            true => LARGE - frame % 7 * LARGE / 20,
            false => LARGE,
        };
        let len = if frame % threads == thread {
            large
        } else {
            SMALL
        };
        let mut list = arenas.local().vec();
        for number in 0..len {
            list.push(number as u64);
        }
        if is_shared {
            let handle = list.share();
            assert_eq!(arenas[handle].len(), len);
        }
    };
    let mut calls = 0;
    thread::scope(|scope| {
        for thread in 0..threads {
            let (barrier, make_lists) = (&barrier, &make_lists);
            scope.spawn(move || {
                for frame in 0..frames {
                    barrier.wait();
                    make_lists(thread, frame);
                    barrier.wait();
                }
                // A thread that ends is no part of a frame.
                barrier.wait();
            });
        }
        let run = |frames: usize| {
            for _ in 0..frames {
                arenas.write().expect("nobody panics").swap();
                barrier.wait();
                barrier.wait();
            }
        };
        run(warm_up);
        calls = requests_of(|| run(frames - warm_up)).calls;
        barrier.wait();
    });
    let peak_kib = peak_resident_kib().expect("the system tells: this takes Linux");
    println!("{calls} {peak_kib}");
}
