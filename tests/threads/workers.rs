//! Threads: each has its own arena, also when threads come and go.

use std::cell::RefCell;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle};

use crate::common::address::address;
use crate::common::settings::blocks_of;

fn small() -> FrameArenas {
    FrameArenas::new(blocks_of(64 << 10))
}

#[test]
fn ten_threads_allocate_and_share_at_once() {
    let mut arenas = small();
    for frame in 0..if cfg!(miri) { 2 } else { 50_u64 } {
        let barrier = Barrier::new(10);
        let handles: Vec<FrameHandle<[u64]>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..10_u64)
                .map(|n| {
                    let (arenas, barrier) = (&arenas, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        for round in 0..100_u64 {
                            arenas.local().alloc([round; 10]);
                        }
                        arenas.local().share_slice_copy(&[frame * 10 + n; 100])
                    })
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        arenas.swap();
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(arenas[handle], [frame * 10 + n as u64; 100]);
        }
        assert_eq!(arenas.usage().active_workers, 10);
        assert_eq!(arenas.usage().used_bytes, 10 * (100 * 80 + 800));
    }
}

#[test]
fn the_data_of_a_thread_that_ended_stays_readable() {
    let mut arenas = small();
    let first = thread::scope(|scope| scope.spawn(|| arenas.local().share_str("first")).join());
    let first = first.unwrap();
    // A new thread gets the place of the one that ended, but not its arena.
    let second = thread::scope(|scope| scope.spawn(|| arenas.local().share_str("second")).join());
    let second = second.unwrap();
    assert_eq!((&arenas[first], &arenas[second]), ("first", "second"));
    arenas.swap();
    assert_eq!((&arenas[first], &arenas[second]), ("first", "second"));
    arenas.swap();
    assert!(arenas.get(first).is_none() && arenas.get(second).is_none());
}

#[test]
fn a_new_thread_takes_over_the_memory_of_one_that_ended() {
    let mut arenas = small();
    for _ in 0..if cfg!(miri) { 20 } else { 1_000 } {
        thread::scope(|scope| {
            scope
                .spawn(|| arenas.local().alloc([1_u8; 100]).len())
                .join()
        })
        .unwrap();
        arenas.swap();
    }
    // Places are given out process-wide, so other tests may move this one to a few of them.
    assert!(arenas.usage().reserved_bytes <= 100 * 2 * (64 << 10));
}

#[test]
fn a_thread_keeps_its_arena_for_the_whole_frame() {
    let mut arenas = small();
    let other = small();
    for _ in 0..10 {
        let mine = address(arenas.local());
        let theirs = address(other.local());
        for _ in 0..10 {
            assert_eq!(address(arenas.local()), mine);
            assert_eq!(address(other.local()), theirs);
        }
        thread::scope(|scope| {
            scope.spawn(|| assert_ne!(address(arenas.local()), mine));
        });
        assert_eq!(address(arenas.local()), mine);
        arenas.swap();
    }
}

/// How many values each of two threads writes.
const VALUES: u64 = if cfg!(miri) { 100 } else { 10_000 };

/// Uses the arena that its thread got, while the thread's other locals are being destroyed.
struct UsesArenaOnExit {
    arena: RefCell<Option<&'static FrameArena>>,
    ended: RefCell<Option<Arc<Barrier>>>,
}

impl Drop for UsesArenaOnExit {
    fn drop(&mut self) {
        let barrier = self.ended.take().expect("the thread has set it");
        // The other thread starts here: the place of this one may be free already.
        barrier.wait();
        let arena = self.arena.take().expect("the thread has set it");
        for n in 0..VALUES {
            assert_eq!(*arena.alloc(n), n);
        }
        barrier.wait();
    }
}

// Not on Windows: it destroys thread locals under a lock that a new thread needs to start, so a
// destructor that waits for one waits for ever.
#[cfg(not(windows))]
#[test]
fn an_arena_kept_in_a_thread_local_is_nobody_elses_while_the_thread_ends() {
    static ARENAS: OnceLock<FrameArenas> = OnceLock::new();
    thread_local! {
        // Initialised before the arena is used, so that it is destroyed after whatever
        // the arena's bookkeeping has in thread locals.
        static KEPT: UsesArenaOnExit = const {
            UsesArenaOnExit { arena: RefCell::new(None), ended: RefCell::new(None) }
        };
    }
    let arenas = ARENAS.get_or_init(small);
    for _ in 0..if cfg!(miri) { 2 } else { 20 } {
        let barrier = Arc::new(Barrier::new(2));
        let for_thread = Arc::clone(&barrier);
        let ending = thread::spawn(move || {
            KEPT.with(|kept| {
                kept.ended.replace(Some(for_thread));
                kept.arena.replace(Some(arenas.local()));
            });
            address(arenas.local())
        });
        barrier.wait();
        let new = thread::spawn(move || {
            let arena = arenas.local();
            for n in 0..VALUES {
                assert_eq!(*arena.alloc(n), n);
            }
            address(arena)
        });
        let new = new.join().unwrap();
        barrier.wait();
        assert_ne!(ending.join().unwrap(), new);
    }
}

#[test]
fn a_thread_local_destructor_gets_memory_scratch_and_collectors() {
    static ARENAS: OnceLock<FrameArenas> = OnceLock::new();
    static DONE: OnceLock<FrameHandle<[u64]>> = OnceLock::new();
    struct AsksOnExit;
    impl Drop for AsksOnExit {
        fn drop(&mut self) {
            let arenas = ARENAS.get().expect("the test has set it");
            assert_eq!(*arenas.local().alloc(1), 1);
            let scratch = arenas.scratch();
            assert_eq!(scratch.collect(0..3), [0, 1, 2]);
            // Of arenas that the thread has not used before.
            let others = small();
            assert_eq!(*others.local().alloc(2), 2);
            assert_eq!(*others.scratch().alloc(3), 3);
            let collector = arenas.collector();
            collector.batch().extend([3, 1, 2]);
            DONE.set(collector.share_sorted()).expect("it runs once");
        }
    }
    thread_local! {
        // First used before the arenas are, so that it is destroyed after all that they keep there.
        static ASKS: AsksOnExit = const { AsksOnExit };
    }
    let arenas = ARENAS.get_or_init(small);
    let ending = thread::spawn(|| {
        ASKS.with(|_| ());
        address(arenas.local())
    });
    ending.join().unwrap();
    assert_eq!(arenas[*DONE.get().expect("it ran to its end")], [1, 2, 3]);
}

#[test]
fn many_threads_that_end_within_a_frame_are_dropped_without_recursion() {
    let mut arenas = FrameArenas::new(blocks_of(128));
    let threads = if cfg!(miri) { 20 } else { 2_000 };
    for _ in 0..threads {
        thread::scope(|scope| scope.spawn(|| *arenas.local().alloc(1)).join()).unwrap();
    }
    arenas.swap();
    assert_eq!(arenas.usage().active_workers, threads);
    // All of them had no name, so they are one line in the list.
    assert_eq!(arenas.usage().workers.len(), 1);
    let small_stack = thread::Builder::new().stack_size(256 << 10);
    let dropped = small_stack.spawn(move || drop(arenas)).unwrap();
    dropped.join().unwrap();
}

#[test]
fn workers_are_listed_by_the_name_of_their_thread() {
    let mut arenas = small();
    for (name, bytes) in [("loader", 100), ("audio", 50), ("loader", 100)] {
        thread::scope(|scope| {
            thread::Builder::new()
                .name(name.into())
                .spawn_scoped(scope, || {
                    arenas.local().alloc_slice_fill_copy(bytes, 0_u64);
                })
                .unwrap();
        });
    }
    arenas.swap();
    let mut workers: Vec<_> = arenas
        .usage()
        .workers
        .iter()
        .map(|worker| (&*worker.name, worker.used_bytes, worker.idle_periods))
        .collect();
    workers.sort_unstable();
    assert_eq!(workers, [("audio", 400, 0), ("loader", 1_600, 0)]);

    arenas.swap();
    let usage = arenas.usage();
    assert_eq!((usage.used_bytes, usage.active_workers), (0, 0));
    assert_eq!(usage.high_watermark_bytes, 2_000);
    for idle_periods in 1..=600 {
        let workers = &arenas.usage().workers;
        let idle: Vec<_> = workers.iter().map(|worker| worker.idle_periods).collect();
        assert_eq!(idle, [idle_periods; 2]);
        arenas.swap();
    }
    assert!(arenas.usage().workers.is_empty());
}

#[test]
fn a_budget_covers_all_workers_and_generations() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 64 << 10,
        budget_bytes: Some(200 << 10),
        ..Default::default()
    });
    // A block of 2 KiB is kept for its handle when the thread asks.
    arenas.local().share(1_u8);
    arenas.swap();
    thread::scope(|scope| {
        scope.spawn(|| {
            arenas.local().alloc(1_u8);
            let arena = arenas.local();
            let refused = arena.try_alloc_slice_fill_copy(197 << 10, 0_u8);
            let error = refused.map(|_| ()).unwrap_err();
            let text = "197 KiB requested, aligned to 1, and no further block fits: all workers and \
                        generations hold 4 KiB of 200 KiB";
            assert!(error.to_string().contains(text), "{error}");
            arena.alloc_slice_fill_copy(160 << 10, 0_u8);
            arena.alloc_slice_fill_copy(24 << 10, 0_u8);
        });
    });
    assert!(arenas.local().try_alloc([0_u8; 16 << 10]).is_err());
    arenas.swap();
    let usage = arenas.usage();
    assert!(usage.reserved_bytes <= 200 << 10);
    assert_eq!(usage.refusals, 2);
}

#[test]
fn a_budget_has_a_first_chunk_for_every_worker() {
    let threads = if cfg!(miri) { 4 } else { 16 };
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 16 << 20,
        budget_bytes: Some(64 << 20),
        ..Default::default()
    });
    for _ in 0..4 {
        let barrier = std::sync::Barrier::new(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    barrier.wait();
                    arenas.local().alloc(1_u64);
                });
            }
        });
        arenas.swap();
        assert_eq!(
            (arenas.usage().active_workers, arenas.usage().refusals),
            (threads, 0)
        );
    }
}

#[test]
fn a_thread_that_only_looks_at_its_arena_is_not_active() {
    let mut arenas = FrameArenas::default();
    arenas.local();
    arenas.swap();
    assert_eq!(arenas.usage().active_workers, 0);
    drop(arenas.local().boxed(1));
    arenas.swap();
    let usage = arenas.usage();
    assert_eq!(
        (usage.active_workers, usage.used_bytes, usage.peak_bytes),
        (1, 0, 8)
    );
}

#[test]
fn the_memory_of_threads_that_ended_is_given_back_and_they_are_forgotten() {
    const THREADS: usize = if cfg!(miri) { 8 } else { 200 };
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        trim_after_periods: Some(8),
        ..FrameArenaSettings::default()
    });
    let all_alive = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                arenas.local().alloc(1);
                arenas.scratch().alloc(1);
                all_alive.wait();
            });
        }
    });
    arenas.swap();
    assert!(arenas.usage().reserved_bytes >= THREADS * 4096);
    assert_eq!(arenas.usage().active_workers, THREADS);
    for _ in 0..24 {
        arenas.swap();
    }
    assert_eq!(arenas.usage().reserved_bytes, 0);
    assert_eq!(arenas.usage().active_workers, 0);
}
