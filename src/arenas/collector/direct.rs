//! Finding the calling thread's batch of a collector, for a `push` without one.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Names a collector; no other of this process has, had or will have the same.
pub(super) type CollectorId = u64;

/// The collectors that a thread pushes to in turn without looking its batch up again; a power of
/// two. Their numbers follow each other if they were made together.
const REMEMBERED: usize = 8;

thread_local! {
    // No destructor, so it can be used as long as the thread runs code at all.
    static BATCHES: [Cell<(CollectorId, *const ())>; REMEMBERED] =
        const { [const { Cell::new((0, ptr::null())) }; REMEMBERED] };
}

pub(super) fn new_id() -> CollectorId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Uniqueness needs the atomicity of the update alone.
    NEXT.fetch_add(1, Relaxed)
}

/// Returns what this thread remembered last for a collector.
#[inline(always)]
pub(super) fn last_used(id: CollectorId) -> Option<*const ()> {
    let (last_id, header) = BATCHES.with(|batches| batches[place(id)].get());
    (last_id == id).then_some(header)
}

pub(super) fn remember(id: CollectorId, header: *const ()) {
    BATCHES.with(|batches| batches[place(id)].set((id, header)));
}

#[inline(always)]
fn place(id: CollectorId) -> usize {
    (id % REMEMBERED as u64) as usize
}
