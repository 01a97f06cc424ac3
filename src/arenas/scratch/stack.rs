//! The scratch arenas of one thread, and the list of free ones.
#![expect(unsafe_code, reason = "links arenas by raw pointers")]

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use crate::arena::{FrameArena, Returning};
use crate::panics::FirstPanic;
use crate::sites::SiteUsage;
use crate::stamp::{Stamp, UNSET};

type Link = Option<NonNull<Slot>>;

/// An arena, and its links in the lists of its stack.
pub(super) struct Slot {
    pub(super) arena: FrameArena,
    /// The next free slot. It is meaningless while a guard has this one.
    next_free: Cell<Link>,
    /// The slot that was made before this one.
    made_before: Link,
    /// The stamp of the arena at the last call of [`give_idle_blocks`](Stack::give_idle_blocks).
    last_stamp: Stamp,
}

impl Slot {
    pub(super) fn new(arena: FrameArena) -> Self {
        Self {
            arena,
            next_free: Cell::new(None),
            made_before: None,
            last_stamp: UNSET,
        }
    }
}

/// The scratch arenas of the thread that has claimed the stack. The claim ends with the period.
#[derive(Default)]
pub(super) struct Stack {
    free: Cell<Link>,
    last_made: Cell<Link>,
    made: Cell<usize>,
    /// The sum of the high watermarks of its arenas at the end of the last period.
    high_watermark_bytes: Cell<usize>,
}

// SAFETY: the stack owns its slots, and neither they nor their arenas have thread affinity: an arena is
// `Send`.
unsafe impl Send for Stack {}

// SAFETY: through `&Stack`, threads other than the owner reach nothing: other modules can use the cells only
// through unsafe methods, which require that the caller is the owner or that no thread uses the stack.
unsafe impl Sync for Stack {}

impl Stack {
    /// Takes a free slot.
    ///
    /// # Safety
    /// The calling thread must have claimed the stack.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Link {
        let slot = self.free.get()?;
        // SAFETY: slots live as long as their stack, and a free one is not borrowed.
        let next = unsafe { slot.as_ref() }.next_free.get();
        self.free.set(next);
        Some(slot)
    }

    /// Adds a slot to the free ones.
    ///
    /// # Safety
    /// - The calling thread must have claimed the stack;
    /// - `slot` must belong to this stack, must not be free, and must not be used again by the caller.
    #[inline]
    pub(super) unsafe fn push(&self, slot: NonNull<Slot>) {
        // SAFETY: slots live as long as their stack, and the caller gives this one up.
        unsafe { slot.as_ref() }.next_free.set(self.free.get());
        self.free.set(Some(slot));
    }

    /// Adds a new slot and returns it. It is not free before it is pushed.
    ///
    /// # Safety
    /// The calling thread must have claimed the stack.
    pub(super) unsafe fn add(&self, slot: Slot) -> NonNull<Slot> {
        // The global allocator may itself take scratch, so the list is read after the allocation.
        let mut slot = NonNull::from(Box::leak(Box::new(slot)));
        // SAFETY: the slot was just made, and nothing else refers to it.
        unsafe { slot.as_mut() }.made_before = self.last_made.get();
        self.last_made.set(Some(slot));
        self.made.set(self.made.get() + 1);
        slot
    }

    /// Recovers the arenas of forgotten guards, and adds the sites that took scratch to `sites`. Returns the
    /// increase of the sum of high watermarks.
    ///
    /// # Safety
    /// No thread may use the stack, and no guard of it may live: the caller must hold the `&mut` of the
    /// `ScratchStore`.
    pub(super) unsafe fn end_period(
        &self,
        sites: &mut Vec<SiteUsage>,
        panic: &mut FirstPanic,
    ) -> usize {
        // SAFETY: the caller promises that no guard lives.
        if unsafe { self.count_free() } != self.made.get() {
            // SAFETY: as above.
            unsafe { self.recover(panic) };
        }
        let mut sum = 0;
        self.for_each_slot(|slot| {
            // SAFETY: slots live as long as their stack, and no guard has one.
            let arena = &unsafe { slot.as_ref() }.arena;
            sum += arena.high_watermark_bytes();
            arena.sites().end_period(None, sites);
        });
        sum - self.high_watermark_bytes.replace(sum)
    }

    /// Gives back the blocks of arenas that were not used since the last call.
    ///
    /// # Safety
    /// As for [`end_period`](Self::end_period). In addition, all arenas must be empty.
    pub(super) unsafe fn give_idle_blocks(&self, to: &mut Returning<'_>) {
        self.for_each_slot(|mut slot| {
            // SAFETY: each slot is visited once, lives as long as its stack, and no guard has it.
            let slot = unsafe { slot.as_mut() };
            // Each use of an arena ends with a reset, which changes its stamp.
            let stamp = slot.arena.stamp();
            if mem::replace(&mut slot.last_stamp, stamp) == stamp {
                slot.arena.give_blocks(to);
            }
        });
    }

    /// Calls `work` with each arena.
    ///
    /// # Safety
    /// As for [`end_period`](Self::end_period).
    pub(super) unsafe fn for_each_arena(&self, mut work: impl FnMut(&mut FrameArena)) {
        self.for_each_slot(|mut slot| {
            // SAFETY: each slot is visited once, lives as long as its stack, and no guard has it.
            work(&mut unsafe { slot.as_mut() }.arena);
        });
    }

    /// # Safety
    /// As for [`end_period`](Self::end_period).
    unsafe fn count_free(&self) -> usize {
        let mut count = 0;
        let mut next = self.free.get();
        while let Some(slot) = next {
            count += 1;
            // SAFETY: slots live as long as their stack, and no guard has one.
            next = unsafe { slot.as_ref() }.next_free.get();
        }
        count
    }

    /// Resets all arenas and makes their slots free, including those of forgotten guards.
    ///
    /// # Safety
    /// As for [`end_period`](Self::end_period).
    #[cold]
    unsafe fn recover(&self, panic: &mut FirstPanic) {
        let mut free = None;
        self.for_each_slot(|mut link| {
            // SAFETY: each slot is visited once, and all borrows of a forgotten guard ended with the borrow
            // of the arenas.
            let slot = unsafe { link.as_mut() };
            panic.catch(|| slot.arena.reset());
            slot.next_free.set(free);
            free = Some(link);
        });
        self.free.set(free);
    }

    fn for_each_slot(&self, mut work: impl FnMut(NonNull<Slot>)) {
        let mut next = self.last_made.get();
        while let Some(slot) = next {
            // SAFETY: slots live as long as their stack. A guard may have it, but this field is
            // not written after the slot was made.
            next = unsafe { slot.as_ref() }.made_before;
            work(slot);
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.for_each_slot(|slot| {
            // SAFETY:
            // - `add` leaked the slot from a box;
            // - each slot is visited once, and the stack ends here with its lists.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        });
    }
}
