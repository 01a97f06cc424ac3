//! Batches and elements at their limits: threads that end, memory that is taken meanwhile, elements of any size.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::iter::{repeat_n, repeat_with};
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use bevy_frame_arena::{Batch, FrameArenas, FrameCollector, FrameHandle, Scratch};

use crate::common::address::address;
use crate::common::panics::panics;
use crate::common::settings::blocks_of;

type Numbers = FrameCollector<'static, usize>;

/// A batch that is filled while the thread locals of its thread are destroyed.
struct Late(RefCell<Option<Kept>>);

type Kept = (&'static Numbers, Batch<'static, usize>, Arc<Barrier>);

const LATE: usize = if cfg!(miri) { 40 } else { 500 };

impl Drop for Late {
    fn drop(&mut self) {
        let (collector, mut batch, barrier) = self.0.take().expect("set by the thread");
        // The new thread fills batches from here on.
        barrier.wait();
        for n in 0..LATE {
            batch.push(n);
            collector.push(n);
        }
        batch.extend_from_slice(&[LATE; 100]);
        collector.batch().extend(0..LATE);
        barrier.wait();
    }
}

/// While a thread ends, a new one gets its slot in `ThreadLocal`, but not its arena.
#[test]
fn a_batch_kept_in_a_thread_local_is_nobody_elses_while_its_thread_ends() {
    thread_local! {
        static FIRST: Late = const { Late(RefCell::new(None)) };
    }
    let arenas = Box::into_raw(Box::new(FrameArenas::new(blocks_of(256))));
    // SAFETY: freed at the end, after all threads.
    let shared: &'static FrameArenas = unsafe { &*arenas };
    let collector = Box::into_raw(Box::new(shared.collector()));
    // SAFETY: freed below, after all threads.
    let filled: &'static Numbers = unsafe { &*collector };
    let rounds = if cfg!(miri) { 2 } else { 20 };
    for _ in 0..rounds {
        let barrier = Arc::new(Barrier::new(2));
        let for_thread = Arc::clone(&barrier);
        let ending = thread::spawn(move || {
            // Destroyed last, because it is used first.
            FIRST.with(|late| late.0.replace(Some((filled, filled.batch(), for_thread))));
            address(shared.local())
        });
        let new = thread::spawn(move || {
            barrier.wait();
            (0..LATE).for_each(|n| filled.push(n));
            filled.batch().extend(0..LATE);
            barrier.wait();
            address(shared.local())
        });
        // A join waits for the destructors as well.
        let [old, new] = [ending, new].map(|thread| thread.join().expect("no panic"));
        assert_ne!(old, new);
    }
    // SAFETY: made from a box above; all threads that used it have ended.
    let collector = unsafe { Box::from_raw(collector) };
    let list = &shared[collector.share_sorted()];
    let expected = (0..LATE).flat_map(|n| repeat_n(n, 5 * rounds));
    let expected = expected.chain(repeat_n(LATE, 100 * rounds));
    assert!(list.iter().copied().eq(expected));
    // SAFETY: made from a box above, and nothing borrows it any more.
    drop(unsafe { Box::from_raw(arenas) });
}

/// Scratch that a comparison or a key takes while the collector uses some.
#[derive(Default)]
struct Held<'a>(Vec<(usize, Scratch<'a>, FrameHandle<[usize]>)>);

impl<'a> Held<'a> {
    fn take(&mut self, arenas: &'a FrameArenas, n: usize) {
        let scratch = arenas.scratch();
        let list = scratch.share_iter((0..50).map(|_| n));
        self.0.push((n, scratch, list));
        self.check();
    }

    fn check(&self) {
        for (n, scratch, list) in &self.0 {
            let list = scratch.get(*list).expect("the guard is alive");
            assert!(list.len() == 50 && list.iter().all(|it| it == n));
        }
    }
}

#[test]
fn scratch_that_keys_and_orders_take_outlives_that_of_the_collector() {
    for way in 0..5 {
        let mut arenas = FrameArenas::new(blocks_of(256));
        let outer = arenas.scratch();
        let mut held = Held::default();
        held.take(&arenas, 9999);
        let collector = arenas.collector();
        for part in 0..4 {
            let mut batch = collector.batch();
            (0..100).for_each(|n| batch.push(4 * n + part));
        }
        let mut calls = 0;
        let mut hold = |n: usize| {
            calls += 1;
            if calls % 64 == 0 {
                held.take(&arenas, n);
            }
            n
        };
        let mut list = outer.vec();
        let found: Vec<usize> = match way {
            0 => arenas[collector.share_sorted_by(|a, b| hold(*a).cmp(b))].to_vec(),
            1 => {
                collector.gather_sorted_into(&mut list, |a, b| hold(*a).cmp(b));
                list.to_vec()
            }
            2 => arenas[collector.share_cells(400, |n| hold(*n))]
                .elements()
                .to_vec(),
            3 => {
                let cells = &arenas[collector.share_cell_map(|n| hold(*n))];
                (0..400).flat_map(|n| cells[&n].iter().copied()).collect()
            }
            _ => {
                let key = |n: &usize| *n / 100;
                let cells = collector.share_cells_sorted_by_key(4, key, |n| hold(*n));
                arenas[cells].elements().to_vec()
            }
        };
        assert!(found.iter().copied().eq(0..400), "way {way}");
        assert!(held.0.len() > 4, "way {way}");
        held.check();
        // In another order than they were taken in.
        while held.0.len() > 1 {
            held.0.swap_remove(held.0.len() / 2);
            held.check();
        }
        drop(list);
        drop((outer, held));
        arenas.swap();
    }
}

/// The elements of [`Counted`] that are alive.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

/// If set, the destructor of an element panics that leaves 13 others.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

/// An element with the size and alignment of `T`.
struct Counted<T>(T);

impl<T: Default> Counted<T> {
    fn new() -> Self {
        ALIVE.fetch_add(1, SeqCst);
        Self(T::default())
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        assert!(ptr::from_ref(&self.0).is_aligned());
        let left = ALIVE.fetch_sub(1, SeqCst) - 1;
        if left == 13 && IS_ARMED.load(SeqCst) && !thread::panicking() {
            // Like `panic!`, without a message.
            resume_unwind(Box::new(()));
        }
    }
}

const WAYS: usize = 6;

/// Adds 40 elements in all ways there are, and ends the collector in one of several. The code of the user that is
/// called for the elements panics after some calls. Returns whether it did.
fn add_and_end<T: Default + Send + Sync + 'static>(way: usize, last: usize) -> bool {
    IS_ARMED.store(last.is_multiple_of(2), SeqCst);
    let arenas = FrameArenas::new(blocks_of(256));
    let calls = Cell::new(0);
    let number = || {
        calls.set(calls.get() + 1);
        assert_ne!(calls.get(), last, "expected");
        calls.get()
    };
    // A batch seems not to be sorted, and all elements are equal later: they are sorted in the target.
    let order = |_: &Counted<T>, _: &Counted<T>| match number() {
        16..=20 => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let collector = arenas.collector::<Counted<T>>();
    let is_interrupted = panics(|| {
        let mut batch = collector.batch_at(usize::MAX);
        batch.push(Counted::new());
        batch.extend(repeat_with(|| (number(), Counted::new()).1).take(10));
        collector.push(Counted::new());
        collector.batch().extend((0..28).map(|_| Counted::new()));
        let mut slots = [const { MaybeUninit::uninit() }; 40];
        match way {
            0 => drop(collector),
            1 => _ = collector.share_sorted_by(order),
            2 => _ = collector.share_cells(3, |_| number() % 3),
            3 => _ = collector.share_cell_map_sorted_by_key(|_| number() % 7, |_| number()),
            4 => {
                let mut list = arenas.local().vec();
                collector.gather_sorted_into(&mut list, order);
                assert_eq!(list.len(), 40);
                list.drain(3..20);
                list.retain(|_| number() % 2 == 0);
            }
            _ => {
                let filled = collector.gather_sorted_into(&mut slots[..], order);
                // SAFETY: these are all elements, in memory that drops none of them.
                unsafe { ptr::drop_in_place(filled) };
            }
        }
    });
    let is_bombed = panics(|| drop(arenas));
    let alive = ALIVE.load(SeqCst);
    assert_eq!(
        alive, 0,
        "way {way}, {last} calls, {is_interrupted}, {is_bombed}"
    );
    is_interrupted && last <= calls.get()
}

#[test]
fn elements_of_any_size_and_alignment_are_dropped_once_wherever_a_panic_interrupts() {
    #[derive(Default)]
    #[repr(align(64))]
    struct Nothing;
    #[derive(Default)]
    #[repr(align(4096))]
    struct Page(#[expect(dead_code, reason = "it has a size")] u8);
    let kinds = [
        add_and_end::<Nothing>,
        add_and_end::<Page>,
        add_and_end::<u8>,
        add_and_end::<[u64; 30]>,
    ];
    for (kind, way) in kinds
        .into_iter()
        .flat_map(|kind| (0..WAYS).map(move |way| (kind, way)))
    {
        let step = if cfg!(miri) { 37 } else { 1 };
        let runs = (1..).step_by(step).take_while(|last| kind(way, *last));
        assert!(runs.count() >= 9 / step, "each call was the last once");
    }
}
