//! What happens when an allocation does not fit into the active block.
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::ptr::NonNull;

use super::block::HEADER_BYTES;
use super::sizes::{Purpose, Request};
use super::store::Refused;
use super::{FrameArena, dangling};
use crate::error::{ArenaError, ArenaLimit};
use crate::stamp;

impl FrameArena {
    /// Takes memory from another block.
    ///
    /// An error changes nothing, but is counted.
    #[cold]
    #[inline(never)]
    pub(super) fn take_slow(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        self.try_refill(layout, Purpose::Fixed)
            .inspect_err(|error| self.count_refusal(error))
    }

    /// Takes memory from another block, with room to grow where it is for a list that has outgrown
    /// its place. An error changes nothing.
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
        let limit = self.store.limit_bytes();
        let Some(request) =
            self.store
                .sizes()
                .next(self.chain.len(), layout.size(), layout.align(), purpose)
        else {
            return Err(ArenaError::AllocationFailed {
                requested: layout.size(),
            });
        };
        self.check_limit(request, layout)?;
        let mut block = match self.store.take(request) {
            Ok(block) => block,
            Err(Refused::ByBudget) => {
                // Another block would need a header, too.
                let remaining = self.store.remaining_bytes().saturating_sub(HEADER_BYTES);
                let limit = ArenaLimit::Budget { bytes: limit };
                return Err(self.exhausted(layout, remaining, limit));
            }
            Err(Refused::ByAllocator) => {
                return Err(ArenaError::AllocationFailed {
                    requested: request.needed_bytes,
                });
            }
        };
        // The global allocator may be a user's own, and may have used this arena meanwhile.
        if let Err(error) = self.check_limit(request, layout) {
            self.store.returning().put(block);
            return Err(error);
        }
        if stamp::is_task(self.stamp) {
            self.store.count_for_task(&mut block);
        }
        self.chain.push(&self.cursor, block, self.limit_bytes);
        if self.has_blocks_to_spare() {
            self.needs_cleanup.set(true);
        }
        let memory = self.cursor.take(layout.size(), layout.align());
        self.note_peak(self.used_now());
        Ok(memory.expect("a block chosen for a layout has room for it"))
    }

    /// Whether the worker's limit has room for a request.
    fn check_limit(&self, request: Request, layout: Layout) -> Result<(), ArenaError> {
        let remaining = self.limit_bytes - self.used_now();
        if request.data_bytes() > remaining {
            let bytes = self.limit_bytes;
            return Err(self.exhausted(layout, remaining, ArenaLimit::Worker { bytes }));
        }
        Ok(())
    }

    /// Takes a first block with `bytes` in one piece.
    pub(super) fn add_block(&self, bytes: usize) -> Result<(), ArenaError> {
        let block = self.store.make_for(bytes);
        let block = block.map_err(|_| ArenaError::AllocationFailed { requested: bytes })?;
        self.chain.push(&self.cursor, block, self.limit_bytes);
        Ok(())
    }

    /// Counts an allocation that a limit refused, once for each that the program sees refused.
    #[cold]
    pub(crate) fn count_refusal(&self, error: &ArenaError) {
        if let ArenaError::Exhausted { requested, .. } = *error {
            self.store.count_refusal(requested);
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
