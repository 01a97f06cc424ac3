//! `&FreeList` as the allocator of containers.
#![expect(unsafe_code, reason = "implements the unsafe trait `Allocator`")]

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};
use rlsf::GRANULARITY;

use super::{FreeList, HEADER_BYTES, Lists, Waiting};
use crate::error::ArenaError;

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
        if let Some(list) = self.quick(layout)
            && let Some(block) = list.get()
        {
            // SAFETY: just-freed blocks begin with it.
            list.set(unsafe { block.read() }.next);
            return Ok(NonNull::slice_from_raw_parts(block.cast(), layout.size()));
        }
        self.allocate_slowly(layout)
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if let Some(list) = self.quick(layout) {
            let block = self.with_access_to_all(block).cast();
            let next = list.replace(Some(block));
            // SAFETY:
            // - the caller gives up a block of this list, which no block is too small or misaligned for;
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
    /// Returns the list of just-freed blocks for a layout, if there is one: not for large blocks, nor
    /// those without bytes, nor those with more alignment than all have.
    #[inline(always)]
    fn quick(&self, layout: Layout) -> Option<&Cell<Option<NonNull<Waiting>>>> {
        if layout.size() == 0 || layout.align() > HEADER_BYTES {
            return None;
        }
        // The first has the blocks of one `GRANULARITY` with their header.
        self.state
            .quick
            .get((layout.size() + HEADER_BYTES - 1) / GRANULARITY)
    }

    /// Gives all just-freed blocks to the lists, which join them, and returns whether there were any.
    pub(super) fn join(&self) -> bool {
        let mut lists = self.state.lists.borrow_mut();
        let mut any = false;
        self.count(self.waiting_bytes(), 0);
        for list in &self.state.quick {
            while let Some(block) = list.get() {
                // SAFETY: just-freed blocks begin with it.
                list.set(unsafe { block.read() }.next);
                // SAFETY: it is in use for the lists, with an alignment that all blocks have.
                unsafe { lists.deallocate(block.cast(), 1) };
                any = true;
            }
        }
        any
    }

    /// Returns the bytes of all just-freed blocks.
    pub(super) fn waiting_bytes(&self) -> usize {
        let mut bytes = 0;
        for (list, block_bytes) in self
            .state
            .quick
            .iter()
            .zip((GRANULARITY..).step_by(GRANULARITY))
        {
            let mut next = list.get();
            while let Some(block) = next {
                // SAFETY: just-freed blocks begin with it.
                next = unsafe { block.read() }.next;
                bytes += block_bytes;
            }
        }
        bytes
    }

    /// Calls `take` with the lists, then with all just-freed blocks joined, then with more memory of
    /// the arena for `layout`, until it returns a block.
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
        // The sum does not wrap around: both are at most `isize::MAX`, or one more.
        let needed = layout.size() + layout.align();
        // As much as there is, so that regions are few; where that is too much, what is needed.
        let added = self
            .add_region(needed.max(self.capacity_bytes()))
            .or_else(|_| self.add_region(needed));
        let requested = layout.size();
        let found = added.and_then(|()| again().ok_or(ArenaError::AllocationFailed { requested }));
        found.map_err(|error| {
            self.state.last_error.set(Some(error));
            AllocError
        })
    }

    #[cold]
    #[inline(never)]
    fn allocate_slowly(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(no_bytes(layout));
        }
        let block = self.find(layout, |lists| lists.allocate(layout))?;
        self.count(0, charge(layout));
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    /// # Safety
    /// As for [`Allocator::deallocate`].
    #[inline(never)]
    unsafe fn deallocate_slowly(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() == 0 {
            return;
        }
        let block = self.with_access_to_all(block);
        let mut lists = self.state.lists.borrow_mut();
        // SAFETY: the caller gives up a block of this list, which has this layout.
        unsafe { lists.deallocate(block, layout.align()) };
        self.count(charge(layout), 0);
    }

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
        let resized = self.find(new, |lists| {
            // SAFETY: the caller owns the block, which has the alignment of `new`. It is resized once:
            // a call that returns nothing changes nothing.
            unsafe { lists.reallocate(block, new) }
        })?;
        self.count(charge(old), charge(new));
        Ok(NonNull::slice_from_raw_parts(resized, new.size()))
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

    #[inline]
    fn count(&self, gone_bytes: usize, new_bytes: usize) {
        let taken = &self.state.taken_bytes;
        taken.set(taken.get() - gone_bytes + new_bytes);
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
