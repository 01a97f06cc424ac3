//! The blocks that an arena holds, the active one on top.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::block::{Block, Stack};
use super::cursor::Cursor;

/// The blocks of an arena. All allocations go to the one on top, the active one.
///
/// The figures are atomic so that other threads can read them; only the owner writes them.
#[derive(Default)]
pub(super) struct Chain {
    blocks: Cell<Stack>,
    /// Bytes used in the blocks below the active one.
    closed_bytes: AtomicUsize,
    /// Bytes of all blocks.
    held_bytes: AtomicUsize,
}

/// How far an arena has come: everything allocated so far lies before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of blocks, the active one included.
    blocks: usize,
    /// Bytes used in the active one.
    used_bytes: usize,
    /// Bytes used in the blocks below it.
    closed_bytes: usize,
}

impl Chain {
    /// Returns how far the arena has come.
    #[inline]
    pub(super) fn place(&self, cursor: &Cursor) -> Place {
        Place {
            blocks: self.len(),
            used_bytes: cursor.used_bytes(),
            closed_bytes: self.closed_bytes(),
        }
    }

    /// Returns the number of blocks.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.with(|blocks| blocks.len())
    }

    /// Returns the bytes used in the blocks below the active one.
    #[inline]
    pub(super) fn closed_bytes(&self) -> usize {
        self.closed_bytes.load(Relaxed)
    }

    /// Returns the bytes of all blocks, their headers included.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes.load(Relaxed)
    }

    /// Makes a block the active one. At most `limit_bytes` may be used in all of them.
    pub(super) fn push(&self, cursor: &Cursor, block: Block, limit_bytes: usize) {
        let used_bytes = cursor.used_bytes();
        let closed_bytes = self.closed_bytes() + used_bytes;
        self.held_bytes
            .store(self.held_bytes() + block.bytes(), Relaxed);
        self.closed_bytes.store(closed_bytes, Relaxed);
        cursor.enter(&block, 0, limit_bytes - closed_bytes);
        self.with(|blocks| {
            if let Some(active) = blocks.top_mut() {
                active.set_used_bytes(used_bytes);
            }
            blocks.push(block);
        });
    }

    /// Returns to a place that the arena has been at since it was empty, and calls `take` with each
    /// block that it got since then.
    pub(super) fn return_to(
        &mut self,
        place: Place,
        cursor: &mut Cursor,
        limit_bytes: usize,
        mut take: impl FnMut(Block),
    ) {
        let blocks = self.blocks.get_mut();
        if let Some(active) = blocks.top_mut() {
            active.set_used_bytes(cursor.used_bytes());
        }
        while blocks.len() > place.blocks
            && let Some(block) = blocks.pop()
        {
            *self.held_bytes.get_mut() -= block.bytes();
            take(block);
        }
        *self.closed_bytes.get_mut() = place.closed_bytes;
        match blocks.top_mut() {
            Some(block) => cursor.enter(block, place.used_bytes, limit_bytes - place.closed_bytes),
            None => cursor.leave(),
        }
    }

    /// Leaves all blocks, and calls `take` with each, the active one first.
    #[inline]
    pub(super) fn give_all(&mut self, cursor: &mut Cursor, mut take: impl FnMut(Block)) {
        let mut blocks = self.blocks.take();
        if let Some(active) = blocks.top_mut() {
            active.set_used_bytes(cursor.used_bytes());
        }
        while let Some(block) = blocks.pop() {
            take(block);
        }
        *self.held_bytes.get_mut() = 0;
        *self.closed_bytes.get_mut() = 0;
        cursor.leave();
    }

    /// Returns to the start of the first block, and calls `take` with all others; with the first as
    /// well, if it is larger than `kept_bytes`.
    pub(super) fn return_to_first(
        &mut self,
        cursor: &mut Cursor,
        limit_bytes: usize,
        kept_bytes: usize,
        take: impl FnMut(Block),
    ) {
        let blocks = self.blocks.get_mut();
        let first = blocks.iter().last();
        let keeps_first = first.is_some_and(|block| block.bytes() <= kept_bytes);
        let first = Place {
            blocks: usize::from(keeps_first),
            ..Place::default()
        };
        self.return_to(first, cursor, limit_bytes, take);
    }

    /// Whether the arena has taken no block since it was at `place`.
    #[inline]
    pub(super) fn is_active_at(&self, place: Place) -> bool {
        self.len() == place.blocks
    }

    /// Returns to a place in the active block: what comes after it is free.
    #[inline]
    pub(super) fn step_back_to(&mut self, place: Place, cursor: &mut Cursor) {
        debug_assert!(self.is_active_at(place));
        cursor.step_back_to(place.used_bytes);
    }

    /// Calls `visit` for the memory of each block that was allocated since `place`: where it starts,
    /// and how many bytes.
    pub(super) fn for_each_used_since(
        &mut self,
        place: Place,
        cursor: &Cursor,
        mut visit: impl FnMut(*mut u8, usize),
    ) {
        let blocks = self.blocks.get_mut();
        let active = blocks.len();
        for (depth, block) in blocks.iter().enumerate() {
            let number = active - depth;
            if number < place.blocks {
                return;
            }
            let used_bytes = if depth == 0 {
                cursor.used_bytes()
            } else {
                block.used_bytes()
            };
            let before = if number == place.blocks {
                place.used_bytes
            } else {
                0
            };
            visit(block.start().wrapping_add(before), used_bytes - before);
        }
    }

    /// Calls `work` with the blocks. It runs no code of a user's, so it is not entered twice.
    #[inline(always)]
    fn with<R>(&self, work: impl FnOnce(&mut Stack) -> R) -> R {
        let mut blocks = self.blocks.take();
        let result = work(&mut blocks);
        self.blocks.set(blocks);
        result
    }
}
