//! Blocks that grow, shrink and are freed in place where they are the newest; `&FrameArena` as the
//! allocator of maps.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use super::FrameArena;
use super::sizes::Purpose;
use crate::error::ArenaError;

/// For containers that take an allocator, like those of hashbrown. `FrameVec`, `FrameBox` and
/// `FrameString` do not go through it: it has no room for the reason of a refusal, and containers
/// of other crates abort the process where it refuses.
///
/// Grows, shrinks and frees in place where the block is the newest of its store's block. Any other block
/// stays where it is until the frame is recycled.
// SAFETY:
// - a block stays valid while the arena is borrowed: taking another block of the store keeps the
//   old ones, and recycling takes `&mut FrameArena`;
// - the cursor steps back only over the newest block, when its owner frees or shrinks it: never
//   below a block that is live, leaked or shared;
// - `allocate` may unwind (the global allocator may be anybody's); it has changed nothing then;
// - copies of the reference are the same arena.
unsafe impl Allocator for &FrameArena {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = self.try_alloc_layout(layout).map_err(|_| AllocError)?;
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller gives up the block, which has this layout.
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
            // SAFETY: as above, and `block` is aligned for `old`, so for `new`.
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
            // SAFETY: as above.
            let moved = unsafe { self.try_move_block(block, new.size(), new) };
            moved.map_err(|_| AllocError)?
        };
        Ok(NonNull::slice_from_raw_parts(memory, new.size()))
    }
}

impl FrameArena {
    /// Allocates raw memory. A refusal is not counted: the caller may try again with less, and calls
    /// [`count_refusal`](Self::count_refusal) in the end.
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

    /// Grows a block in place, or moves it. An error changes nothing, and is not counted.
    ///
    /// # Safety
    /// - the caller owns `block`, which has `old_bytes` and is aligned for `new`;
    /// - `new` is not smaller.
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
        // SAFETY: as above.
        unsafe { self.try_move_block(block, old_bytes, new) }
    }

    /// Grows a block that is the newest, if the active block of the store has the room.
    ///
    /// # Safety
    /// The caller owns `block`, which has `old_bytes`; `new_bytes` are not less, and the size of a
    /// valid `Layout`.
    #[inline(always)]
    pub(crate) unsafe fn grow_in_place(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
    ) -> Option<NonNull<u8>> {
        // A block of no bytes may happen to lie at the cursor; it grows there like any other.
        let newest = self.cursor.newest(block, old_bytes)?;
        if !self.cursor.has_room(newest, new_bytes) {
            return None;
        }
        self.cursor.resize(newest, old_bytes, new_bytes);
        Some(newest)
    }

    /// Gives back the end of a block, if it is the newest, and returns whether it is.
    ///
    /// # Safety
    /// The caller owns `block`, which has `old_bytes`; if this returns `true`, it has `new_bytes`,
    /// which are not more.
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
        // The period's end will not see how much there was.
        let used_bytes =
            self.chain.closed_bytes() + self.cursor.resize(newest, old_bytes, new_bytes);
        self.note_peak(used_bytes);
        true
    }

    /// Gives back a block, if it is the newest. Any other one stays until the recycle.
    ///
    /// # Safety
    /// The caller owns `block`, which has `bytes`, and does not use it again.
    #[inline]
    pub(crate) unsafe fn free_block(&self, block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller gives up the whole block.
        unsafe { self.shrink_block(block, bytes, 0) };
    }

    /// Copies the first `bytes` of `block` to a new place.
    ///
    /// # Safety
    /// `block` has `bytes` readable bytes, and `new` is at least as large.
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
        // - the new block is at least as large and was just allocated, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.as_ptr(), bytes) };
        Ok(moved)
    }
}

/// Unlike `is_multiple_of`, it knows that an alignment is a power of two and needs no division.
#[inline(always)]
fn is_aligned(block: NonNull<u8>, align: usize) -> bool {
    block.addr().get() & (align - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No container asks for this; the trait allows it.
    #[test]
    fn a_block_that_needs_a_larger_alignment_moves_unless_it_has_it() {
        let arena = &FrameArena::new(4096);
        let old = Layout::new::<[u64; 4]>();
        for (place, new_bytes) in [(8, 16), (8, 64), (64, 16), (64, 64)] {
            let place = Layout::from_size_align(8, place).expect("a valid layout");
            arena.try_alloc_layout(place).expect("room");
            let block = arena.allocate(old).expect("room").cast::<[u64; 4]>();
            // SAFETY: the block was just allocated for this type.
            unsafe { block.write([1, 2, 3, 4]) };
            let new = Layout::from_size_align(new_bytes, 64).expect("a valid layout");
            let resize = if new_bytes > old.size() {
                <&FrameArena as Allocator>::grow
            } else {
                <&FrameArena as Allocator>::shrink
            };
            // SAFETY: the block was allocated with `old` by this allocator.
            let moved = unsafe { resize(&arena, block.cast(), old, new) }.expect("room");
            assert_eq!(moved.len(), new_bytes);
            assert_eq!(moved.addr().get() % 64, 0);
            // SAFETY: at least two of the four words are left.
            assert_eq!(unsafe { moved.cast::<[u64; 2]>().read() }, [1, 2]);
        }
    }
}
