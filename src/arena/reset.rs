//! Freeing memory: for reuse at the end of a period, and for good after a spike.
#![expect(unsafe_code, reason = "fills raw memory")]

use std::{mem, ptr};

use super::free::Window;
use super::store::Returning;
use super::store_of::StoreOf;
use super::{FrameArena, poison};
use crate::panics::FirstPanic;
use crate::stamp::{self, Stamp};

/// The byte that recycled memory is filled with if `fill_recycled` is set.
const FILL: u8 = 0xDD;

/// # Freeing everything
impl FrameArena {
    /// Frees everything at once and drops shared values. The memory is kept for reuse.
    ///
    /// The cost does not depend on the number of allocations: with one block, it is one pointer store. Only
    /// shared values with a destructor are visited. By default, debug builds also fill the memory.
    ///
    /// # Panics
    /// If the destructor of a shared value panics. All others have run by then, and the arena is
    /// empty and usable.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let mut arena = FrameArena::new(4096);
    /// let name = arena.share_str("Ferris");
    /// arena.reset();
    /// assert_eq!(arena.used_bytes(), 0);
    /// assert_eq!(arena.get(name), None);
    /// ```
    #[inline]
    pub fn reset(&mut self) {
        if *self.needs_cleanup.get_mut() {
            self.reset_slow();
        } else if let Some(stamp) = stamp::next_in_block(self.stamp) {
            self.rewind(stamp);
        } else {
            self.reset_slow();
        }
    }

    /// Gives back memory that was not needed since the last trim, or since the arena was created.
    ///
    /// Call it now and then on an empty arena. It does nothing while memory is in use.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let mut arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 1000]);
    /// arena.reset();
    /// arena.trim(); // was needed since the arena was made
    /// assert!(arena.reserved_bytes() > 0);
    /// arena.trim();
    /// assert_eq!(arena.reserved_bytes(), 0);
    /// ```
    pub fn trim(&mut self) {
        if self.used_now() == 0 {
            self.give_all_blocks();
            let _freed_bytes = self.store.step_trim(Window::of(1));
        }
    }

    /// Gives all blocks back to the store.
    ///
    /// Nothing may be left to drop. The stamp stays unchanged, so no handle to the blocks may resolve
    /// afterwards. (In scratch, the slot of a forgotten guard is unreachable until it is recovered, which
    /// changes the stamp.)
    #[inline]
    pub(crate) fn give_blocks(&mut self, to: &mut Returning<'_>) {
        debug_assert!(self.drops.is_empty());
        if self.chain.held_bytes() > 0 {
            let used_bytes = self.chain.closed_bytes() + self.cursor.used_by_owner();
            self.end_peak(used_bytes);
            self.mark_dead();
            let take = |block| to.put(block);
            self.chain.give_all(&mut self.cursor, take);
            *self.needs_cleanup.get_mut() = marks_dead(self.fill_recycled);
        }
        self.cursor.forget_shared();
    }

    /// Gives all blocks back to the arena's own store, like [`give_blocks`](Self::give_blocks).
    pub(super) fn give_all_blocks(&mut self) {
        // Moved out to be borrowed beside `self`. `give_blocks` does not use the field.
        let store = mem::replace(&mut self.store, StoreOf::One(Vec::new()));
        self.give_blocks(&mut store.returning());
        self.store = store;
    }

    /// Whether something was shared in the arena since it last gave its blocks back.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.cursor.is_shared()
    }

    /// Whether destructors of shared values are still to run.
    #[inline]
    pub(crate) fn has_drops(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Runs the destructors of shared values.
    pub(crate) fn run_drops(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
    }

    /// Frees all memory by moving the cursor. Nothing else may need cleaning up.
    #[inline]
    fn rewind(&mut self, stamp: Stamp) {
        debug_assert!(self.drops.is_empty() && !self.has_blocks_to_spare());
        let used_bytes = self.cursor.rewind();
        self.sites.note_peak(|| used_bytes);
        self.end_peak(used_bytes);
        self.stamp = stamp;
    }

    /// Whether the arena holds more than the block that a reset keeps.
    #[inline]
    pub(super) fn has_blocks_to_spare(&self) -> bool {
        // Under a budget, several blocks together may have fewer than `hot_bytes`.
        self.chain.len() > 1 || self.chain.held_bytes() > self.hot_bytes
    }

    /// Drops shared values, marks used memory as dead, and gives back all blocks except one.
    #[cold]
    #[inline(never)]
    fn reset_slow(&mut self) {
        self.note_peak(self.used_now());
        let mut panic = FirstPanic::default();
        self.drops.run(&mut panic);
        self.mark_dead();
        if self.has_blocks_to_spare() {
            let mut to = self.store.returning();
            let take = |block| to.put(block);
            self.chain
                .return_to_one(&mut self.cursor, self.limit_bytes, self.hot_bytes, take);
        }
        *self.needs_cleanup.get_mut() = marks_dead(self.fill_recycled);
        self.rewind(stamp::after(self.stamp));
        panic.resume();
    }

    /// Fills or poisons used memory, if the settings or a memory checker ask for it.
    ///
    /// The memory is about to be free: its shared values must have been dropped, and no handle to it may
    /// resolve afterwards.
    #[inline]
    fn mark_dead(&mut self) {
        if marks_dead(self.fill_recycled) {
            self.mark_dead_slow();
        }
    }

    #[cold]
    #[inline(never)]
    fn mark_dead_slow(&mut self) {
        let fill = self.fill_recycled;
        let mark = |start, bytes| {
            poison::mark_live(start, bytes);
            if fill {
                // SAFETY: these bytes of a block were allocated, and with `&mut self` nothing
                // borrows them.
                unsafe { ptr::write_bytes(start, FILL, bytes) };
            }
            poison::mark_dead(start, bytes);
        };
        self.chain.for_each_used(&self.cursor, mark);
    }
}

/// Whether recycled memory is filled, or poisoned for a memory checker.
pub(super) const fn marks_dead(fill_recycled: bool) -> bool {
    fill_recycled || cfg!(frame_arena_asan) || cfg!(miri)
}

#[cfg(all(test, not(any(frame_arena_asan, miri))))]
mod tests {
    use std::ptr::NonNull;

    use super::*;
    use crate::settings::FrameArenaSettings;

    /// Reads dead memory on purpose, which a checker would rightly report.
    #[test]
    fn recycled_memory_is_filled_where_the_settings_ask_for_it() {
        for (fill_recycled, expected) in [(true, FILL), (false, 1)] {
            let mut arena = FrameArena::with_settings(&FrameArenaSettings {
                block_bytes: 1024,
                fill_recycled,
                ..Default::default()
            });
            // The second array is in a block of its own.
            let dead = [(); 2].map(|()| NonNull::from(arena.alloc([1_u8; 1000])));
            arena.reset();
            for memory in dead {
                // SAFETY: the arena's store keeps the blocks, and the bytes were written.
                let bytes = unsafe { memory.read() };
                assert_eq!(bytes, [expected; 1000]);
            }
        }
    }
}
