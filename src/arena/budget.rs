//! The bytes that a set of arenas may take from the global allocator, and has taken.
#![forbid(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// One limit, shared by every chunk of every worker and generation.
// All counters are relaxed: they guard no other memory.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    reserved_bytes: AtomicUsize,
    /// Allocations that a limit refused since the last time somebody asked.
    refusals: AtomicU32,
    /// The largest of all of them.
    largest_refusal_bytes: AtomicUsize,
    /// The type of the pace that the arenas are of, if it is not the frame: for errors.
    pace: OnceLock<&'static str>,
}

impl Budget {
    pub(crate) fn new(limit_bytes: Option<usize>) -> Self {
        Self {
            limit_bytes: limit_bytes.unwrap_or(usize::MAX),
            reserved_bytes: AtomicUsize::new(0),
            refusals: AtomicU32::new(0),
            largest_refusal_bytes: AtomicUsize::new(0),
            pace: OnceLock::new(),
        }
    }

    /// Says which pace the arenas are of, once.
    #[cfg(feature = "bevy")]
    pub(crate) fn set_pace(&self, type_name: &'static str) {
        self.pace.get_or_init(|| type_name);
    }

    /// Returns the pace that the arenas are of, if it is not the frame.
    pub(super) fn pace(&self) -> Option<&'static str> {
        self.pace.get().copied()
    }

    pub(crate) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved_bytes.load(Relaxed)
    }

    /// Returns what the limit leaves.
    pub(super) fn remaining_bytes(&self) -> usize {
        self.limit_bytes - self.reserved_bytes()
    }

    /// Takes `bytes` from the budget, if it has them; [`release`](Self::release) gives them back.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        self.reserved_bytes
            .try_update(Relaxed, Relaxed, |reserved| {
                reserved
                    .checked_add(bytes)
                    .filter(|&sum| sum <= self.limit_bytes)
            })
            .is_ok()
    }

    pub(super) fn release(&self, bytes: usize) {
        self.reserved_bytes.fetch_sub(bytes, Relaxed);
    }

    /// Counts an allocation that a limit refused.
    pub(super) fn count_refusal(&self, bytes: usize) {
        self.refusals.fetch_add(1, Relaxed);
        self.largest_refusal_bytes.fetch_max(bytes, Relaxed);
    }

    /// Returns the size of the largest allocation that a limit ever refused.
    pub(crate) fn largest_refusal_bytes(&self) -> usize {
        self.largest_refusal_bytes.load(Relaxed)
    }

    /// Returns the refusals since the last call.
    pub(crate) fn take_refusals(&self) -> u32 {
        self.refusals.swap(0, Relaxed)
    }
}
