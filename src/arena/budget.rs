//! The bytes that a set of arenas may take from the global allocator, and has taken.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::error::{ArenaError, Limit};

/// One limit, shared by every chunk of every worker and generation.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    reserved_bytes: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(limit_bytes: Option<usize>) -> Self {
        Self {
            limit_bytes: limit_bytes.unwrap_or(usize::MAX),
            reserved_bytes: AtomicUsize::new(0),
        }
    }

    pub(crate) fn reserved_bytes(&self) -> usize {
        self.reserved_bytes.load(Relaxed)
    }

    /// Takes `bytes` from the budget; [`release`](Self::release) gives them back.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), ArenaError> {
        // The counter guards no other memory, so relaxed is enough.
        self.reserved_bytes
            .try_update(Relaxed, Relaxed, |reserved| {
                reserved
                    .checked_add(bytes)
                    .filter(|&sum| sum <= self.limit_bytes)
            })
            .map(drop)
            .map_err(|reserved| ArenaError::Exhausted {
                requested: bytes,
                remaining: self.limit_bytes - reserved,
                limit: Limit::Budget {
                    bytes: self.limit_bytes,
                },
            })
    }

    pub(super) fn release(&self, bytes: usize) {
        self.reserved_bytes.fetch_sub(bytes, Relaxed);
    }
}
