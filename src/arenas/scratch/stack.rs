//! The scratch arenas of one thread, and which of them are free.
#![expect(unsafe_code, reason = "links arenas by raw pointers")]

use std::cell::Cell;
use std::mem;
use std::ptr::NonNull;

use crate::arena::{FrameArena, Returning};
use crate::panics::FirstPanic;
use crate::sites::SiteUsage;
use crate::stamp::{Stamp, UNSET};

type Link = Option<NonNull<Slot>>;

/// An arena, and its places in the lists of its stack.
pub(super) struct Slot {
    pub(super) arena: FrameArena,
    /// The next free slot; of no meaning while a guard has this one.
    next_free: Cell<Link>,
    /// The slot that was made before this one.
    made_before: Link,
    /// The stamp of the arena when it was last looked at.
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

/// The arenas of the thread that claimed the stack, until the period ends.
#[derive(Default)]
pub(super) struct Stack {
    free: Cell<Link>,
    last_made: Cell<Link>,
    made: Cell<usize>,
    /// The sum of the high watermarks of its arenas, as of the last end of a period.
    high_watermark_bytes: Cell<usize>,
}

// SAFETY: the slots are owned by the stack, and neither they nor the arenas in them have a thread
// affinity: an arena is `Send`.
unsafe impl Send for Stack {}

// SAFETY: through `&Stack`, threads that are not the owner reach nothing: the cells are used by
// unsafe methods that ask for the owner, or for the end of all claims.
unsafe impl Sync for Stack {}

impl Stack {
    /// Takes a free slot.
    ///
    /// # Safety
    /// The calling thread has claimed the stack.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Link {
        let slot = self.free.get()?;
        // SAFETY: slots live as long as their stack, and a free one is borrowed by nobody.
        let next = unsafe { slot.as_ref() }.next_free.get();
        self.free.set(next);
        Some(slot)
    }

    /// Makes a slot free.
    ///
    /// # Safety
    /// - The calling thread has claimed the stack;
    /// - `slot` is one of this stack, not free, and not used again by the caller.
    #[inline]
    pub(super) unsafe fn push(&self, slot: NonNull<Slot>) {
        // SAFETY: slots live as long as their stack, and the caller gives this one up.
        unsafe { slot.as_ref() }.next_free.set(self.free.get());
        self.free.set(Some(slot));
    }

    /// Adds a slot, and takes it.
    ///
    /// # Safety
    /// The calling thread has claimed the stack.
    pub(super) unsafe fn add(&self, slot: Slot) -> NonNull<Slot> {
        // The global allocator may take scratch meanwhile: the list is read after that.
        let mut slot = NonNull::from(Box::leak(Box::new(slot)));
        // SAFETY: it was just made, and nobody else knows it.
        unsafe { slot.as_mut() }.made_before = self.last_made.get();
        self.last_made.set(Some(slot));
        self.made.set(self.made.get() + 1);
        slot
    }

    /// Takes back what was forgotten, and returns by how much the sum of the high watermarks has
    /// risen. Who took them is added to `sites`.
    ///
    /// # Safety
    /// No thread uses the stack, and no guard of it lives: the caller holds the `&mut` of what
    /// lends the stacks.
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
            arena.sites().end_scratch_period(sites);
        });
        sum - self.high_watermark_bytes.replace(sum)
    }

    /// Gives the blocks of arenas back that were not used since the last call.
    ///
    /// # Safety
    /// As for [`end_period`](Self::end_period); all arenas must be empty.
    pub(super) unsafe fn give_idle_blocks(&self, to: &mut Returning<'_>) {
        self.for_each_slot(|mut slot| {
            // SAFETY: each slot comes once, lives as long as its stack, and no guard has it.
            let slot = unsafe { slot.as_mut() };
            // Each use of an arena ends with a reset, which gives it another stamp.
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
            // SAFETY: each slot comes once, lives as long as its stack, and no guard has it.
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

    /// Takes back the arenas of guards that were forgotten.
    ///
    /// # Safety
    /// As for [`end_period`](Self::end_period).
    #[cold]
    unsafe fn recover(&self, panic: &mut FirstPanic) {
        let mut free = None;
        self.for_each_slot(|mut link| {
            // SAFETY: each slot comes once; what borrowed a forgotten guard has ended with the
            // borrow of the arenas.
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
            // - it was leaked from a box in `add`;
            // - each is visited once, and the stack with its lists ends here.
            drop(unsafe { Box::from_raw(slot.as_ptr()) });
        });
    }
}
