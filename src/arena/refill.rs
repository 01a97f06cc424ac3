//! What happens when an allocation does not fit into the active chunk.
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use super::chunk::{self, Chunk, Refused};
use super::{FrameArena, bump, dangling};
use crate::error::{ArenaError, ArenaLimit};

impl FrameArena {
    /// Takes memory from another chunk: a kept one, or a new one.
    ///
    /// An error changes nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn take_slow(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        if self.chain.activate_kept(&self.cursor, layout) {
            self.needs_cleanup.set(true);
        } else {
            self.add_chunk(layout)?;
        }
        let memory = self.cursor.take(layout.size(), layout.align());
        self.note_peak(self.used_now());
        Ok(memory.expect("a chunk chosen for a layout has room for it"))
    }

    /// Makes a chunk with room for `layout` and activates it.
    fn add_chunk(&self, layout: Layout) -> Result<(), ArenaError> {
        let is_first = self.chain.is_empty();
        // The start of a chunk has the alignment asked for, so there is no padding to add.
        let needed = bump::round_up(layout.size());
        let limit = chunk::round_up(self.growth.first_bytes());
        let left = self.budget.remaining_bytes();
        let Some(mut bytes) = self.growth.size_of_chunk(is_first, needed, limit, left) else {
            let remaining = if is_first {
                limit
            } else {
                self.chunk_remaining_bytes()
            };
            return Err(self.exhausted(layout, remaining, ArenaLimit::Worker { bytes: limit }));
        };
        let chunk = loop {
            let refused = match Chunk::new(bytes, layout.align(), &self.budget) {
                Ok(chunk) => break chunk,
                Err(refused) => refused,
            };
            match (self.growth.smaller(bytes, needed), refused) {
                (Some(smaller), _) => bytes = smaller,
                (None, Refused::ByBudget) => return Err(self.over_budget(layout)),
                (None, Refused::ByAllocator) => {
                    return Err(ArenaError::AllocationFailed { requested: bytes });
                }
            }
        };
        let is_large = is_first && chunk.bytes() > limit;
        self.add_to_chain(chunk)?;
        if is_large {
            self.has_large_first.store(true, Relaxed);
        }
        Ok(())
    }

    /// Puts a new chunk into use.
    pub(super) fn add_to_chain(&self, chunk: Chunk) -> Result<(), ArenaError> {
        let is_first = self.chain.is_empty();
        self.chain.push(&self.cursor, chunk)?;
        if !is_first {
            self.growth.advance();
            self.needs_cleanup.set(true);
        }
        Ok(())
    }

    fn over_budget(&self, layout: Layout) -> ArenaError {
        let bytes = self.budget.limit_bytes();
        let remaining = self.budget.remaining_bytes();
        self.exhausted(layout, remaining, ArenaLimit::Budget { bytes })
    }

    fn exhausted(&self, layout: Layout, remaining: usize, limit: ArenaLimit) -> ArenaError {
        self.budget.count_refusal(layout.size());
        self.sites.note_refusal();
        ArenaError::Exhausted {
            requested: layout.size(),
            align: layout.align(),
            remaining,
            limit,
            pace: self.budget.pace(),
        }
    }
}
