//! The cursor of an arena: which bytes of the active block are handed out.
#![expect(
    unsafe_code,
    reason = "makes pointers that are not null without a check"
)]

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::block::Block;
use super::bump;
use super::poison;

/// The end for what is shared, while nothing was.
const NOTHING_SHARED: usize = 0;

/// Where the next allocation goes, within the active block.
///
/// The pointers are atomic so that other threads can read how much is used while the owner
/// allocates. Only the owner writes them.
#[repr(C)]
pub(super) struct Cursor {
    /// The next free byte; a multiple of `bump::CURSOR_ALIGN`.
    next: AtomicPtr<u8>,
    /// The address behind the last byte that may be used.
    end: Cell<usize>,
    /// The same for values that are shared, or `NOTHING_SHARED` before the first of them.
    ///
    /// This is the mark that keeps the blocks of an arena for its handles. It costs no instruction
    /// where a value is shared: the first one finds no room below this end, takes the slow path, and
    /// sets the mark there.
    shared_end: Cell<usize>,
    /// The first byte of the block.
    start: AtomicPtr<u8>,
}

impl Cursor {
    /// Creates the cursor of an arena without blocks: aligned, not null, with no room.
    pub(super) const fn nowhere() -> Self {
        let nowhere = ptr::without_provenance_mut(bump::CURSOR_ALIGN);
        Self {
            next: AtomicPtr::new(nowhere),
            end: Cell::new(bump::CURSOR_ALIGN),
            shared_end: Cell::new(NOTHING_SHARED),
            start: AtomicPtr::new(nowhere),
        }
    }

    /// Whether something was shared since the arena was empty.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.shared_end.get() != NOTHING_SHARED
    }

    /// Notes that something is shared.
    #[inline(always)]
    pub(super) fn mark_shared(&self) {
        self.shared_end.set(self.end.get());
    }

    /// Notes that nothing is shared any more.
    #[inline]
    pub(super) fn forget_shared(&mut self) {
        self.shared_end.set(NOTHING_SHARED);
    }

    /// Takes `size` bytes, if they fit.
    ///
    /// `size` and `align` are those of a valid `Layout`, or `align` is that of `beyond_cursor`.
    #[inline(always)]
    pub(super) fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.take_below(self.end.get(), size, align)
    }

    /// Takes `size` bytes for what is shared, if they fit and something was shared before.
    #[inline(always)]
    pub(super) fn take_shared(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.take_below(self.shared_end.get(), size, align)
    }

    /// `end` is that of the active block, or below all addresses.
    #[inline(always)]
    fn take_below(&self, end: usize, size: usize, align: usize) -> Option<NonNull<u8>> {
        let next = self.next.load(Relaxed);
        let bump = bump::bump(next.addr(), end, size, align)?;
        self.next.store(next.with_addr(bump.next), Relaxed);
        let start = next.with_addr(bump.start);
        poison::mark_live(start, size);
        // SAFETY: `start` lies between the cursor and the end of a block, neither of them null.
        Some(unsafe { NonNull::new_unchecked(start) })
    }

    /// Returns the bytes in use in the active block.
    ///
    /// Another thread may read in the middle of a change of blocks: the pointers are then of two
    /// blocks, and their distance means nothing. It is not negative.
    #[inline]
    pub(super) fn used_bytes(&self) -> usize {
        let next = self.next.load(Relaxed).addr();
        next.saturating_sub(self.start.load(Relaxed).addr())
    }

    /// Returns the bytes between the cursor and the end of the block.
    pub(super) fn remaining_bytes(&self) -> usize {
        self.end.get() - self.next.load(Relaxed).addr()
    }

    /// Moves to where `used_bytes` of a block are in use. At most `limit_bytes` of it may be used.
    pub(super) fn enter(&self, block: &Block, used_bytes: usize, limit_bytes: usize) {
        // Blocks end at a multiple of the cursor's alignment, so what is rounded is the limit.
        let limit_bytes = limit_bytes & !(bump::CURSOR_ALIGN - 1);
        let bytes = block.data_bytes().min(limit_bytes);
        self.start.store(block.start(), Relaxed);
        self.next
            .store(block.start().wrapping_add(used_bytes), Relaxed);
        self.set_end(block.start().addr() + bytes);
    }

    /// Leaves all blocks.
    pub(super) fn leave(&mut self) {
        let nowhere = ptr::without_provenance_mut(bump::CURSOR_ALIGN);
        *self.start.get_mut() = nowhere;
        *self.next.get_mut() = nowhere;
        self.set_end(bump::CURSOR_ALIGN);
    }

    /// Both ends move together, so that the mark is never lost.
    fn set_end(&self, end: usize) {
        self.end.set(end);
        if self.is_shared() {
            self.shared_end.set(end);
        }
    }

    /// Makes all of the active block free, and returns the bytes that were in use in it.
    #[inline]
    pub(super) fn rewind(&mut self) -> usize {
        let (next, start) = (self.next.get_mut(), *self.start.get_mut());
        // With `&mut self` there is no change of blocks in between: the start comes first.
        let used_bytes = next.addr().wrapping_sub(start.addr());
        *next = start;
        used_bytes
    }

    /// Moves back to where `used_bytes` of the active block were in use.
    #[inline]
    pub(super) fn step_back_to(&mut self, used_bytes: usize) {
        *self.next.get_mut() = self.start.get_mut().wrapping_add(used_bytes);
    }

    /// Returns the block if it ends at the cursor.
    ///
    /// Two blocks may lie side by side, so that a block at the end of one ends where the other
    /// begins: hence the look at the start. The pointer returned is made from the cursor, which
    /// may access the whole block; the caller's may access the block alone.
    #[inline]
    pub(super) fn newest(&self, block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        let newest = self.next.load(Relaxed).wrapping_sub(bump::round_up(bytes));
        let is_newest =
            newest.addr() == block.addr().get() && newest.addr() >= self.start.load(Relaxed).addr();
        // SAFETY: it has the address of `block`, which is not null.
        is_newest.then(|| unsafe { NonNull::new_unchecked(newest) })
    }

    /// Whether a block at the cursor's end can have `bytes` in its place.
    #[inline]
    pub(super) fn has_room(&self, newest: NonNull<u8>, bytes: usize) -> bool {
        bump::bump(newest.addr().get(), self.end.get(), bytes, 1).is_some()
    }

    /// Moves the cursor to the new end of a block that [`newest`](Self::newest) returned, and returns
    /// the bytes that were in use in the block before.
    #[inline]
    pub(super) fn resize(&self, newest: NonNull<u8>, old_bytes: usize, new_bytes: usize) -> usize {
        let (old_step, new_step) = (bump::round_up(old_bytes), bump::round_up(new_bytes));
        let start = self.start.load(Relaxed).addr();
        // The owner is not in the middle of a change of blocks: the start comes first.
        let used_bytes = newest
            .addr()
            .get()
            .wrapping_add(old_step)
            .wrapping_sub(start);
        let next = newest.as_ptr().wrapping_add(new_step);
        self.next.store(next, Relaxed);
        poison::mark_dead(next, old_step.saturating_sub(new_step));
        poison::mark_live(newest.as_ptr(), new_bytes);
        used_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_torn_by_a_change_of_blocks_is_not_negative() {
        let cursor = Cursor::nowhere();
        cursor
            .start
            .store(ptr::without_provenance_mut(usize::MAX), Relaxed);
        assert_eq!(cursor.used_bytes(), 0);
    }
}
