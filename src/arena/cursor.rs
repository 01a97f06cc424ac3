//! The cursor of an arena: the boundary between used and free bytes of the active block.
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

/// The `shared_end` of an arena in which nothing is shared. It is below all addresses.
const NOTHING_SHARED: usize = 0;

/// The position of the next allocation in the active block.
///
/// The pointers are atomic so that other threads can read the usage while the owner allocates. Only the owner
/// writes them.
#[repr(C)]
pub(super) struct Cursor {
    /// The next free byte; a multiple of `bump::CURSOR_ALIGN`.
    next: AtomicPtr<u8>,
    /// The address one past the last byte that may be used.
    end: Cell<usize>,
    /// The same for shared values, or `NOTHING_SHARED` before the first of them.
    ///
    /// This is also the mark that keeps the blocks of an arena for its handles: an arena without it gives its
    /// blocks back when the period ends. Setting it costs the fast path no instruction: the first shared value
    /// finds no room below this end, takes the slow path, and sets the mark there.
    shared_end: Cell<usize>,
    /// The first byte after the header of the active block.
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

    /// Whether something was shared since the arena last gave its blocks back.
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.shared_end.get() != NOTHING_SHARED
    }

    /// Marks the arena as shared.
    #[inline(always)]
    pub(super) fn mark_shared(&self) {
        self.shared_end.set(self.end.get());
    }

    /// Removes the mark.
    #[inline]
    pub(super) fn forget_shared(&mut self) {
        self.shared_end.set(NOTHING_SHARED);
    }

    /// Takes `size` bytes, if they fit.
    ///
    /// `size` and `align` must be those of a valid `Layout`; `align` may also be the result of
    /// `beyond_cursor`.
    #[inline(always)]
    pub(super) fn take(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.take_below(self.end.get(), size, align)
    }

    /// Takes `size` bytes for a shared value, if they fit and the arena is marked as shared.
    #[inline(always)]
    pub(super) fn take_shared(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        self.take_below(self.shared_end.get(), size, align)
    }

    /// Takes `size` bytes below `end`, which must be that of the active block, or `NOTHING_SHARED`.
    #[inline(always)]
    fn take_below(&self, end: usize, size: usize, align: usize) -> Option<NonNull<u8>> {
        let next = self.next.load(Relaxed);
        let bump = bump::bump(next.addr(), end, size, align)?;
        self.next.store(next.with_addr(bump.next), Relaxed);
        let start = next.with_addr(bump.start);
        poison::mark_live(start, size);
        // SAFETY: `start` is not below the cursor, which is never null.
        Some(unsafe { NonNull::new_unchecked(start) })
    }

    /// Returns the bytes in use in the active block.
    ///
    /// Another thread may read during a change of blocks. The two pointers then belong to different blocks,
    /// and their distance is meaningless, but never negative.
    #[inline]
    pub(super) fn used_bytes(&self) -> usize {
        let next = self.next.load(Relaxed).addr();
        next.saturating_sub(self.start.load(Relaxed).addr())
    }

    /// Returns the bytes between the cursor and the end.
    pub(super) fn remaining_bytes(&self) -> usize {
        self.end.get() - self.next.load(Relaxed).addr()
    }

    /// Enters a block of which `used_bytes` are in use. At most `limit_bytes` of it may be used.
    pub(super) fn enter(&self, block: &Block, used_bytes: usize, limit_bytes: usize) {
        // Blocks end at a multiple of the cursor's alignment, so only the limit needs rounding.
        let limit_bytes = limit_bytes & !(bump::CURSOR_ALIGN - 1);
        let bytes = block.data_bytes().min(limit_bytes);
        self.start.store(block.start(), Relaxed);
        self.next
            .store(block.start().wrapping_add(used_bytes), Relaxed);
        self.set_end(block.start().addr() + bytes);
    }

    /// Leaves the active block. There is no room until another one is entered.
    pub(super) fn leave(&mut self) {
        let nowhere = ptr::without_provenance_mut(bump::CURSOR_ALIGN);
        *self.start.get_mut() = nowhere;
        *self.next.get_mut() = nowhere;
        self.set_end(bump::CURSOR_ALIGN);
    }

    /// Moves both ends together, so that the mark is never lost.
    fn set_end(&self, end: usize) {
        self.end.set(end);
        if self.is_shared() {
            self.shared_end.set(end);
        }
    }

    /// Returns the exact number of bytes in use in the active block.
    #[inline]
    pub(super) fn used_by_owner(&mut self) -> usize {
        // With `&mut self`, no change of blocks is under way: `start <= next`.
        let next = self.next.get_mut().addr();
        next.wrapping_sub(self.start.get_mut().addr())
    }

    /// Frees the whole active block, and returns the bytes that were in use in it.
    #[inline]
    pub(super) fn rewind(&mut self) -> usize {
        let used_bytes = self.used_by_owner();
        *self.next.get_mut() = *self.start.get_mut();
        used_bytes
    }

    /// Returns a pointer to an allocation, if it ends at the cursor.
    ///
    /// The comparison with the start excludes an allocation in an adjacent block. The returned pointer is
    /// derived from the cursor and may access the whole active block; the caller's may access only its
    /// allocation.
    #[inline]
    pub(super) fn newest(&self, block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        let newest = self.next.load(Relaxed).wrapping_sub(bump::round_up(bytes));
        let is_newest =
            newest.addr() == block.addr().get() && newest.addr() >= self.start.load(Relaxed).addr();
        // SAFETY: it has the address of `block`, which is not null.
        is_newest.then(|| unsafe { NonNull::new_unchecked(newest) })
    }

    /// Whether the newest allocation can be resized to `bytes` in place.
    #[inline]
    pub(super) fn has_room(&self, newest: NonNull<u8>, bytes: usize) -> bool {
        bump::bump(newest.addr().get(), self.end.get(), bytes, 1).is_some()
    }

    /// Moves the cursor to the new end of an allocation that [`newest`](Self::newest) returned. Returns the
    /// bytes that were in use in the active block before.
    #[inline]
    pub(super) fn resize(&self, newest: NonNull<u8>, old_bytes: usize, new_bytes: usize) -> usize {
        let (old_step, new_step) = (bump::round_up(old_bytes), bump::round_up(new_bytes));
        let start = self.start.load(Relaxed).addr();
        // The owner is not changing blocks here: `start <= newest`.
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
