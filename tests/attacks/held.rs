//! Results, leases and pools that hold one another, and that outlive their arenas.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::{mem, thread};

use bevy_frame_arena::{FrameArenas, FrameHandle, LeasedHandle, Pool, TaskArenas, TaskResult};

use crate::common::droppy::Droppy;
use crate::common::panics::panics;
use crate::common::settings::blocks_of;

fn small() -> FrameArenas {
    FrameArenas::new(blocks_of(256))
}

/// Reads the data of an earlier frame when it is dropped.
struct Reader {
    earlier: LeasedHandle<[u64]>,
    sum: Arc<AtomicU64>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.sum.fetch_add(self.earlier.iter().sum(), SeqCst);
    }
}

const FRAMES: u64 = if cfg!(miri) { 5 } else { 40 };

/// Each frame has a task's result, and a reader of that of the frame before. Returns the last handle.
fn chain(arenas: &mut FrameArenas, sum: &Arc<AtomicU64>) -> FrameHandle<[u64]> {
    let mut last: Option<FrameHandle<[u64]>> = None;
    for frame in 0..FRAMES {
        if let Some(handle) = last {
            let earlier = arenas
                .lease_handle(handle)
                .expect("it is of the last frame");
            let sum = Arc::clone(sum);
            arenas.local().share(Reader { earlier, sum });
        }
        let arena = arenas.task_arena();
        let list = arena.share_iter((0..90).map(|_| frame));
        last = Some(arenas.adopt(arena.finish(list)));
        if frame + 1 < FRAMES {
            arenas.swap();
        }
    }
    last.expect("there is a frame")
}

#[test]
fn a_destructor_reads_what_it_has_leased_wherever_the_last_of_it_ends() {
    let expected = 90 * (0..FRAMES - 1).sum::<u64>();
    let sum = Arc::new(AtomicU64::new(0));
    // At swaps: each recycles the end of the chain, and with it the lease of the next.
    let mut arenas = small();
    chain(&mut arenas, &sum);
    (0..2 * FRAMES + 2).for_each(|_| arenas.swap());
    assert_eq!(sum.swap(0, SeqCst), expected);
    assert_eq!(arenas.usage().parked, 0);
    // All at once, with a call that recycles what is parked.
    let last = chain(&mut arenas, &sum);
    let lease = arenas.lease_of(last).expect("it is of this frame");
    (0..4).for_each(|_| arenas.swap());
    drop(lease);
    (0..FRAMES).for_each(|_| arenas.recycle_parked());
    assert_eq!(sum.swap(0, SeqCst), expected);
    // With the arenas.
    chain(&mut arenas, &sum);
    drop(arenas);
    assert_eq!(sum.swap(0, SeqCst), expected);
    // With the last lease, on another thread, after the arenas.
    let mut arenas = small();
    let last = chain(&mut arenas, &sum);
    let lease = arenas.lease_handle(last).expect("it is of this frame");
    let ticket = arenas.tasks();
    drop(arenas);
    assert_eq!(sum.load(SeqCst), 0);
    let end = move || assert_eq!(lease[89], FRAMES - 1);
    thread::spawn(end).join().expect("no panic");
    assert_eq!(sum.load(SeqCst), expected);
    assert_eq!(ticket.arena().reserved_bytes(), 0, "all blocks were freed");
}

/// A result inside of a result.
struct Nested(Option<TaskResult<Nested>>);

fn nest(arenas: &FrameArenas, drops: &Arc<AtomicUsize>, depth: usize) -> TaskResult<Nested> {
    let tasks = arenas.tasks();
    let finish = |inner| {
        let arena = tasks.arena();
        // Before and behind the result that is inside.
        arena.share(Droppy(Arc::clone(drops), true));
        let nested = arena.share(inner);
        arena.share(Droppy(Arc::clone(drops), true));
        arena.finish(nested)
    };
    (0..depth).fold(finish(Nested(None)), |inner, _| finish(Nested(Some(inner))))
}

fn depth_of(mut nested: &Nested) -> usize {
    let mut depth = 0;
    while let Some(inner) = &nested.0 {
        (nested, depth) = (inner, depth + 1);
    }
    depth
}

#[test]
fn results_in_results_end_once_each_although_all_of_them_panic() {
    const DEPTH: usize = 20;
    const BOMBS: usize = 2 * (DEPTH + 1);
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let nested = nest(&arenas, &drops, DEPTH);
    assert_eq!(depth_of(&nested), DEPTH);
    assert!(panics(|| drop(nested)));
    assert_eq!(drops.swap(0, SeqCst), BOMBS);
    // Adopted, and ended by a swap.
    let nested = arenas.adopt(nest(&arenas, &drops, DEPTH));
    arenas.swap();
    assert_eq!(depth_of(&arenas[nested]), DEPTH);
    assert!(panics(|| arenas.swap()));
    assert_eq!(
        (drops.swap(0, SeqCst), arenas.get(nested).is_none()),
        (BOMBS, true)
    );
    // While the thread is unwinding.
    let nested = nest(&arenas, &drops, DEPTH);
    assert!(panics(move || {
        let _dropped_on_the_way = nested;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert_eq!(drops.swap(0, SeqCst), BOMBS);
    // On another thread, after the arenas.
    let nested = nest(&arenas, &drops, DEPTH);
    let ticket = arenas.tasks();
    drop(arenas);
    assert!(thread::spawn(move || drop(nested)).join().is_err());
    assert_eq!(drops.load(SeqCst), BOMBS);
    assert_eq!(ticket.arena().reserved_bytes(), 0, "all blocks were freed");
}

/// Uses the store of the arenas when it is dropped.
struct Taker(TaskArenas, Arc<AtomicUsize>);

impl Drop for Taker {
    fn drop(&mut self) {
        let arena = self.0.arena();
        let list = arena.share_iter(0..50);
        assert_eq!(arena.finish(list)[49], 49);
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_pool_goes_on_after_its_arenas_and_leaves_nothing_in_their_store() {
    let drops = Arc::new(AtomicUsize::new(0));
    let arenas = small();
    let ticket = arenas.tasks();
    let mut pool = Pool::with_store_of(&arenas);
    let taker = || Taker(ticket.clone(), Arc::clone(&drops));
    let many = if cfg!(miri) { 20 } else { 500 };
    let keys: Vec<_> = (0..many).map(|_| pool.insert(taker())).collect();
    drop(arenas);
    assert!(keys.iter().all(|key| pool.get(*key).is_some()));
    // More than it had room for.
    let more: Vec<_> = (0..2 * many).map(|_| pool.insert(taker())).collect();
    for key in keys.iter().step_by(2) {
        drop(pool.remove(*key));
    }
    assert_eq!((pool.len(), drops.load(SeqCst)), (many / 2 * 5, many / 2));
    thread::scope(|scope| {
        scope.spawn(move || {
            pool.clear();
            assert!(more.iter().all(|key| pool.get(*key).is_none()));
            pool.insert(taker());
        });
    });
    assert_eq!(drops.load(SeqCst), 3 * many + 1);
    assert_eq!(ticket.arena().reserved_bytes(), 0, "all blocks were freed");
}

/// A value of a frame that holds all there is to hold, and is itself held by a lease that it can end.
#[test]
fn a_knot_of_leases_results_and_tickets_can_be_cut_from_its_inside() {
    type Slot = Arc<Mutex<Option<LeasedHandle<Knot>>>>;
    struct Knot {
        own: Slot,
        other: Slot,
        _ticket: Taker,
        _result: TaskResult<[u8]>,
    }
    impl Drop for Knot {
        fn drop(&mut self) {
            // The end of the other generation, if it was not the first.
            let other = self.other.lock().expect("no panic").take();
            drop(other);
            assert!(self.own.lock().expect("no panic").is_none());
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let ticket = arenas.tasks();
    let slots = [Slot::default(), Slot::default()];
    for (own, other) in [(0, 1), (1, 0)] {
        let task = arenas.task_arena();
        let bytes = task.share_slice_copy(&[7; 999]);
        let knot = arenas.local().share(Knot {
            own: Arc::clone(&slots[own]),
            other: Arc::clone(&slots[other]),
            _ticket: Taker(arenas.tasks(), Arc::clone(&drops)),
            _result: task.finish(bytes),
        });
        *slots[own].lock().expect("no panic") = arenas.lease_handle(knot).ok();
        (0..3).for_each(|_| arenas.swap());
    }
    assert_eq!(arenas.usage().parked, 2);
    drop(arenas);
    assert_eq!(drops.load(SeqCst), 0, "the knot holds itself");
    let first = mem::take(&mut *slots[0].lock().expect("no panic"));
    drop(first);
    assert_eq!(drops.load(SeqCst), 2);
    assert_eq!(ticket.arena().reserved_bytes(), 0, "all blocks were freed");
}
