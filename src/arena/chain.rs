//! The blocks that an arena holds, the active one on top.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::block::{Block, Stack};
use super::cursor::Cursor;
use super::{bump, poison};

/// Blocks below the active one that are searched for room.
const SEARCHED: usize = 8;

/// The blocks of an arena. All allocations go to the top one, the active block.
///
/// The figures are atomic so that other threads can read them; only the owner writes them.
#[derive(Default)]
pub(super) struct Chain {
    blocks: Cell<Stack>,
    /// Bytes used in the blocks below the active one.
    closed_bytes: AtomicUsize,
    /// Bytes of all blocks.
    held_bytes: AtomicUsize,
    /// No searched block has more bytes left than this, which saves most searches.
    most_open_bytes: Cell<usize>,
}

impl Chain {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.with(|blocks| blocks.len())
    }

    #[inline]
    pub(super) fn closed_bytes(&self) -> usize {
        self.closed_bytes.load(Relaxed)
    }

    /// Returns the bytes of all blocks, their headers included.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes.load(Relaxed)
    }

    /// Makes a block the active one. At most `limit_bytes` may be used in all blocks together.
    #[inline]
    pub(super) fn push(&self, cursor: &Cursor, block: Block, limit_bytes: usize) {
        let used_bytes = cursor.used_bytes();
        let closed_bytes = self.closed_bytes() + used_bytes;
        self.held_bytes
            .store(self.held_bytes() + block.bytes(), Relaxed);
        self.closed_bytes.store(closed_bytes, Relaxed);
        cursor.enter(&block, 0, limit_bytes - closed_bytes);
        self.with(|blocks| {
            if let Some(active) = blocks.top_mut() {
                self.leave(active, used_bytes);
            }
            blocks.push(block);
        });
    }

    /// Records the bytes in use in a block that is not active.
    #[inline]
    fn leave(&self, block: &mut Block, used_bytes: usize) {
        block.set_used_bytes(used_bytes);
        let open_bytes = block.data_bytes() - used_bytes;
        let most = self.most_open_bytes.get().max(open_bytes);
        self.most_open_bytes.set(most);
    }

    /// Whether a block below the active one may have `bytes` left.
    #[inline]
    pub(super) fn may_reopen(&self, bytes: usize) -> bool {
        bytes <= self.most_open_bytes.get()
    }

    /// Makes a block below the active one active again, if one has `bytes` left. Returns whether it did. At
    /// most `limit_bytes` may be used in all blocks together.
    ///
    /// Without it, a large list between small ones would waste the rest of each block.
    pub(super) fn reopen(&self, cursor: &Cursor, bytes: usize, limit_bytes: usize) -> bool {
        if !self.may_reopen(bytes) {
            return false;
        }
        self.with(|blocks| {
            let has_room = |block: &Block| block.data_bytes() - block.used_bytes() >= bytes;
            if !blocks.raise(SEARCHED, has_room) {
                // Blocks further down are not searched, so they do not count.
                self.most_open_bytes.set(bytes - 1);
                return false;
            }
            let left_bytes = cursor.used_bytes();
            if let Some(left) = blocks.second_mut() {
                self.leave(left, left_bytes);
            }
            if let Some(active) = blocks.top_mut() {
                let used_bytes = active.used_bytes();
                let closed_bytes = self.closed_bytes() + left_bytes - used_bytes;
                self.closed_bytes.store(closed_bytes, Relaxed);
                cursor.enter(active, used_bytes, limit_bytes - closed_bytes);
            }
            true
        })
    }

    /// Frees the old memory of a list that has moved to the active block, if it is the newest allocation in the
    /// block that was active before.
    ///
    /// Returns that block if it is now empty and larger than `hot_bytes`, so that a growing list holds only
    /// its last block. At most `limit_bytes` may be used in all blocks together.
    pub(super) fn free_left(
        &self,
        cursor: &Cursor,
        allocation: NonNull<u8>,
        bytes: usize,
        (hot_bytes, limit_bytes): (usize, usize),
    ) -> Option<Block> {
        self.with(|blocks| {
            let left = blocks.second_mut()?;
            let (bytes, used_bytes) = (bump::round_up(bytes), left.used_bytes());
            // Headers lie between blocks, so an allocation that ends here is in this block.
            let end = left.start().addr() + used_bytes;
            if allocation.addr().get() + bytes != end {
                return None;
            }
            let closed_bytes = self.closed_bytes() - bytes;
            self.closed_bytes.store(closed_bytes, Relaxed);
            // The block's own pointer may also access the padding.
            let freed = left.start().wrapping_add(used_bytes - bytes);
            poison::mark_dead(freed, bytes);
            let emptied = if bytes < used_bytes || left.bytes() <= hot_bytes {
                self.leave(left, used_bytes - bytes);
                None
            } else {
                self.held_bytes
                    .store(self.held_bytes() - left.bytes(), Relaxed);
                blocks.remove_second()
            };
            // The limit has room for the freed bytes again.
            if let Some(active) = blocks.top_mut() {
                cursor.enter(active, cursor.used_bytes(), limit_bytes - closed_bytes);
            }
            emptied
        })
    }

    /// Removes all blocks and passes each to `take`, the active one first.
    #[inline]
    pub(super) fn give_all(&mut self, cursor: &mut Cursor, take: impl FnMut(Block)) {
        let blocks = self.blocks.get_mut();
        if let Some(active) = blocks.top_mut() {
            active.set_used_bytes(cursor.rewind());
        }
        blocks.drain(take);
        *self.held_bytes.get_mut() = 0;
        *self.closed_bytes.get_mut() = 0;
        self.most_open_bytes.set(0);
        cursor.leave();
    }

    /// Keeps the largest block of at most `hot_bytes`, and rewinds to its start. Passes all others to `take`,
    /// the active one first.
    pub(super) fn return_to_one(
        &mut self,
        cursor: &mut Cursor,
        limit_bytes: usize,
        hot_bytes: usize,
        mut take: impl FnMut(Block),
    ) {
        let blocks = self.blocks.get_mut();
        if let Some(active) = blocks.top_mut() {
            active.set_used_bytes(cursor.used_bytes());
        }
        let mut kept: Option<Block> = None;
        blocks.drain(|block| {
            let is_larger = kept.as_ref().is_none_or(|it| it.bytes() < block.bytes());
            let other = match block.bytes() <= hot_bytes && is_larger {
                true => kept.replace(block),
                false => Some(block),
            };
            other.into_iter().for_each(&mut take);
        });
        *self.held_bytes.get_mut() = kept.as_ref().map_or(0, Block::bytes);
        *self.closed_bytes.get_mut() = 0;
        self.most_open_bytes.set(0);
        match kept {
            Some(block) => {
                cursor.enter(&block, 0, limit_bytes);
                blocks.push(block);
            }
            None => cursor.leave(),
        }
    }

    /// Calls `visit` with the start and the size of the used memory of each block.
    pub(super) fn for_each_used(&mut self, cursor: &Cursor, mut visit: impl FnMut(*mut u8, usize)) {
        for (depth, block) in self.blocks.get_mut().iter().enumerate() {
            let used_bytes = if depth == 0 {
                cursor.used_bytes()
            } else {
                block.used_bytes()
            };
            visit(block.start(), used_bytes);
        }
    }

    /// Calls `work` with the blocks. `work` must not run user code, which could re-enter this method.
    #[inline(always)]
    fn with<R>(&self, work: impl FnOnce(&mut Stack) -> R) -> R {
        let mut blocks = self.blocks.take();
        let result = work(&mut blocks);
        // It left an empty stack, but the compiler cannot see that there is nothing to drop.
        mem::forget(self.blocks.replace(blocks));
        result
    }
}
