//! `&FrameArena` as the allocator of vectors, boxes and maps.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use super::FrameArena;
use super::slices::array_layout;
use crate::containers::FrameVec;
use crate::error::ArenaError;

/// Grows, shrinks and frees in place where the block is the newest of its chunk.
///
/// Any other block stays where it is until the frame is recycled, so give a vector that grows
/// beside others its capacity beforehand.
// SAFETY:
// - a block stays valid while the arena is borrowed: moving on to another chunk keeps the old
//   ones, and recycling takes `&mut FrameArena`;
// - copies of the reference are the same arena.
unsafe impl Allocator for &FrameArena {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let memory = match self.take(layout.size(), layout.align()) {
            Some(memory) => memory,
            None => self.allocate_elsewhere(layout)?,
        };
        Ok(NonNull::slice_from_raw_parts(memory, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if let Some(block) = self.cursor.newest(block, layout.size()) {
            // The period's end will not see how much there was.
            self.peaks.note(self.used_now());
            self.cursor.resize(block, layout.size(), 0);
        }
    }

    #[inline(always)]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if new.align() > old.align() {
            // SAFETY: the caller owns `block`, and `new` is not smaller than `old`.
            return unsafe { self.move_block(block, old.size(), new) };
        }
        // SAFETY: as above, and `block` is aligned for `old`, so for `new`.
        unsafe { self.grow_block(block, old.size(), new) }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if !is_aligned(block, new.align()) {
            // SAFETY: the caller owns `block`, and `new` is not larger than `old`.
            return unsafe { self.move_block(block, new.size(), new) };
        }
        if let Some(newest) = self.cursor.newest(block, old.size()) {
            self.peaks.note(self.used_now());
            self.cursor.resize(newest, old.size(), new.size());
            return Ok(NonNull::slice_from_raw_parts(newest, new.size()));
        }
        Ok(NonNull::slice_from_raw_parts(block, new.size()))
    }
}

impl FrameArena {
    /// Grows a block in place, or moves it.
    ///
    /// It stays out of line so that a loop of pushes keeps its vector in registers.
    ///
    /// # Safety
    /// `block` has `old_bytes`, is aligned for `new` and not larger.
    #[cold]
    #[inline(never)]
    unsafe fn grow_block(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // A block of no bytes may happen to lie at the cursor; it grows there like any other.
        if let Some(newest) = self.cursor.newest(block, old_bytes)
            && self.cursor.has_room(newest, new.size())
        {
            self.cursor.resize(newest, old_bytes, new.size());
            return Ok(NonNull::slice_from_raw_parts(newest, new.size()));
        }
        // SAFETY: the caller owns `block`, and `new` is not smaller.
        unsafe { self.move_block(block, old_bytes, new) }
    }

    /// The slow path of `allocate`, with an error that fits into a register.
    #[cold]
    #[inline(never)]
    fn allocate_elsewhere(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.take_slow(layout).map_err(|error| {
            let _ = error;
            AllocError
        })
    }

    /// Makes room in a vector of this arena: some to spare, or what is needed if that is too much.
    pub(crate) fn try_reserve<T>(
        &self,
        vec: &mut FrameVec<'_, T>,
        additional: usize,
    ) -> Result<(), ArenaError> {
        if vec.try_reserve(additional).is_ok() {
            return Ok(());
        }
        self.try_reserve_exact(vec, additional)
    }

    /// Makes room in a vector of this arena, and no more than is needed.
    pub(crate) fn try_reserve_exact<T>(
        &self,
        vec: &mut FrameVec<'_, T>,
        additional: usize,
    ) -> Result<(), ArenaError> {
        let requested = array_layout::<T>(vec.len().saturating_add(additional))?.size();
        vec.try_reserve_exact(additional)
            .map_err(|_| ArenaError::AllocationFailed { requested })
    }

    /// Copies the first `bytes` of `block` to a new place.
    ///
    /// # Safety
    /// `block` has `bytes` readable bytes, and `new` is at least as large.
    #[cold]
    unsafe fn move_block(
        &self,
        block: NonNull<u8>,
        bytes: usize,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let moved = self.allocate(new)?;
        // SAFETY:
        // - the caller promises `bytes` readable bytes;
        // - the new block is at least as large and was just allocated, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.cast().as_ptr(), bytes) };
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
