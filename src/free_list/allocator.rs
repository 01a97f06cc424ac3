//! `&FreeList` as the allocator of containers.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};
use rlsf::GRANULARITY;

use super::{FreeList, HEADER_BYTES, Lists, Waiting};

/// For containers that take an allocator, e.g. those of hashbrown. Blocks grow and shrink in place if
/// their neighbours allow it.
// SAFETY:
// - a block lies in memory of the arena, which the list borrows, and is in no list of free blocks until
//   it is deallocated. It stays valid while the list is borrowed, even if the owner of the reference
//   moves;
// - copies of the reference are the same allocator;
// - the list is not `Sync`, and no code that runs while the lists are changed can reach them again.
unsafe impl Allocator for &FreeList<'_> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if let Some(block) = self.quick(layout).and_then(pop) {
            return Ok(NonNull::slice_from_raw_parts(block, layout.size()));
        }
        self.allocate_slowly(layout)
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if let Some(list) = self.quick(layout) {
            let block = self.with_access_to_all(block).cast();
            let next = list.replace(Some(block));
            // SAFETY:
            // - the caller gives up a block of this list, and every block has room and alignment for a
            //   `Waiting`;
            // - the pointer may access all of it.
            unsafe { block.write(Waiting { next }) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.deallocate_slowly(block, layout) };
        }
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
    /// Returns the list of freed small blocks for a layout. There is none for large blocks, blocks
    /// without bytes, and alignments that not all blocks have.
    #[inline(always)]
    fn quick(&self, layout: Layout) -> Option<&Cell<Option<NonNull<Waiting>>>> {
        if layout.size() == 0 || layout.align() > HEADER_BYTES {
            return None;
        }
        // The first list has the blocks that take one `GRANULARITY` with their header.
        self.state
            .quick
            .get((layout.size() + HEADER_BYTES - 1) / GRANULARITY)
    }

    /// Deallocates all freed small blocks in TLSF, which joins them. Returns whether there were any.
    pub(super) fn join(&self) -> bool {
        let mut lists = self.state.lists.borrow_mut();
        let mut any = false;
        for list in &self.state.quick {
            while let Some(block) = pop(list) {
                // SAFETY: TLSF counts the block as allocated, and all blocks have this alignment.
                unsafe { lists.deallocate(block, 1) };
                any = true;
            }
        }
        any
    }

    /// Calls `take` with the lists until it returns a block: at first, after joining all freed small
    /// blocks, and after adding memory from the arena for `layout`.
    fn find(
        &self,
        layout: Layout,
        take: impl Fn(&mut Lists<'_>) -> Option<NonNull<u8>>,
    ) -> Result<NonNull<u8>, AllocError> {
        let again = || take(&mut self.state.lists.borrow_mut());
        if let Some(block) = again() {
            return Ok(block);
        }
        if self.join()
            && let Some(block) = again()
        {
            return Ok(block);
        }
        // The sum does not wrap around: the size is at most `isize::MAX`, and the alignment at most one
        // more.
        let needed = layout.size() + layout.align();
        // At least the current capacity, so that regions are few; if the arena refuses that, only the
        // needed bytes.
        let added = self
            .add_region(needed.max(self.capacity_bytes()))
            .or_else(|_| self.add_region(needed));
        added.map_err(|_| AllocError)?;
        again().ok_or(AllocError)
    }

    #[cold]
    #[inline(never)]
    fn allocate_slowly(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(NonNull::slice_from_raw_parts(layout.dangling_ptr(), 0));
        }
        let block = self.find(layout, |lists| lists.allocate(layout))?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    /// # Safety
    /// The same as for [`Allocator::deallocate`].
    #[inline(never)]
    unsafe fn deallocate_slowly(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() == 0 {
            return;
        }
        let block = self.with_access_to_all(block);
        let mut lists = self.state.lists.borrow_mut();
        // SAFETY: the caller gives up a block of this list, which has this layout.
        unsafe { lists.deallocate(block, layout.align()) };
    }

    /// Resizes a block in place or by moving it. On an error the block is unchanged.
    ///
    /// # Safety
    /// The caller must own `block`, which must have the layout `old`. If a block is returned, the caller
    /// must not use the old one again.
    unsafe fn resize(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // TLSF supports neither blocks without bytes nor a change of alignment.
        if old.size() == 0 || new.size() == 0 || old.align() != new.align() {
            // SAFETY: the caller's promise.
            return unsafe { self.replace(block, old, new) };
        }
        let block = self.with_access_to_all(block);
        let resized = self.find(new, |lists| {
            // SAFETY: the caller owns the block, which has the alignment of `new`. It is resized once:
            // a call that returns nothing changes nothing.
            unsafe { lists.reallocate(block, new) }
        })?;
        Ok(NonNull::slice_from_raw_parts(resized, new.size()))
    }

    /// Copies a block to a new one and deallocates the old one.
    ///
    /// # Safety
    /// The same as for [`resize`](Self::resize).
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
        // - the caller owns the old block, and both blocks have at least `bytes` bytes;
        // - the new block was just allocated, so they do not overlap.
        unsafe { ptr::copy_nonoverlapping(block.as_ptr(), moved.cast().as_ptr(), bytes) };
        // SAFETY: the caller's promise; the old block is not used again.
        unsafe { self.deallocate(block, old) };
        Ok(moved)
    }

    /// Returns a pointer to the same block that may access its whole region. The owner's pointer may
    /// access neither the header nor the neighbours.
    #[inline(always)]
    fn with_access_to_all(&self, block: NonNull<u8>) -> NonNull<u8> {
        let mut region = self.state.newest.get();
        while let Some(start) = region {
            // SAFETY: each region begins with its head.
            let head = unsafe { start.read() };
            if block.addr().get().wrapping_sub(start.addr().get()) < head.bytes {
                return start.cast().with_addr(block.addr());
            }
            region = head.older;
        }
        unreachable!("each block is in a region")
    }
}

/// Takes the first block off a list of freed small blocks.
#[inline(always)]
fn pop(list: &Cell<Option<NonNull<Waiting>>>) -> Option<NonNull<u8>> {
    let block = list.get()?;
    // SAFETY: a freed small block begins with a `Waiting`.
    list.set(unsafe { block.read() }.next);
    Some(block.cast())
}
