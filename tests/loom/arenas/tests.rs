//! Claims, batches that are registered, and leases against the swap.

use std::ptr;

use loom::cell::UnsafeCell;
use loom::thread::JoinHandle;

use super::claims::Claims;
use super::generation::{Common, Generation};
use super::linked::Linked;
use super::parking::Parking;
use super::sync::{Arc, Bug, plant};
use crate::stamp;

/// Runs `work` in every order of its threads with up to two preemptions.
fn check(bug: Option<Bug>, work: fn()) {
    plant(bug);
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(2);
    // Not on the model's first thread: loom misses orders there.
    orders.check(move || spawn(work).join().expect("no panic"));
}

fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = loom::thread::Builder::new().stack_size(1 << 16);
    thread.spawn(work).expect("a thread starts")
}

fn join<const N: usize>(threads: [JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().expect("no panic");
    }
}

/// What a place holds: a part that is made once and read by all, and one that its owner uses.
struct Worker {
    made: UnsafeCell<u32>,
    own: UnsafeCell<u32>,
}

// SAFETY: loom watches the cells.
unsafe impl Sync for Worker {}

impl Worker {
    fn new() -> Self {
        let worker = Self {
            made: UnsafeCell::new(0),
            own: UnsafeCell::new(0),
        };
        // SAFETY: nobody else knows it yet.
        worker.made.with_mut(|made| unsafe { *made = 7 });
        worker
    }

    /// Uses it as its owner.
    fn write(&self) {
        // SAFETY: loom finds whoever else does so.
        self.own.with_mut(|own| unsafe { *own += 1 });
    }

    /// Looks at it as any thread may.
    fn look(&self) {
        // SAFETY: loom finds who reads it before it was made.
        assert_eq!(self.made.with(|made| unsafe { *made }), 7);
    }
}

/// Two threads claim, although they have the same place in the table, and look at the list. In the next period,
/// the slots belong to whoever comes first.
fn claims() {
    let mut claims = Arc::new(Claims::<Worker>::new());
    let owners = [(); 2].map(|()| {
        let claims = Arc::clone(&claims);
        spawn(move || {
            claims.claimed().for_each(|(_, worker)| worker.look());
            claims.claim(Worker::new, Worker::write).write();
        })
    });
    join(owners);
    let claims = Arc::get_mut(&mut claims).expect("all have ended");
    assert_eq!(claims.claimed().count(), 2);
    claims.claimed().for_each(|(_, worker)| worker.write());
    claims.release_all();
    assert_eq!((claims.claimed().count(), claims.all().count()), (0, 2));
    for _ in 0..2 {
        claims.claim(Worker::new, Worker::write).write();
    }
    assert_eq!((claims.claimed().count(), claims.all().count()), (1, 2));
}

#[test]
fn a_claimed_place_has_one_owner_until_it_is_released() {
    check(None, claims);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_claims_that_are_not_published_are_found() {
    check(Some(Bug::NoRelease), claims);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_claims_that_are_not_looked_for_are_found() {
    check(Some(Bug::NoAcquire), claims);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_planted_claim_in_two_steps_is_found() {
    check(Some(Bug::NotAtomic), claims);
}

/// The header of a batch: its link is plain memory, and so is all else that `push` looks at.
struct Header {
    next: UnsafeCell<*mut Header>,
    arena: u32,
}

struct Collector(Linked<Header>);

// SAFETY: headers are used by the threads of a model, which loom watches.
unsafe impl Send for Collector {}
// SAFETY: as above.
unsafe impl Sync for Collector {}

impl Collector {
    /// As `FrameCollector::try_register`.
    fn register(&self, arena: u32) {
        let next = UnsafeCell::new(ptr::null_mut());
        let header = Box::into_raw(Box::new(Header { next, arena }));
        self.0.add(header, |before| {
            // SAFETY: the header was just made, and nobody else has it yet.
            let next = unsafe { &(*header).next };
            // SAFETY: as above.
            next.with_mut(|next| unsafe { *next = before });
        });
    }

    /// As `FrameCollector::try_find_direct`: looks for a batch of the thread's own.
    fn find(&self, arena: u32) -> usize {
        // SAFETY: headers live until the collector is dropped.
        unsafe { arenas(self.0.last()) }
            .iter()
            .filter(|it| **it == arena)
            .count()
    }
}

/// # Safety
/// The list must be a collector's.
unsafe fn arenas(mut header: *mut Header) -> Vec<u32> {
    let mut arenas = Vec::new();
    // SAFETY: the caller's promise; loom finds links that are read before they are written.
    while let Some(it) = unsafe { header.as_ref() } {
        arenas.push(it.arena);
        // SAFETY: as above.
        header = it.next.with(|next| unsafe { *next });
    }
    arenas
}

impl Drop for Collector {
    fn drop(&mut self) {
        let mut header = self.0.last_mut();
        while !header.is_null() {
            // SAFETY: it came from a box, and comes once.
            let it = unsafe { Box::from_raw(header) };
            // SAFETY: nobody else uses the list.
            header = it.next.with(|next| unsafe { *next });
        }
    }
}

/// Two threads register batches while they, and a third, look for batches of their own.
fn batches() {
    let mut collector = Arc::new(Collector(Linked::new()));
    let threads = [1, 2].map(|arena| {
        let collector = Arc::clone(&collector);
        spawn(move || {
            assert_eq!(collector.find(arena), 0);
            collector.register(arena);
            assert_eq!(collector.find(arena), 1);
        })
    });
    let looking = Arc::clone(&collector);
    let looker = spawn(move || assert_eq!(looking.find(3), 0));
    join(threads);
    join([looker]);
    let collector = Arc::get_mut(&mut collector).expect("all have ended");
    // SAFETY: the list is the collector's.
    let mut all = unsafe { arenas(collector.0.last_mut()) };
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
}

#[test]
fn all_batches_that_were_registered_are_found() {
    check(None, batches);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_batches_that_are_not_published_are_found() {
    check(Some(Bug::NoRelease), batches);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_batches_that_are_not_looked_for_are_found() {
    check(Some(Bug::NoAcquire), batches);
}

/// As `FrameArenas::swap`: the generation that is due is recycled, or replaced if somebody leases it. A lease
/// and a clone of it end on two threads meanwhile.
fn leases() {
    let common = Arc::new(Common);
    let mut parking = Parking::default();
    let mut due = Generation::new(&common, 1);
    let lease = Arc::clone(&due);
    let readers = [lease.clone(), lease].map(|lease| {
        spawn(move || {
            assert!(lease.is_whole());
            drop(lease);
        })
    });
    for stamp in 2..4 {
        parking.tend(Some(1), Generation::recycle);
        parking.replace_if_leased(&mut due, &common);
        let due = Arc::get_mut(&mut due).expect("a leased generation was replaced");
        due.recycle(stamp);
    }
    join(readers);
    parking.recycle_free(Generation::recycle);
    assert_eq!(parking.leased(), 0);
    parking.free_spares(0);
    assert_eq!((parking.len(), due.is_whole()), (0, true));
    assert!(!due.is_spare() && stamp::SPARE != 0);
}

#[test]
fn a_generation_is_recycled_after_its_last_lease_has_ended() {
    check(None, leases);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn planted_leases_that_end_without_order_are_found() {
    check(Some(Bug::NoRelease), leases);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_planted_swap_that_does_not_wait_for_readers_is_found() {
    check(Some(Bug::NoAcquire), leases);
}
