//! Threads that take scratch at once, end, and go on while they end.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Barrier, OnceLock, RwLock};
use std::thread;

use bevy_frame_arena::{FrameArenas, Scratch};

use crate::common::panics::panics;
use crate::{MANY, address, small};

#[test]
fn each_thread_has_its_own_and_swaps_hand_them_on() {
    let mut arenas = small();
    for _ in 0..if cfg!(miri) { 3 } else { 30 } {
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let arenas = &arenas;
                scope.spawn(move || {
                    for n in 0..50 {
                        let outer = arenas.scratch();
                        let a = outer.alloc_slice_fill_copy(10, n * thread);
                        let inner = arenas.scratch();
                        let b = inner.alloc_slice_fill_copy(10, n + thread);
                        assert_eq!((a[9], b[9]), (n * thread, n + thread));
                    }
                });
            }
        });
        arenas.swap();
    }
    // Threads came and went; their places are used again.
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!(reserved_bytes <= 30 * 2 * 4096, "{reserved_bytes}");
}

/// Goes on using its guard while the thread's other thread locals are gone.
struct UsesScratchOnExit {
    guard: RefCell<Option<Scratch<'static>>>,
    ended: RefCell<Option<Arc<Barrier>>>,
}

impl Drop for UsesScratchOnExit {
    fn drop(&mut self) {
        let guard = self.guard.take().expect("it was set");
        let barrier = self.ended.take().expect("it was set");
        barrier.wait();
        let value = guard.alloc(7_u64);
        // The new thread takes and uses scratch now.
        barrier.wait();
        assert_eq!(*value, 7);
        drop(guard);
    }
}

#[test]
fn a_guard_kept_in_a_thread_local_is_nobody_elses_while_the_thread_ends() {
    static ARENAS: OnceLock<FrameArenas> = OnceLock::new();
    thread_local! {
        static KEPT: UsesScratchOnExit = const {
            UsesScratchOnExit { guard: RefCell::new(None), ended: RefCell::new(None) }
        };
    }
    let arenas = ARENAS.get_or_init(small);
    for _ in 0..if cfg!(miri) { 2 } else { 20 } {
        let barrier = Arc::new(Barrier::new(2));
        let for_thread = Arc::clone(&barrier);
        let ending = thread::spawn(move || {
            KEPT.with(|kept| {
                kept.ended.replace(Some(for_thread));
                let guard = arenas.scratch();
                let free = arenas.scratch();
                let places = [address(&guard), address(&free)];
                kept.guard.replace(Some(guard));
                places
            })
        });
        barrier.wait();
        let new = thread::spawn(move || {
            let guards = [arenas.scratch(), arenas.scratch()];
            for n in 0..100_u64 {
                assert_eq!(*guards[0].alloc(n), n);
            }
            guards.map(|guard| address(&guard))
        });
        let new = new.join().unwrap();
        barrier.wait();
        let old = ending.join().unwrap();
        assert!(new.iter().all(|place| !old.contains(place)));
    }
}

#[test]
fn many_threads_that_end_within_a_frame_are_dropped_without_recursion() {
    let arenas = small();
    for _ in 0..MANY {
        thread::scope(|scope| scope.spawn(|| *arenas.scratch().alloc(1)).join()).unwrap();
    }
    let small_stack = thread::Builder::new().stack_size(256 << 10);
    let dropped = small_stack.spawn(move || drop(arenas)).unwrap();
    dropped.join().unwrap();
}

/// Uses the arenas in whatever way is left while its thread ends.
struct UsesAllOnExit {
    arenas: Cell<Option<&'static RwLock<FrameArenas>>>,
    ended: RefCell<Option<Arc<Barrier>>>,
}

/// Whether two threads had the same memory; panics say nothing where some are expected.
static MIXED: AtomicBool = AtomicBool::new(false);

/// Returns how much of what a thread may do with the arenas it could still do.
fn use_all(arenas: &FrameArenas, n: u64, meanwhile: impl Fn()) -> usize {
    let expect = |holds: bool| MIXED.fetch_or(!holds, SeqCst);
    let scratch = || {
        let outer = arenas.scratch();
        let inner = arenas.scratch();
        let values = [outer.alloc(n), inner.alloc(n)];
        meanwhile();
        expect(values.map(|value| *value) == [n; 2]);
    };
    let collector = || {
        let collector = arenas.collector();
        (0..100).for_each(|_| collector.push(n));
        meanwhile();
        collector.batch().extend([n; 100]);
        expect(arenas[collector.share_sorted()] == [n; 200]);
    };
    let ways = [&scratch as &dyn Fn(), &collector, &scratch, &collector];
    ways.iter().filter(|work| !panics(work)).count()
}

impl Drop for UsesAllOnExit {
    fn drop(&mut self) {
        let barrier = self.ended.take().expect("it was set");
        let arenas = self.arenas.take().expect("it was set");
        let arenas = arenas.read().expect("no writer panics");
        barrier.wait();
        use_all(&arenas, 1, thread::yield_now);
        barrier.wait();
    }
}

#[test]
fn what_a_thread_remembers_of_an_earlier_frame_is_not_used_while_it_ends() {
    static ARENAS: OnceLock<RwLock<FrameArenas>> = OnceLock::new();
    thread_local! {
        // Initialised before the arenas are used, so that it is destroyed after whatever their
        // bookkeeping has in thread locals.
        static LAST: UsesAllOnExit = const {
            UsesAllOnExit { arenas: Cell::new(None), ended: RefCell::new(None) }
        };
    }
    let arenas = ARENAS.get_or_init(|| RwLock::new(small()));
    for frame in 0..if cfg!(miri) { 2 } else { 40 } {
        let barrier = Arc::new(Barrier::new(2));
        let for_thread = Arc::clone(&barrier);
        let go_on = Arc::new(Barrier::new(2));
        let may_end = Arc::clone(&go_on);
        let ending = thread::spawn(move || {
            LAST.with(|last| {
                last.arenas.set(Some(arenas));
                last.ended.replace(Some(for_thread));
            });
            use_all(&arenas.read().unwrap(), 2, || {});
            go_on.wait();
            go_on.wait();
        });
        may_end.wait();
        // In half of the cases in the same frame.
        if frame % 2 == 0 {
            arenas.write().unwrap().swap();
        }
        may_end.wait();
        barrier.wait();
        let new = thread::spawn(move || {
            let arenas = arenas.read().unwrap();
            (0..10).for_each(|n| assert_eq!(use_all(&arenas, n + 3, thread::yield_now), 4));
        });
        new.join().unwrap();
        barrier.wait();
        ending.join().unwrap();
        assert!(!MIXED.load(SeqCst));
    }
}
