//! The slow path of allocations that do not fit into the active block.
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::ptr::NonNull;

use super::block::Block;
use super::sizes::{Purpose, Request};
use super::store::Refused;
use super::{FrameArena, bump, dangling};
use crate::error::{ArenaError, ArenaLimit};
use crate::stamp;

impl FrameArena {
    /// Takes memory from another block.
    ///
    /// After an error, the arena is unchanged. A refusal by a limit is counted.
    #[cold]
    #[inline(never)]
    pub(super) fn take_slow(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        let taken = self.try_refill(layout, Purpose::Fixed);
        if let Err(error) = &taken {
            self.count_refusal(error);
        }
        taken
    }

    /// Takes memory from another block, with room to grow for a list that has outgrown its memory. After an
    /// error, the arena is unchanged and no refusal is counted.
    #[cold]
    #[inline(never)]
    pub(super) fn try_refill(
        &self,
        layout: Layout,
        purpose: Purpose,
    ) -> Result<NonNull<u8>, ArenaError> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        let store = &*self.store;
        let (size, align) = (layout.size(), layout.align());
        let Some(request) = store.sizes().next(self.chain.len(), layout, purpose) else {
            return Err(ArenaError::AllocationFailed { requested: size });
        };
        let remaining = self.limit_bytes - self.used_now();
        if let Some(memory) = self.take_from_open_block(layout, purpose, remaining) {
            return Ok(memory);
        }
        self.check_limit(request, layout, remaining)?;
        let mut block = match store.take_free(request) {
            Some(block) => block,
            None => self.new_block(request, layout)?,
        };
        if stamp::is_task(self.stamp) {
            store.count_for_task(&mut block);
        }
        self.chain.push(&self.cursor, block, self.limit_bytes);
        if self.has_blocks_to_spare() {
            self.needs_cleanup.set(true);
        }
        let memory = self.cursor.take(size, align);
        Ok(memory.expect("a block chosen for a layout has room for it"))
    }

    /// Takes memory from a block that was left with enough room. A growing list must be able to double there.
    #[inline]
    fn take_from_open_block(
        &self,
        layout: Layout,
        purpose: Purpose,
        remaining: usize,
    ) -> Option<NonNull<u8>> {
        if !self.chain.may_reopen(layout.size()) {
            return None;
        }
        // A cursor is less aligned than the start of a block, so more padding may be needed.
        let padding = layout.align().saturating_sub(bump::CURSOR_ALIGN);
        let needed_bytes = bump::round_up(layout.size()).checked_add(padding)?;
        // Checked before a block is reopened: after a refusal, the newest allocation must still be in the
        // active block.
        if needed_bytes > remaining {
            return None;
        }
        let bytes = match purpose {
            Purpose::Fixed => needed_bytes,
            Purpose::Growing => needed_bytes.saturating_mul(2),
        };
        if !self.chain.reopen(&self.cursor, bytes, self.limit_bytes) {
            return None;
        }
        self.cursor.take(layout.size(), layout.align())
    }

    /// Makes a new block.
    #[cold]
    fn new_block(&self, request: Request, layout: Layout) -> Result<Block, ArenaError> {
        let block = match self.store.take_new(request) {
            Ok(block) => block,
            Err(Refused::ByBudget) => {
                let remaining = self.store.remaining_bytes();
                let bytes = self.store.limit_bytes();
                return Err(self.exhausted(layout, remaining, ArenaLimit::Budget { bytes }));
            }
            Err(Refused::ByAllocator) => {
                return Err(ArenaError::AllocationFailed {
                    requested: request.needed_bytes,
                });
            }
        };
        // A user's global allocator may have used this arena in the meantime.
        let remaining = self.limit_bytes - self.used_now();
        if let Err(error) = self.check_limit(request, layout, remaining) {
            self.store.returning().put(block);
            return Err(error);
        }
        Ok(block)
    }

    /// Checks that a request fits into the remaining bytes of the worker's limit.
    #[inline]
    fn check_limit(
        &self,
        request: Request,
        layout: Layout,
        remaining: usize,
    ) -> Result<(), ArenaError> {
        if request.data_bytes() > remaining {
            let bytes = self.limit_bytes;
            return Err(self.exhausted(layout, remaining, ArenaLimit::Worker { bytes }));
        }
        Ok(())
    }

    /// Takes a first block with room for `bytes`.
    pub(super) fn add_block(&self, bytes: usize) -> Result<(), ArenaError> {
        let block = self.store.make_for(bytes);
        let block = block.map_err(|_| ArenaError::AllocationFailed { requested: bytes })?;
        self.chain.push(&self.cursor, block, self.limit_bytes);
        Ok(())
    }

    /// Counts an allocation that a limit refused. Must be called once for each refusal that the program sees.
    #[cold]
    pub(crate) fn count_refusal(&self, error: &ArenaError) {
        if let ArenaError::Exhausted {
            requested, limit, ..
        } = *error
        {
            let by_worker_limit = matches!(limit, ArenaLimit::Worker { .. });
            self.store.count_refusal(requested, by_worker_limit);
            self.sites.note_refusal();
        }
    }

    fn exhausted(&self, layout: Layout, remaining: usize, limit: ArenaLimit) -> ArenaError {
        ArenaError::Exhausted {
            requested: layout.size(),
            align: layout.align(),
            remaining,
            limit,
            pace: self.store.pace(),
        }
    }
}
