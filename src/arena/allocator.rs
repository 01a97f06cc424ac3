//! Allocations that grow, shrink and are freed in place while they are the newest; `&FrameArena` as an
//! allocator.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use super::FrameArena;
use super::sizes::Purpose;
use crate::error::ArenaError;

/// For containers of other crates that take an allocator. They abort the process if an allocation fails. This
/// crate's own containers do not use it, because its error carries no reason.
///
/// The newest allocation of the arena grows, shrinks and is freed in place. Any other keeps its memory until
/// the arena is recycled.
// SAFETY:
// - an allocation stays valid while the arena is borrowed: the arena gives a block back only if nothing is
//   left in it (`Chain::free_left`), and recycling takes `&mut FrameArena`;
// - the cursor steps back only over the newest allocation, when its owner frees or shrinks it: it never moves
//   below an allocation that is live, leaked or shared;
// - `allocate` unwinds only if the global allocator does, and has then changed nothing;
// - copies of the reference refer to the same arena.
unsafe impl Allocator for &FrameArena {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.try_alloc_layout(layout).map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives up `block`, which has this layout.
        unsafe { self.free_block(block, layout.size()) };
    }

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let grown = if new.align() > old.align() {
            // SAFETY: the caller owns `block`, and `new` is not smaller than `old`.
            unsafe { self.try_move_block(block, old.size(), new) }
        } else {
            // SAFETY: the caller owns `block`, which is aligned for `old`, hence for `new`; `new` is not smaller.
            unsafe { self.try_grow_block(block, old.size(), new) }
        };
        let memory = grown.map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, new.size()))
    }

    #[inline]
    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let memory = if is_aligned(block, new.align()) {
            // SAFETY: the caller owns `block`, and `new` is not larger than `old`.
            unsafe { self.shrink_block(block, old.size(), new.size()) };
            block
        } else {
            // SAFETY: the caller owns `block`, which has at least the bytes of `new`.
            let moved = unsafe { self.try_move_block(block, new.size(), new) };
            moved.map_err(|_| AllocError)?
        };
        Ok(NonNull::slice_from_raw_parts(memory, new.size()))
    }
}

impl FrameArena {
    /// Allocates raw memory without counting a refusal. The caller may try again with less, and must call
    /// [`count_refusal`](Self::count_refusal) if it gives up.
    #[inline]
    pub(crate) fn try_alloc_uncounted(
        &self,
        layout: Layout,
        purpose: Purpose,
    ) -> Result<NonNull<u8>, ArenaError> {
        match self.take(layout.size(), layout.align()) {
            Some(memory) => Ok(memory),
            None => self.try_refill(layout, purpose),
        }
    }

    /// Grows an allocation in place, or moves it. After an error, the arena is unchanged and no refusal is
    /// counted.
    ///
    /// # Safety
    /// - `block` must be an allocation of `old_bytes`, owned by the caller and aligned for `new`. Unless this
    ///   returns an error, it must not be used again;
    /// - `new` must not be smaller than `old_bytes`.
    pub(crate) unsafe fn try_grow_block(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new: Layout,
    ) -> Result<NonNull<u8>, ArenaError> {
        // SAFETY: the caller owns `block`, and `new` is not smaller.
        if let Some(grown) = unsafe { self.grow_in_place(block, old_bytes, new.size()) } {
            return Ok(grown);
        }
        // SAFETY: the caller owns `block`, which has `old_bytes`, and `new` is not smaller.
        let moved = unsafe { self.try_move_block(block, old_bytes, new) }?;
        // The old and the new allocation were in use at once.
        self.note_peak(self.used_now());
        // The caller gives up `block`, which is often the last allocation in the block that was left.
        let limits = (self.hot_bytes, self.limit_bytes);
        let emptied = self.chain.free_left(&self.cursor, block, old_bytes, limits);
        if let Some(emptied) = emptied {
            self.store.returning().put(emptied);
        }
        Ok(moved)
    }

    /// Grows an allocation in place, if it is the newest and the active block has room.
    ///
    /// # Safety
    /// `block` must be an allocation of `old_bytes`, owned by the caller. `new_bytes` must not be less, and
    /// must be the size of a valid `Layout`.
    #[inline(always)]
    pub(crate) unsafe fn grow_in_place(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
    ) -> Option<NonNull<u8>> {
        // A zero-sized allocation may happen to lie at the cursor. It grows there like any other.
        let newest = self.cursor.newest(block, old_bytes)?;
        if !self.cursor.has_room(newest, new_bytes) {
            return None;
        }
        self.cursor.resize(newest, old_bytes, new_bytes);
        Some(newest)
    }

    /// Frees the end of an allocation if it is the newest, and returns whether it is.
    ///
    /// # Safety
    /// `block` must be an allocation of `old_bytes`, owned by the caller, and `new_bytes` must not be more.
    /// If this returns `true`, the allocation has only `new_bytes` left.
    #[inline]
    pub(crate) unsafe fn shrink_block(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
    ) -> bool {
        let Some(newest) = self.cursor.newest(block, old_bytes) else {
            return false;
        };
        // Usage is measured at the end of the period, which would miss the bytes freed here.
        let used_bytes =
            self.chain.closed_bytes() + self.cursor.resize(newest, old_bytes, new_bytes);
        self.note_peak(used_bytes);
        true
    }

    /// Frees an allocation if it is the newest. Any other keeps its memory until the arena is recycled.
    ///
    /// # Safety
    /// `block` must be an allocation of `bytes`, owned by the caller, and must not be used again.
    #[inline]
    pub(crate) unsafe fn free_block(&self, block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller gives up the whole allocation.
        unsafe { self.shrink_block(block, bytes, 0) };
    }

    /// Copies the first `bytes` of `block` to a new allocation.
    ///
    /// # Safety
    /// `block` must have `bytes` readable bytes, and `new` must be at least as large.
    #[cold]
    unsafe fn try_move_block(
        &self,
        block: NonNull<u8>,
        bytes: usize,
        new: Layout,
    ) -> Result<NonNull<u8>, ArenaError> {
        let moved = self.try_alloc_uncounted(new, Purpose::Growing)?;
        // SAFETY:
        // - the caller promises `bytes` readable bytes;
        // - the new allocation is at least as large, and does not overlap `block`.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.as_ptr(), bytes) };
        Ok(moved)
    }
}

/// Returns whether `block` is aligned. Unlike `is_multiple_of`, the mask needs no division.
#[inline(always)]
fn is_aligned(block: NonNull<u8>, align: usize) -> bool {
    block.addr().get() & (align - 1) == 0
}
