//! The threads that play: as many as asked for, and all of them take part.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use bevy_app::TaskPoolOptions;
use bevy_ecs::batching::BatchingStrategy;
use bevy_tasks::ComputeTaskPool;

/// Starts Bevy's pools, with this number of compute threads. The main thread works as well.
pub(crate) fn start(workers: usize) {
    let mut options = TaskPoolOptions {
        min_total_threads: workers + 2,
        max_total_threads: workers + 2,
        ..TaskPoolOptions::default()
    };
    for (policy, threads) in [
        (&mut options.io, 1),
        (&mut options.async_compute, 1),
        (&mut options.compute, workers),
    ] {
        (policy.min_threads, policy.max_threads) = (threads, threads);
    }
    options.create_default_pools();
    assert_eq!(ComputeTaskPool::get().thread_num(), workers);
}

/// One task for each entity.
pub(crate) fn one_by_one() -> BatchingStrategy {
    BatchingStrategy::fixed(1)
}

/// The threads that took part in this frame, a bit each.
static SEEN: AtomicU64 = AtomicU64::new(0);

/// Ends a piece of work: lets another thread run, which then takes the next piece. With fewer cores than threads
/// most threads would sleep otherwise, and which of them gets the large list would hardly change.
pub(crate) fn spread() {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Relaxed) % 64;
    }
    SEEN.fetch_or(1 << NUMBER.with(|number| *number), Relaxed);
    std::thread::yield_now();
}

/// Returns how many threads took part since the last call.
pub(crate) fn took_part() -> u32 {
    SEEN.swap(0, Relaxed).count_ones()
}
