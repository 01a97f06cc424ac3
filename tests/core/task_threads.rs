//! Task arenas and results on many threads at once.

use std::sync::{Barrier, Mutex};
use std::thread;

use bevy_frame_arena::TaskArena;

use crate::tasks::{BLOCK_BYTES, small, squares, swap};

#[test]
fn blocks_come_back_in_any_order_from_any_thread() {
    let mut arenas = small();
    let rounds = if cfg!(miri) { 3 } else { 200 };
    let mut reserved_bytes = Vec::new();
    for round in 0..rounds {
        let tasks = arenas.tasks();
        let results: Mutex<Vec<_>> = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for thread in 0..4 {
                let (tasks, results) = (tasks.clone(), &results);
                scope.spawn(move || {
                    for task in 0..4 {
                        let len = 100 + 10 * ((thread + task + round) % 4);
                        let result = squares(tasks.arena(), len as u64);
                        results.lock().expect("nobody panics").push(result);
                        if task % 2 == 1 {
                            // That of another thread, mostly.
                            let other = results.lock().expect("as above").swap_remove(0);
                            assert_eq!(other[7], 49);
                        }
                    }
                });
            }
        });
        swap(&mut arenas);
        let usage = arenas.usage();
        assert_eq!((usage.task_arenas, usage.task_results), (0, 8));
        assert_eq!(usage.task_bytes, 8 * BLOCK_BYTES);
        reserved_bytes.push(usage.reserved_bytes);
    }
    let most = 16 * BLOCK_BYTES;
    assert!(reserved_bytes.iter().all(|&bytes| bytes <= most));
}

#[test]
fn memory_stays_flat_over_many_round_trips_with_16_in_flight() {
    const THREADS: usize = 4;
    let mut arenas = small();
    let in_flight: Vec<_> = (0..16).map(|_| squares(arenas.task_arena(), 400)).collect();
    let in_flight = in_flight.into_iter().map(Mutex::new).collect::<Vec<_>>();
    swap(&mut arenas);
    let before = arenas.usage().reserved_bytes;
    let (rounds, trips) = if cfg!(miri) { (2, 5) } else { (250, 100) };
    for round in 0..rounds {
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (arenas, in_flight) = (&arenas, &in_flight);
                scope.spawn(move || {
                    for trip in 0..trips {
                        let result = squares(arenas.task_arena(), 400);
                        // Mostly that of another thread, in an order that changes.
                        let place = &in_flight[(trip * 7 + thread * 5 + round) % 16];
                        let last =
                            std::mem::replace(&mut *place.lock().expect("nobody panics"), result);
                        assert_eq!(last[399], 399 * 399);
                    }
                });
            }
        });
        swap(&mut arenas);
    }
    // Each thread makes a new result before the old one is replaced.
    assert!(arenas.usage().reserved_bytes <= before / 16 * (16 + 2 * THREADS));
    assert_eq!(arenas.usage().task_results, 16);
    assert_eq!(arenas.usage().task_arenas, 0);
}

#[test]
fn arenas_that_many_threads_take_at_once_are_all_counted() {
    let mut arenas = small();
    let (threads, each) = if cfg!(miri) { (3, 5) } else { (8, 50) };
    let barrier = Barrier::new(threads);
    let taken: Vec<Vec<TaskArena>> = thread::scope(|scope| {
        let (arenas, barrier) = (&arenas, &barrier);
        let threads = (0..threads).map(|_| {
            scope.spawn(move || {
                barrier.wait();
                (0..each).map(|_| arenas.task_arena()).collect()
            })
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|taken| taken.expect("no panic")).collect()
    });
    swap(&mut arenas);
    assert_eq!(arenas.usage().task_arenas, threads * each);
    thread::scope(|scope| {
        for list in taken {
            scope.spawn(move || drop(list));
        }
    });
    swap(&mut arenas);
    assert_eq!(arenas.usage().task_arenas, 0);
    assert_eq!(arenas.usage().oldest_task, None);
}
