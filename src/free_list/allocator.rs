//! `&FreeList` as the allocator of containers.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};
use rlsf::GRANULARITY;

use super::{FreeList, HEADER_BYTES};

/// For containers that take an allocator, like those of hashbrown: blocks grow and shrink in place
/// where their neighbours allow it.
// SAFETY:
// - a block lies in memory of an arena that the list borrows, and is in no list of free blocks until
//   it is given back: it stays valid while the list is borrowed, however the list's owner moves;
// - copies of the reference are the same list;
// - the list is not `Sync`, and nothing that runs while the lists are changed can reach it again.
unsafe impl Allocator for &FreeList<'_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(no_bytes(layout));
        }
        let block = self.lists.borrow_mut().allocate(layout).ok_or(AllocError)?;
        self.count(0, charge(layout));
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() == 0 {
            return;
        }
        let block = self.with_access_to_all(block);
        // SAFETY: the caller gives up a block of this list, which has this layout.
        unsafe { self.lists.borrow_mut().deallocate(block, layout.align()) };
        self.count(charge(layout), 0);
    }

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller owns the block, which has the layout `old`.
        unsafe { self.resize(block, old, new) }
    }

    #[inline]
    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller owns the block, which has the layout `old`.
        unsafe { self.resize(block, old, new) }
    }
}

impl FreeList<'_> {
    /// Gives a block another size, in place or by moving it. An error changes nothing.
    ///
    /// # Safety
    /// The caller owns `block`, which has the layout `old`, and goes on with what is returned, if
    /// anything is.
    unsafe fn resize(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // The lists know no blocks without bytes, and none that change their alignment.
        if old.size() == 0 || new.size() == 0 || old.align() != new.align() {
            // SAFETY: the caller's promise.
            return unsafe { self.replace(block, old, new) };
        }
        let block = self.with_access_to_all(block);
        // SAFETY: the caller owns the block, which has the alignment of `new`.
        let resized = unsafe { self.lists.borrow_mut().reallocate(block, new) };
        let block = resized.ok_or(AllocError)?;
        self.count(charge(old), charge(new));
        Ok(NonNull::slice_from_raw_parts(block, new.size()))
    }

    /// Copies a block to a new one, and gives it back.
    ///
    /// # Safety
    /// As for [`resize`](Self::resize).
    #[cold]
    unsafe fn replace(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let moved = self.allocate(new)?;
        let bytes = old.size().min(new.size());
        // SAFETY:
        // - the caller owns a block of at least so many bytes, and the new one has as many;
        // - it was just allocated, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.cast().as_ptr(), bytes) };
        // SAFETY: the caller's promise; the old block is not used again.
        unsafe { self.deallocate(block, old) };
        Ok(moved)
    }

    /// Returns a pointer to the same block that may access its header and neighbours, which the
    /// owner's may not.
    #[inline]
    fn with_access_to_all(&self, block: NonNull<u8>) -> NonNull<u8> {
        self.region.with_addr(block.addr())
    }

    #[inline]
    fn count(&self, gone_bytes: usize, new_bytes: usize) {
        self.used_bytes
            .set(self.used_bytes.get() - gone_bytes + new_bytes);
    }
}

/// Returns the most bytes that a block of this layout takes: what the lists look for.
#[inline]
fn charge(layout: Layout) -> usize {
    let padding = layout.align().saturating_sub(HEADER_BYTES);
    // It was, or will be, found in the lists, so the sum does not wrap around.
    (layout.size() + padding + HEADER_BYTES).next_multiple_of(GRANULARITY)
}

fn no_bytes(layout: Layout) -> NonNull<[u8]> {
    NonNull::slice_from_raw_parts(
        NonNull::without_provenance(
            layout
                .align()
                .try_into()
                .expect("an alignment is never zero"),
        ),
        0,
    )
}
