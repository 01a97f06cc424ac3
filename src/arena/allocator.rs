//! `&FrameArena` as the allocator of vectors, boxes and maps.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use allocator_api2::alloc::{AllocError, Allocator};

use super::slices::array_layout;
use super::{FrameArena, bump, poison};
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
        if let Some(block) = self.newest(block, layout.size()) {
            // The frame's end will not see how much there was.
            self.note_peak();
            self.resize_newest(block, layout.size(), 0);
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
        if let Some(block) = self.newest(block, old.size()) {
            self.note_peak();
            return Ok(self.resize_newest(block, old.size(), new.size()));
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
        if let Some(block) = self.newest(block, old_bytes)
            && bump::bump(block.addr().get(), self.end.get(), new.size(), 1).is_some()
        {
            return Ok(self.resize_newest(block, old_bytes, new.size()));
        }
        // SAFETY: the caller owns `block`, and `new` is not smaller.
        unsafe { self.move_block(block, old_bytes, new) }
    }

    /// The slow path of `allocate`, with an error that fits into a register.
    #[cold]
    #[inline(never)]
    fn allocate_elsewhere(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        self.take_elsewhere(layout).map_err(|error| {
            match self.refusals.get() {
                Refusals::Reported => report(error),
                Refusals::Kept(_) => self.refusals.set(Refusals::Kept(Some(error))),
            }
            AllocError
        })
    }

    /// Makes room in a vector of this arena: some to spare, or what is needed if that is too much.
    pub(crate) fn try_reserve<T>(
        &self,
        vec: &mut FrameVec<'_, T>,
        additional: usize,
    ) -> Result<(), ArenaError> {
        if self.with_reasons(|| vec.try_reserve(additional)).is_ok() {
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
        self.with_reasons(|| vec.try_reserve_exact(additional))
            .map_err(|reason| reason.unwrap_or(ArenaError::AllocationFailed { requested }))
    }

    /// Asks the arena through the allocator trait, and returns why it refused, if it did.
    fn with_reasons<E>(
        &self,
        ask: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), Option<ArenaError>> {
        self.refusals.set(Refusals::Kept(None));
        let asked = ask();
        match (asked, self.refusals.replace(Refusals::Reported)) {
            (Ok(()), _) => Ok(()),
            (Err(_), Refusals::Kept(reason)) => Err(reason),
            (Err(_), Refusals::Reported) => Err(None),
        }
    }

    /// Returns the block if it ends at the cursor, in the active chunk.
    ///
    /// Two chunks may lie side by side, so that a block at the end of one ends where the other
    /// begins: hence the look at the start. The pointer returned is made from the cursor, which
    /// may access the whole chunk; the caller's may access the block alone.
    #[inline]
    fn newest(&self, block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        let newest = self
            .cursor
            .load(Relaxed)
            .wrapping_sub(bump::round_up(bytes));
        let is_newest =
            newest.addr() == block.addr().get() && newest.addr() >= self.start.load(Relaxed).addr();
        // SAFETY: it has the address of `block`, which is not null.
        is_newest.then(|| unsafe { NonNull::new_unchecked(newest) })
    }

    /// Moves the cursor to the new end of a block that [`newest`](Self::newest) returned.
    #[inline]
    fn resize_newest(
        &self,
        block: NonNull<u8>,
        old_bytes: usize,
        new_bytes: usize,
    ) -> NonNull<[u8]> {
        let (old_step, new_step) = (bump::round_up(old_bytes), bump::round_up(new_bytes));
        let cursor = block.as_ptr().wrapping_add(new_step);
        self.cursor.store(cursor, Relaxed);
        poison::mark_dead(cursor, old_step.saturating_sub(new_step));
        poison::mark_live(block.as_ptr(), new_bytes);
        NonNull::slice_from_raw_parts(block, new_bytes)
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

/// What becomes of the reason why the arena refused a container, for which `AllocError` has no room.
#[derive(Clone, Copy)]
pub(super) enum Refusals {
    /// The container is about to fail, so it is logged.
    Reported,
    /// The arena itself asks, and takes it from here.
    Kept(Option<ArenaError>),
}

/// Says once why a container is about to fail.
#[cold]
fn report(error: ArenaError) {
    // Not a `Once`: a listener may panic, or fail to allocate and come here again.
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Relaxed) {
        tracing::error!("{error}");
    }
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
