//! Blocks that move between threads: each has its memory to itself, whoever had it before.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, FrameHandle, FrameLease};

const WORKERS: usize = 4;
const FRAMES: usize = if cfg!(miri) { 6 } else { 200 };

fn arenas(budget_bytes: Option<usize>) -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        block_bytes: 256,
        budget_bytes,
        trim_after_periods: Some(3),
        fill_recycled: true,
        ..Default::default()
    })
}

/// Fills and reads memory of a worker, and of its scratch, in small steps.
fn work(arenas: &FrameArenas, byte: u8, steps: usize) {
    let mut list = arenas.local().vec();
    for n in 0..steps {
        if list.try_reserve(1).is_ok() {
            list.push(byte);
        }
        let scratch = arenas.scratch();
        let mut temporary = scratch.vec();
        while temporary.len() < n * 40 && temporary.try_reserve(1).is_ok() {
            temporary.push(byte);
        }
        assert!(temporary.iter().all(|&found| found == byte));
    }
    assert!(list.iter().all(|&found| found == byte));
}

/// The large list is another worker's in each frame, so that it takes the blocks that others had.
#[test]
fn blocks_go_from_worker_to_worker_with_none_of_their_data() {
    for budget_bytes in [None, Some(64 << 10)] {
        let mut arenas = arenas(budget_bytes);
        for frame in 0..FRAMES {
            let all_at_once = Barrier::new(WORKERS);
            let handles: Vec<FrameHandle<[u8]>> = thread::scope(|scope| {
                let spawn = |worker: usize| {
                    let (arenas, all_at_once) = (&arenas, &all_at_once);
                    scope.spawn(move || {
                        all_at_once.wait();
                        let steps = if worker == frame % WORKERS { 30 } else { 5 };
                        work(arenas, worker as u8, steps);
                        arenas.local().try_share_slice_copy(&[worker as u8; 50])
                    })
                };
                let threads: Vec<_> = (0..WORKERS).map(spawn).collect();
                let handles = threads
                    .into_iter()
                    .map(|thread| thread.join().expect("no panic"));
                handles.filter_map(Result::ok).collect()
            });
            arenas.swap();
            work(&arenas, 0xEE, 10);
            for handle in handles {
                let bytes = &arenas[handle];
                assert!(bytes.iter().all(|&byte| byte == bytes[0]));
            }
            let usage = arenas.usage();
            assert!(usage.reserved_bytes <= budget_bytes.unwrap_or(usize::MAX));
            if frame % 50 == 7 {
                arenas.trim();
            }
        }
    }
}

/// Leases are read on other threads, while the swap takes the blocks that no handle leads to.
#[test]
fn a_lease_is_read_while_the_rest_of_its_frame_is_released_and_used_again() {
    let mut arenas = arenas(None);
    let read = AtomicUsize::new(0);
    thread::scope(|scope| {
        for frame in 0..FRAMES {
            let shared = thread::scope(|workers| {
                let unshared = workers.spawn(|| work(&arenas, 1, 20));
                let shared = workers.spawn(|| arenas.local().share([frame; 20]));
                unshared.join().expect("no panic");
                shared.join().expect("no panic")
            });
            let lease: FrameLease = arenas.lease();
            let read = &read;
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(lease[shared], [frame; 20]);
                    thread::yield_now();
                }
                read.fetch_add(1, SeqCst);
            });
            arenas.swap();
            work(&arenas, 2, 20);
        }
    });
    assert_eq!(read.load(SeqCst), FRAMES);
}

/// The last leases give blocks back to a store whose owner is being dropped.
#[test]
fn leases_end_on_other_threads_while_the_arenas_are_dropped() {
    for _ in 0..FRAMES {
        let mut arenas = arenas(None);
        let mut leases = Vec::new();
        for frame in 0..WORKERS {
            arenas.local().share(vec![frame; 30]);
            work(&arenas, 3, 5);
            leases.push(arenas.lease());
            arenas.swap();
        }
        let all_at_once = Barrier::new(WORKERS + 1);
        thread::scope(|scope| {
            for lease in leases {
                let all_at_once = &all_at_once;
                scope.spawn(move || {
                    all_at_once.wait();
                    drop(lease);
                });
            }
            all_at_once.wait();
            drop(arenas);
        });
    }
}
