//! The store: the free blocks, and the limit on all blocks.
#![forbid(unsafe_code)]

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{OnceLock, PoisonError};

use super::block::{self, Block, HEADER_BYTES, Stack};
use super::free::{self, Free, Window};
use super::sizes::{Request, Sizes};
use super::sync::{AtomicU32, AtomicUsize, Mutex, MutexGuard};
use crate::settings::{FIRST_BLOCK_BYTES, FrameArenaSettings};

/// A new block takes at most a quarter of the remaining budget, unless an allocation needs more.
const BUDGET_PART: usize = 4;

/// The most bytes that are pretouched. Out of memory, an operating system kills the process instead of refusing.
const MAX_PRETOUCH_BYTES: usize = 1 << 30;

/// The blocks of all workers, generations, scratch and tasks of one `FrameArenas`, or of one standalone arena.
///
/// A full arena takes a block, and gives its blocks back when its data is no longer needed. The block
/// returned last is taken first: it is most likely to be in the cache.
///
/// The lock is held for a few instructions at a time. Nothing is allocated, freed or dropped under it,
/// because a user's global allocator or destructor may use the arenas.
pub(crate) struct Store {
    sizes: Sizes,
    /// The size class of the arenas' first blocks.
    first_class: usize,
    /// The size class of ordinary blocks.
    ordinary_class: usize,
    limit_bytes: usize,
    free: Mutex<Free>,
    /// Allocations refused by a limit since the last [`take_refusals`](Self::take_refusals).
    refusals: AtomicU32,
    /// The size of the largest allocation ever refused by a limit.
    largest_refusal_bytes: AtomicUsize,
    /// Whether the last refusal was by the limit of a worker, not by the budget.
    is_worker_refused: AtomicBool,
    /// The type name of the arenas' pace, for errors. Unset if the pace is the frame.
    pace: OnceLock<&'static str>,
}

/// The reason why no block could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The budget is exhausted.
    ByBudget,
    /// The global allocator refused.
    ByAllocator,
}

/// The memory of a store at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Bytes taken from the global allocator.
    pub(crate) reserved_bytes: usize,
    /// Bytes of the free blocks.
    pub(crate) free_bytes: usize,
    /// Bytes of the blocks that task arenas hold.
    pub(crate) task_bytes: usize,
}

impl Store {
    /// Creates a store for arenas whose first block has at most `first_bytes`.
    pub(crate) fn new(settings: &FrameArenaSettings, first_bytes: usize) -> Self {
        let limit_bytes = settings.budget_bytes.unwrap_or(usize::MAX);
        let sizes = Sizes::new(settings.block_bytes, limit_bytes, first_bytes)
            .with_worker_limit(settings.worker_limit_bytes.unwrap_or(usize::MAX));
        Self {
            sizes,
            first_class: free::class_of(FIRST_BLOCK_BYTES),
            ordinary_class: free::class_of(sizes.ordinary_bytes()),
            limit_bytes,
            free: Mutex::new(Free::default()),
            refusals: AtomicU32::new(0),
            largest_refusal_bytes: AtomicUsize::new(0),
            is_worker_refused: AtomicBool::new(false),
            pace: OnceLock::new(),
        }
    }

    /// Makes ordinary blocks of at least `bytes` in total, up to the budget and [`MAX_PRETOUCH_BYTES`], and
    /// writes to each of their pages.
    pub(crate) fn pretouch(&self, bytes: usize) {
        let block_bytes = self.sizes.ordinary_bytes();
        for _ in 0..blocks_to_pretouch(bytes, block_bytes, self.limit_bytes) {
            let Ok(mut block) = self.make(block_bytes) else {
                return;
            };
            block.touch(block_bytes);
            self.returning().put(block);
        }
    }

    pub(super) fn sizes(&self) -> Sizes {
        self.sizes
    }

    pub(crate) fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Returns the current memory figures.
    pub(crate) fn memory(&self) -> Memory {
        self.lock().memory()
    }

    /// Counts a block as held by a task arena until it is returned.
    pub(super) fn count_for_task(&self, block: &mut Block) {
        block.set_of_task(true);
        self.lock().task_bytes += block.bytes();
    }

    /// Returns the bytes that arenas may still take: the rest of the limit and the free blocks.
    pub(super) fn remaining_bytes(&self) -> usize {
        let memory = self.memory();
        self.limit_bytes - (memory.reserved_bytes - memory.free_bytes)
    }

    /// Takes a free block.
    #[inline]
    pub(super) fn take_free(&self, request: Request) -> Option<Block> {
        self.lock().take(request, self.ordinary_class)
    }

    /// Makes a block of the wanted size, or a smaller one that still fits the request if the budget or the
    /// allocator refuses.
    #[cold]
    pub(super) fn take_new(&self, request: Request) -> Result<Block, Refused> {
        let fair_bytes = self.remaining_bytes() / BUDGET_PART;
        let mut bytes = request.wanted_bytes;
        if fair_bytes < bytes {
            // A power of two, so that the next request for as much finds the block again.
            let power = 1 << fair_bytes.max(1).ilog2();
            bytes = power.max(request.needed_bytes);
            if let Some(block) = self.lock().take_fitting(bytes) {
                return Ok(block);
            }
        }
        loop {
            match self.make(bytes) {
                Ok(block) => return Ok(block),
                Err(refused) if bytes <= request.needed_bytes => return Err(refused),
                Err(_) => bytes = (bytes / 2).max(request.needed_bytes),
            }
        }
    }

    /// Makes a block with `bytes` after its header.
    pub(super) fn make_for(&self, bytes: usize) -> Result<Block, Refused> {
        self.make(bytes.saturating_add(HEADER_BYTES))
    }

    /// Makes a block. Free blocks are freed first if the budget or the allocator refuses.
    fn make(&self, bytes: usize) -> Result<Block, Refused> {
        let bytes = block::rounded_up(bytes).ok_or(Refused::ByAllocator)?;
        let given_up = self.lock().reserve(bytes, self.limit_bytes)?;
        drop(given_up);
        let class = free::class_of(bytes);
        let block = Block::new(bytes, class).or_else(|| {
            self.clear();
            Block::new(bytes, class)
        });
        if block.is_none() {
            self.lock().reserved_bytes -= bytes;
        }
        block.ok_or(Refused::ByAllocator)
    }

    /// Starts to give blocks back.
    #[inline]
    pub(crate) fn returning(&self) -> Returning<'_> {
        Returning {
            store: self,
            first: Stack::default(),
            others: Stack::default(),
            before: None,
        }
    }

    /// Frees all blocks that no arena holds.
    pub(crate) fn clear(&self) {
        let _freed = self.lock().clear();
    }

    /// Frees all blocks that no arena holds, and from now on each returned block. Called when the store's
    /// owner is dropped: arenas that leases keep alive return their blocks later.
    pub(crate) fn close(&self) {
        let mut free = self.lock();
        free.is_closed = true;
        let freed = free.clear();
        drop(free);
        drop(freed);
    }

    /// Ends a step of the window, frees surplus blocks, and returns their bytes.
    #[cold]
    pub(crate) fn step_trim(&self, window: Window) -> usize {
        let freed = self.lock().step(window);
        freed.bytes()
    }

    /// Sets the arenas' pace. Only the first call has an effect.
    #[cfg(feature = "bevy")]
    pub(crate) fn set_pace(&self, type_name: &'static str) {
        self.pace.get_or_init(|| type_name);
    }

    /// Returns the arenas' pace, or `None` if it is the frame.
    pub(super) fn pace(&self) -> Option<&'static str> {
        self.pace.get().copied()
    }

    /// Counts an allocation that a limit refused.
    pub(super) fn count_refusal(&self, bytes: usize, by_worker_limit: bool) {
        self.is_worker_refused.store(by_worker_limit, Relaxed);
        self.refusals.fetch_add(1, Relaxed);
        self.largest_refusal_bytes.fetch_max(bytes, Relaxed);
    }

    #[cfg(feature = "bevy")]
    pub(crate) fn is_worker_refused(&self) -> bool {
        self.is_worker_refused.load(Relaxed)
    }

    pub(crate) fn largest_refusal_bytes(&self) -> usize {
        self.largest_refusal_bytes.load(Relaxed)
    }

    /// Returns the refusals since the last [`take_refusals`](Self::take_refusals), without resetting the
    /// count.
    #[inline]
    pub(crate) fn refusals_so_far(&self) -> u32 {
        self.refusals.load(Relaxed)
    }

    /// Returns the refusals since the last call, and resets the count.
    pub(crate) fn take_refusals(&self) -> u32 {
        self.refusals.swap(0, Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        // Nothing panics while the lock is held.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("sizes", &self.sizes)
            .field("limit_bytes", &self.limit_bytes)
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}

/// Returns the number of blocks to pretouch.
fn blocks_to_pretouch(bytes: usize, block_bytes: usize, limit_bytes: usize) -> usize {
    // Beyond the budget, each new block would replace the one before.
    let most = limit_bytes.min(MAX_PRETOUCH_BYTES) / block_bytes;
    bytes.div_ceil(block_bytes).min(most)
}

/// Blocks on their way back to a store. They are all returned at once, by [`finish`](Self::finish) or when this
/// is dropped.
///
/// The store is not locked until then, so that arenas can be measured and emptied in one pass.
pub(crate) struct Returning<'a> {
    store: &'a Store,
    /// Blocks of the class of first blocks, the most frequent: each worker of a period returns one.
    first: Stack,
    others: Stack,
    /// The figures of the store before the first [`flush`](Self::flush).
    before: Option<Memory>,
}

impl Returning<'_> {
    /// Adds a block to be returned.
    #[inline]
    pub(super) fn put(&mut self, block: Block) {
        let blocks = match block.is_plain(self.store.first_class) {
            true => &mut self.first,
            false => &mut self.others,
        };
        blocks.push(block);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first.len() + self.others.len() == 0
    }

    /// Returns the blocks so far, before destructors run: they may need memory, and may return some.
    #[cold]
    pub(crate) fn flush(&mut self) {
        let memory = self.put_all(false);
        self.before.get_or_insert(memory);
    }

    /// Returns the blocks, and the figures of the store before the first of them was returned.
    #[inline(always)]
    pub(crate) fn finish(mut self) -> Memory {
        let now = self.put_all(false);
        let memory = self.before.unwrap_or(now);
        // The compiler cannot see that there is nothing to drop.
        mem::forget(self);
        memory
    }

    /// Returns blocks that were not needed since the last step of the window.
    pub(crate) fn finish_idle(mut self) {
        self.put_all(true);
    }

    #[inline(always)]
    fn put_all(&mut self, are_idle: bool) -> Memory {
        // The block pushed first goes first, so that the last one ends up on top.
        self.others.reverse();
        let mut free = self.store.lock();
        let memory = free.memory();
        if self.others.len() > 0 {
            free.put_all(&mut self.others, are_idle);
        }
        free.put_equal(&mut self.first, self.store.first_class, are_idle);
        drop(free);
        if !self.is_empty() {
            self.free_rejected();
        }
        memory
    }

    /// Frees the blocks that a closed store has rejected, after the lock is released.
    #[cold]
    fn free_rejected(&mut self) {
        drop(mem::take(&mut self.first));
        drop(mem::take(&mut self.others));
    }
}

impl Drop for Returning<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            self.put_all(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretouching_ends_at_the_budget_and_at_a_gibibyte() {
        const KIB: usize = 1 << 10;
        const GIB: usize = 1 << 30;
        for (bytes, block_bytes, limit_bytes, blocks) in [
            (0, KIB, usize::MAX, 0),
            (1, KIB, usize::MAX, 1),
            (KIB + 1, KIB, usize::MAX, 2),
            (10 * KIB, KIB, 5 * KIB - 1, 4),
            (usize::MAX, KIB, 5 * KIB, 5),
            (GIB, KIB, usize::MAX, 1 << 20),
            (GIB + 1, KIB, usize::MAX, 1 << 20),
            (usize::MAX, KIB, usize::MAX, 1 << 20),
            // A single block would be more than that.
            (1, GIB + 1, usize::MAX, 0),
        ] {
            let found = blocks_to_pretouch(bytes, block_bytes, limit_bytes);
            assert_eq!(found, blocks, "{bytes}, {block_bytes}, {limit_bytes}");
        }
    }
}
