//! A global allocator that uses the arenas whenever it is called: to allocate, to grow and to free.
//!
//! A lock that is held while memory is allocated or freed is never released here: the test does not end.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::thread;

use bevy_frame_arena::{
    FrameArenaSettings, FrameArenas, FrameHandle, FrameLease, Pool, TaskArenas,
};

use crate::common::droppy::Droppy;
use crate::common::settings::blocks_of;
use crate::hostile_allocator::{Trick, with};

/// A handle that no arenas of this process resolve any more.
fn of_others() -> FrameHandle<u64> {
    static HANDLE: LazyLock<FrameHandle<u64>> =
        LazyLock::new(|| FrameArenas::default().local().share(7));
    *HANDLE
}

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of calls before this one.
fn count_call() -> usize {
    CALLS.replace(CALLS.get() + 1)
}

static ARENAS: LazyLock<FrameArenas> = LazyLock::new(|| FrameArenas::new(blocks_of(256)));

/// Uses the arenas in one of several ways, each from a line of its own.
fn use_arenas() {
    let n = count_call();
    match n % 10 {
        0 => assert_eq!(*ARENAS.local().alloc([n; 5]), [n; 5]),
        1 => assert_eq!(ARENAS[ARENAS.local().share([n; 5])], [n; 5]),
        2 => assert_eq!(*ARENAS.scratch().alloc([n; 9]), [n; 9]),
        3 => {
            let collector = ARENAS.collector();
            (0..20).rev().for_each(|n| collector.push(n));
            assert!(ARENAS[collector.share_sorted()].iter().copied().eq(0..20));
        }
        4 => {
            let arena = ARENAS.task_arena();
            let list = arena.share_iter(0..n);
            assert_eq!(arena.finish(list).len(), n);
        }
        5 => assert_eq!(ARENAS.get(of_others()), None),
        6 => assert!(ARENAS.lease().get(of_others()).is_none()),
        7 => assert!(ARENAS.used_bytes_so_far() > 0),
        8 => {
            let mut map = ARENAS.local().map();
            (0..20).for_each(|key| _ = map.insert(key, n));
            assert_eq!(map.len(), 20);
        }
        _ => {
            let scratch = ARENAS.scratch();
            let mut list = scratch.vec();
            (0..40).for_each(|n| list.push(n));
            assert!(ARENAS.scratch().alloc_slice_copy(&list).iter().eq(&list));
        }
    }
}

fn among_calls<R>(work: impl FnOnce() -> R) -> R {
    with(Trick::EachCall(use_arenas), work)
}

#[test]
fn a_global_allocator_may_use_the_arenas_whenever_it_is_called() {
    // The locks of the statics are not the arenas'.
    of_others();
    LazyLock::force(&ARENAS);
    let rounds = if cfg!(miri) { 1 } else { 4 };
    let round = |round: usize| {
        // The first look-ups of a thread, each from a line of its own.
        let value = among_calls(|| ARENAS.local().alloc([round; 7]));
        let guard = among_calls(|| ARENAS.scratch());
        let in_guard = among_calls(|| guard.alloc([round; 30]));
        // Far more bytes than a block has.
        let mut list = among_calls(|| ARENAS.local().vec());
        let mut text = among_calls(|| ARENAS.scratch().string().len());
        for n in 0..150 {
            among_calls(|| list.push(n));
            text += among_calls(|| ARENAS.scratch().alloc_str("four").len());
        }
        let shared = among_calls(|| ARENAS.local().share(vec![round; 3]));
        let collector = among_calls(|| ARENAS.collector());
        for part in 0..3 {
            among_calls(|| collector.batch().extend((0..60).map(|n| 3 * n + part)));
        }
        let cells = among_calls(|| collector.share_cell_map(|n| n % 7));
        let mut pool = among_calls(|| Pool::with_store_of(&ARENAS));
        let keys: Vec<_> = (0..200)
            .map(|n| among_calls(|| pool.insert(Box::new(n))))
            .collect();
        among_calls(|| pool.retain(|_, n| **n % 2 == 0));
        let lease = among_calls(|| ARENAS.lease_handle(shared));
        // More at once than the list of tasks has room for at first.
        let tasks: Vec<_> = (0..30)
            .map(|_| among_calls(|| ARENAS.task_arena()))
            .collect();
        let arena = among_calls(|| ARENAS.task_arena());
        let result = among_calls(|| arena.share(vec![round; 9]));
        let adopted = among_calls(|| ARENAS.adopt(arena.finish(result)));

        assert_eq!((*value, *in_guard, text), ([round; 7], [round; 30], 600));
        assert!(list.iter().copied().eq(0..150));
        assert_eq!(*lease.expect("it is of this period"), [round; 3]);
        let cells = &ARENAS[cells];
        let in_cells = |(key, cell): (&i32, &[i32])| cell.iter().all(|n| n % 7 == *key);
        assert!(cells.len() == 7 && cells.iter().all(in_cells));
        assert!((0..200).all(|n| pool.get(keys[n]).is_some() == n.is_multiple_of(2)));
        assert_eq!(ARENAS[adopted], [round; 9]);
        among_calls(|| drop((pool, tasks)));
        among_calls(|| drop(guard));
        assert!(CALLS.get() > 40, "the allocator called back");
    };
    for n in 0..rounds {
        // One after the other, so that each finds its place claimed by those that ended.
        thread::scope(|scope| scope.spawn(|| round(n)).join().expect("no panic"));
    }
}

thread_local! {
    static TICKET: RefCell<Option<TaskArenas>> = const { RefCell::new(None) };
    static LEASES: RefCell<Vec<FrameLease>> = const { RefCell::new(Vec::new()) };
}

/// Uses what is left of arenas that are being swapped, trimmed or dropped. The budget may refuse it.
fn use_ticket_and_leases() {
    let new_task = || TICKET.with_borrow(|ticket| ticket.as_ref().expect("it was set").arena());
    match count_call() % 4 {
        0 => {
            let arena = new_task();
            if let Ok(list) = arena.try_share_iter(0..90) {
                assert_eq!(arena.finish(list)[89], 89);
            }
        }
        1 => _ = new_task().try_alloc([7_u8; 2000]).map(|bytes| bytes[0]),
        2 => LEASES.with_borrow(|leases| {
            let failed = |lease: &FrameLease| lease.get(of_others()).is_none();
            assert!(leases.iter().all(failed));
        }),
        // Its drop may be the end of a generation.
        _ => drop(LEASES.with_borrow_mut(Vec::pop)),
    }
}

#[test]
fn a_global_allocator_may_use_tasks_and_end_leases_while_arenas_swap_trim_and_end() {
    of_others();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut shared = 0;
    let among_calls = |work: &mut dyn FnMut()| with(Trick::EachCall(use_ticket_and_leases), work);
    let rounds = if cfg!(miri) { 6 } else { 40 };
    let policies = [
        (None, None),
        (Some(0), None),
        (Some(1), None),
        (Some(9), Some(24_000)),
    ];
    for (trim_after_periods, budget_bytes) in policies {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            trim_after_periods,
            budget_bytes,
            ..blocks_of(256)
        });
        TICKET.set(Some(arenas.tasks()));
        for round in 0..rounds {
            for bytes in [10, 300, 5000] {
                shared += 1;
                // If it is refused, it is dropped at once.
                let _ = arenas.local().try_share(Droppy(Arc::clone(&drops), false));
                // Near the budget, free blocks are given up for it.
                among_calls(&mut || {
                    let bytes = (bytes * (round + 1)) % 9000;
                    let _ = arenas.local().try_alloc_slice_fill_copy(bytes, 1_u8);
                    let _ = arenas.scratch().try_alloc_slice_fill_copy(bytes, 2_u8);
                });
            }
            // Some for the allocator to end, and more than it has calls for.
            let leases = (0..round % 4).map(|_| arenas.lease());
            LEASES.with_borrow_mut(|held| held.extend(leases));
            among_calls(&mut || arenas.swap());
            match round % 3 {
                0 => among_calls(&mut || arenas.trim()),
                1 => among_calls(&mut || arenas.recycle_parked()),
                _ => {}
            }
            let usage = arenas.usage();
            let sum = usage.held_bytes + usage.kept_bytes + usage.free_bytes;
            assert_eq!(sum, usage.reserved_bytes);
            assert_eq!((usage.task_arenas, usage.task_results), (0, 0));
        }
        let mut last = Some(arenas);
        among_calls(&mut || drop(last.take()));
        let mut leases = LEASES.take();
        among_calls(&mut || leases.clear());
        TICKET.set(None);
        assert_eq!(drops.load(SeqCst), shared);
    }
    assert!(CALLS.get() > 40, "the allocator called back");
}
