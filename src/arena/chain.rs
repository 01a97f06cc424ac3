//! The chain of chunks: where memory comes from when the active one is full.
#![forbid(unsafe_code)]

use std::alloc::Layout;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use super::chunk::{self, Chunk};
use super::{FrameArena, bump, dangling};
use crate::error::{ArenaError, Limit};
use crate::settings::OverflowPolicy;

/// A growing chunk is never made smaller than this, or a first chunk of no bytes would set the pace.
const MIN_GROWTH_BYTES: usize = 1 << 10;

/// A growing chunk is never made larger than this for growth's sake alone.
const MAX_GROWTH_BYTES: usize = 64 << 20;

/// Returns the size of the second chunk.
pub(super) fn first_growth(first_chunk_bytes: usize) -> usize {
    first_chunk_bytes.max(MIN_GROWTH_BYTES)
}

impl FrameArena {
    /// Takes memory from another chunk: a kept one, or a new one.
    ///
    /// An error changes nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn take_elsewhere(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        if layout.size() == 0 {
            return Ok(dangling(layout));
        }
        if !self.activate_kept_chunk(layout) {
            self.add_chunk(layout)?;
        }
        let memory = self.take(layout.size(), layout.align());
        self.note_peak();
        Ok(memory.expect("a chunk chosen for a layout has room for it"))
    }

    /// Moves on to the first chunk behind the active one that has room for `layout`.
    fn activate_kept_chunk(&self, layout: Layout) -> bool {
        let mut chunks = self.chunks.borrow_mut();
        let next = self.active.get() + 1;
        let has_room = |chunk: &Chunk| {
            let start = chunk.start().addr();
            bump::bump(start, chunk.end_address(), layout.size(), layout.align()).is_some()
        };
        let Some(found) = (next..chunks.len()).find(|&index| has_room(&chunks[index])) else {
            return false;
        };
        chunks.swap(next, found);
        self.activate(&mut chunks, next);
        true
    }

    /// Makes a chunk with room for `layout` and activates it.
    #[cold]
    fn add_chunk(&self, layout: Layout) -> Result<(), ArenaError> {
        let is_first = self.chunks.borrow().is_empty();
        // The start of a chunk has the alignment asked for, so there is no padding to add.
        let needed = bump::round_up(layout.size());
        let wanted = if is_first {
            self.first_chunk_bytes
        } else {
            self.growth_bytes.get()
        };
        let is_limited = self.overflow == OverflowPolicy::Fail;
        if is_limited && (!is_first || needed > chunk::round_up(wanted)) {
            return Err(self.exhausted(layout.size(), is_first));
        }
        let make = |bytes| Chunk::new(bytes, layout.align(), &self.budget);
        let chunk = match make(wanted.max(needed)) {
            // Not under a limit: there the first chunk is the only one, and would stay small.
            Err(_) if needed < wanted && !is_limited => make(needed),
            made => made,
        }?;

        self.push_chunk(chunk)?;
        if !is_first {
            // What a single large allocation took does not set the pace of growth.
            self.growth_bytes
                .set(wanted.saturating_mul(2).min(MAX_GROWTH_BYTES.max(wanted)));
        }
        Ok(())
    }

    /// Puts a chunk behind the active one and activates it.
    pub(super) fn push_chunk(&self, chunk: Chunk) -> Result<(), ArenaError> {
        self.reserve_place()?;
        let mut chunks = self.chunks.borrow_mut();
        self.capacity_bytes
            .store(self.capacity_bytes() + chunk.bytes(), Relaxed);
        chunks.push(chunk);
        // Chunks that were too small for the layout at hand stay free for the next one.
        let last = chunks.len() - 1;
        let next = last.min(self.active.get() + 1);
        chunks.swap(next, last);
        self.activate(&mut chunks, next);
        Ok(())
    }

    /// Makes room for one more chunk in the list.
    ///
    /// The list is not borrowed while the global allocator works: it may use the arena.
    fn reserve_place(&self) -> Result<(), ArenaError> {
        loop {
            let len = self.chunks.borrow().len();
            if len < self.chunks.borrow().capacity() {
                return Ok(());
            }
            let places = 2 * len + 4;
            let mut longer = Vec::new();
            longer
                .try_reserve_exact(places)
                .map_err(|_| ArenaError::AllocationFailed {
                    requested: places * size_of::<Chunk>(),
                })?;
            let mut chunks = self.chunks.borrow_mut();
            if chunks.len() < longer.capacity() {
                longer.append(&mut chunks);
                mem::swap(&mut *chunks, &mut longer);
            }
            drop(chunks);
            drop(longer);
        }
    }

    /// Makes the chunk at `index` the active one, and closes the one that was.
    fn activate(&self, chunks: &mut [Chunk], index: usize) {
        if index > 0 {
            let used = self.cursor.load(Relaxed).addr() - self.start.load(Relaxed).addr();
            chunks[index - 1].used_bytes = used;
            self.closed_bytes
                .store(self.closed_bytes.load(Relaxed) + used, Relaxed);
            self.overflows.store(self.overflows() + 1, Relaxed);
            self.recycle_takes_work.set(true);
        }
        self.active.set(index);
        self.end.set(chunks[index].end_address());
        self.start.store(chunks[index].start(), Relaxed);
        self.cursor.store(chunks[index].start(), Relaxed);
    }

    fn exhausted(&self, requested: usize, is_first: bool) -> ArenaError {
        let bytes = chunk::round_up(self.first_chunk_bytes);
        let remaining = if is_first {
            bytes
        } else {
            self.remaining_bytes()
        };
        ArenaError::Exhausted {
            requested,
            remaining,
            limit: Limit::Worker { bytes },
        }
    }
}
