//! Threads that allocate, share, read, lease, swap and die, in every order.
//!
//! Meant to be run under `ThreadSanitizer` and Miri too: threads that race start together.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, LazyLock, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use std::thread;

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, FrameHandle, FrameLease};

use crate::common::address::address;
use crate::common::droppy::Droppy;
use crate::common::settings::blocks_of;

const THREADS: usize = if cfg!(miri) { 3 } else { 8 };
const ROUNDS: usize = if cfg!(miri) { 3 } else { 60 };

fn tiny() -> FrameArenaSettings {
    FrameArenaSettings {
        trim_after_periods: Some(3),
        ..blocks_of(512)
    }
}

/// A barrier that waits by looking, with operations that `ThreadSanitizer` sees.
struct Gate {
    missing: AtomicUsize,
}

impl Gate {
    fn new(threads: usize) -> Self {
        Self {
            missing: AtomicUsize::new(threads),
        }
    }

    fn wait(&self) {
        self.missing.fetch_sub(1, AcqRel);
        while self.missing.load(Acquire) > 0 {
            thread::yield_now();
        }
    }
}

#[test]
fn threads_that_start_together_get_arenas_of_their_own() {
    for _ in 0..ROUNDS {
        let mut arenas = FrameArenas::new(tiny());
        for _ in 0..3 {
            let (start, end) = (Gate::new(THREADS), Gate::new(THREADS));
            let seen: BTreeSet<usize> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|thread| {
                        let (arenas, start, end) = (&arenas, &start, &end);
                        scope.spawn(move || {
                            start.wait();
                            let arena = arenas.local();
                            let numbers = arena.alloc_slice_fill_copy(100, thread);
                            assert!(numbers.iter().all(|&number| number == thread));
                            // All live until all have an arena.
                            end.wait();
                            address(arenas.local())
                        })
                    })
                    .collect();
                let joined = threads.into_iter().map(|thread| thread.join().unwrap());
                joined.collect()
            });
            assert_eq!(seen.len(), THREADS);
            // Neighbours share no cache line, nor the pair that is prefetched.
            assert!(seen.iter().all(|address| address % 128 == 0));
            arenas.swap();
            assert_eq!(arenas.usage().active_workers, THREADS);
        }
    }
}

// Not on Windows: it destroys thread locals under a lock that a new thread needs to start, so a
// destructor that waits for one waits for ever.
#[cfg(not(windows))]
#[test]
fn a_dying_thread_keeps_its_arena_while_others_take_its_place() {
    /// Dropped when the thread has already given its place in `ThreadLocal`s away.
    struct Last(RefCell<Option<Legacy>>);
    type Legacy = (&'static FrameArena, Sender<()>, Receiver<usize>);
    impl Drop for Last {
        fn drop(&mut self) {
            let Some((arena, dying, others)) = self.0.take() else {
                return;
            };
            let mine = arena.alloc_slice_fill_copy(64, 1_u8);
            dying.send(()).unwrap();
            for _ in 0..THREADS {
                let other = others.recv().unwrap();
                assert_ne!(other, address(arena), "two threads share an arena");
            }
            arena.alloc_slice_fill_copy(64, 2_u8);
            assert_eq!(mine, [1; 64]);
            dying.send(()).unwrap();
        }
    }
    // Thread locals are destroyed in the reverse order of their first use.
    thread_local! { static LAST: Last = const { Last(RefCell::new(None)) } }

    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(|| FrameArenas::new(tiny()));

    let (dying, died) = channel();
    let (tell, told) = channel();
    let thread = thread::spawn(move || {
        LAST.with(|last| {
            last.0.borrow_mut().take();
        });
        let arena = ARENAS.local();
        LAST.with(|last| *last.0.borrow_mut() = Some((arena, dying, told)));
    });
    died.recv().unwrap();
    // As many at once that one of them gets the place of the thread that is dying.
    let barrier = Arc::new(Barrier::new(THREADS));
    let others: Vec<_> = (0..THREADS)
        .map(|_| {
            let (barrier, tell) = (Arc::clone(&barrier), tell.clone());
            thread::spawn(move || {
                let arena = ARENAS.local();
                arena.alloc_slice_fill_copy(64, 3_u8);
                tell.send(address(arena)).unwrap();
                barrier.wait();
            })
        })
        .collect();
    died.recv().expect("the dying thread has checked");
    for thread in others {
        thread.join().unwrap();
    }
    thread.join().unwrap();
}

#[test]
fn usage_is_read_while_workers_allocate() {
    let arenas = FrameArenas::new(tiny());
    let (gate, done) = (Gate::new(3), AtomicBool::new(false));
    let sizes = if cfg!(miri) { 20 } else { 4000 };
    thread::scope(|scope| {
        let workers = [1, 2].map(|seed| {
            let (arenas, gate) = (&arenas, &gate);
            scope.spawn(move || {
                gate.wait();
                for size in 0..sizes {
                    arenas.local().alloc_slice_fill_copy(size % 300, seed);
                }
                arenas.local().used_bytes()
            })
        });
        let reader = scope.spawn(|| {
            gate.wait();
            let mut most = 0;
            while !done.load(SeqCst) {
                most = most.max(arenas.used_bytes_so_far());
            }
            most
        });
        let used: usize = workers.map(|worker| worker.join().unwrap()).iter().sum();
        done.store(true, SeqCst);
        let most = reader.join().unwrap();
        assert_eq!(arenas.used_bytes_so_far(), used);
        // Chunks double, and a torn reading is bounded by them.
        assert!(most <= 4 * used, "read {most} of {used}");
    });
}

#[test]
fn leases_end_on_other_threads_while_the_arenas_are_swapped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = FrameArenas::new(tiny());
    let mut readers = VecDeque::new();
    let frames = ROUNDS * 10;
    for number in 0..frames {
        let droppy = Droppy(Arc::clone(&drops), false);
        let handle = arenas.local().share((droppy, number));
        let lease = arenas.lease();
        readers.push_back(thread::spawn(move || {
            let copy = lease.clone();
            drop(lease);
            assert_eq!(copy[handle].1, number);
        }));
        arenas.swap();
        assert!(arenas.usage().generations >= 2 + arenas.usage().parked);
        if readers.len() > THREADS {
            let oldest = readers.pop_front().expect("there are some");
            oldest.join().unwrap();
        }
    }
    for reader in readers {
        reader.join().unwrap();
    }
    drop(arenas);
    assert_eq!(drops.load(SeqCst), frames);
}

/// What the threads of the test below hand to each other.
#[derive(Default)]
struct Board {
    handles: Vec<(FrameHandle<[u64]>, u64)>,
    leases: Vec<(FrameLease, FrameHandle<[u64]>, u64)>,
}

struct Stage {
    arenas: RwLock<FrameArenas>,
    board: Mutex<Board>,
}

impl Stage {
    fn read(&self) -> RwLockReadGuard<'_, FrameArenas> {
        self.arenas.read().expect("no thread has panicked")
    }

    fn swap(&self) {
        let mut arenas = self.arenas.write().expect("no thread has panicked");
        arenas.swap();
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().expect("no thread has panicked")
    }
}

#[test]
fn everything_at_once_in_any_order() {
    let stage = Stage {
        arenas: RwLock::new(FrameArenas::new(tiny())),
        board: Mutex::default(),
    };
    for round in 0..ROUNDS {
        // New threads each round: the old ones have died, some in the middle of a frame.
        let barrier = Barrier::new(THREADS);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let (stage, barrier) = (&stage, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let mut random = Random((round * THREADS + thread) as u64 + 1);
                    for _ in 0..if cfg!(miri) { 5 } else { 40 } {
                        act(&mut random, stage);
                    }
                });
            }
        });
    }
    drop(stage.arenas);
    let board = stage.board.into_inner().unwrap();
    for (lease, handle, number) in board.leases {
        assert!(lease[handle].iter().all(|&value| value == number));
    }
}

fn act(random: &mut Random, stage: &Stage) {
    match random.below(12) {
        0 => stage.swap(),
        1 => {
            stage.board().leases.pop();
        }
        2..6 => {
            let arenas = stage.read();
            let number = random.below(1000);
            let len = random.below(200) as usize;
            let handle = arenas.local().share_iter((0..len).map(|_| number));
            let mut board = stage.board();
            board.handles.push((handle, number));
            if random.below(8) == 0 {
                board.leases.push((arenas.lease(), handle, number));
            }
        }
        6..8 => {
            let arenas = stage.read();
            let mut list = arenas.local().vec();
            for number in 0..random.below(100) {
                list.push(number);
                if random.below(10) == 0 {
                    arenas.local().alloc(number);
                }
            }
            assert!(list.iter().copied().eq(0..list.len() as u64));
        }
        8 => {
            let found = stage.board().leases.last().cloned();
            if let Some((lease, handle, number)) = found {
                assert!(lease[handle].iter().all(|&value| value == number));
            }
        }
        _ => {
            let arenas = stage.read();
            let found = stage.board().handles.last().copied();
            if let Some((handle, number)) = found
                && let Some(values) = arenas.get(handle)
            {
                assert!(values.iter().all(|&value| value == number));
            }
        }
    }
}

/// A small generator: the order of the threads is random enough.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
