//! Making memory free: at the end of a period for reuse, and after a spike for good.
#![expect(unsafe_code, reason = "fills raw memory")]

use std::ptr;

use super::chain::Place;
use super::store::{Returning, Window};
use super::{FrameArena, poison};
use crate::panics::FirstPanic;
use crate::stamp::{self, Stamp};

/// What recycled memory is filled with, where the settings ask for it.
const FILL: u8 = 0xDD;

/// # Freeing everything
impl FrameArena {
    /// Frees everything at once and drops what was shared; the memory is kept for reuse.
    ///
    /// The cost does not depend on the number of allocations: with one block, it stores a
    /// pointer. Only shared values with a destructor are visited (and, in debug builds, the
    /// memory is filled).
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

    /// Gives memory back that was not needed since the last trim, or since the arena was made.
    ///
    /// Call it on an empty arena now and then; while memory is in use it does nothing.
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

    /// Gives all blocks back to the store, of an arena in which nothing is left to drop.
    #[inline]
    pub(crate) fn give_blocks(&mut self, to: &mut Returning<'_>) {
        debug_assert!(self.drops.is_empty());
        if self.chain.held_bytes() > 0 {
            self.end_peak(self.used_now());
            self.mark_dead_since(Place::default());
            let take = |block| to.put(block);
            self.chain.give_all(&mut self.cursor, take);
            *self.needs_cleanup.get_mut() = marks_dead(self.fill_recycled);
        }
        self.cursor.forget_shared();
    }

    /// Gives all blocks back, like [`give_blocks`](Self::give_blocks).
    pub(super) fn give_all_blocks(&mut self) {
        let store = self.store.clone();
        self.give_blocks(&mut store.returning());
    }

    /// Whether something was shared in the arena since it last gave its blocks back.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.cursor.is_shared()
    }

    /// Whether shared values have destructors to run.
    #[inline]
    pub(crate) fn has_drops(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Runs the destructors of shared values.
    pub(crate) fn run_drops(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
    }

    /// Makes all memory free, where that takes no more than to move the cursor.
    #[inline]
    fn rewind(&mut self, stamp: Stamp) {
        debug_assert!(self.drops.is_empty() && !self.has_blocks_to_spare());
        let used_bytes = self.cursor.rewind();
        self.sites.note_peak(|| used_bytes);
        self.end_peak(used_bytes);
        self.stamp = stamp;
    }

    /// Whether the arena holds more than the first block that a reset keeps.
    #[inline]
    pub(super) fn has_blocks_to_spare(&self) -> bool {
        // Under a budget, several blocks may be smaller than one that is kept.
        self.chain.len() > 1 || self.chain.held_bytes() > self.kept_bytes
    }

    /// Drops what was shared, marks what was in use, and gives all blocks back but the first.
    #[cold]
    #[inline(never)]
    fn reset_slow(&mut self) {
        self.note_peak(self.used_now());
        let mut panic = FirstPanic::default();
        self.drops.run(&mut panic);
        self.mark_dead_since(Place::default());
        if self.has_blocks_to_spare() {
            let mut to = self.store.returning();
            let take = |block| to.put(block);
            self.chain
                .return_to_first(&mut self.cursor, self.limit_bytes, self.kept_bytes, take);
        }
        *self.needs_cleanup.get_mut() = marks_dead(self.fill_recycled);
        self.rewind(stamp::after(self.stamp));
        panic.resume();
    }

    /// Fills or poisons what was handed out since `place`, where somebody looks at it.
    ///
    /// It is about to be free: what was shared there is dropped, and no stamp leads to it.
    pub(super) fn mark_dead_since(&mut self, place: Place) {
        let fill = self.fill_recycled;
        if !marks_dead(fill) {
            return;
        }
        let mark = |start, bytes| {
            poison::mark_live(start, bytes);
            if fill {
                // SAFETY: these bytes of a block were allocated, and with `&mut self` nothing
                // borrows them.
                unsafe { ptr::write_bytes(start, FILL, bytes) };
            }
            poison::mark_dead(start, bytes);
        };
        self.chain.for_each_used_since(place, &self.cursor, mark);
    }
}

/// Whether somebody looks at recycled memory.
pub(super) const fn marks_dead(fill_recycled: bool) -> bool {
    fill_recycled || cfg!(frame_arena_asan) || cfg!(miri)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads dead memory on purpose, which a checker would rightly report.
    #[cfg(not(any(frame_arena_asan, miri)))]
    #[test]
    fn recycled_memory_is_filled_where_the_settings_ask_for_it() {
        use std::ptr::NonNull;

        use crate::settings::FrameArenaSettings;

        for (fill_recycled, expected) in [(true, FILL), (false, 1)] {
            let mut arena = FrameArena::with_settings(&FrameArenaSettings {
                block_bytes: 1024,
                fill_recycled,
                ..Default::default()
            });
            // The second one is in a block of its own.
            let dead = [(); 2].map(|()| NonNull::from(arena.alloc([1_u8; 1000])));
            arena.reset();
            for memory in dead {
                // SAFETY: the arena's store keeps the blocks, and the bytes were written.
                let bytes = unsafe { memory.read() };
                assert_eq!(bytes, [expected; 1000]);
            }
        }
    }

    /// As above.
    #[cfg(not(any(frame_arena_asan, miri)))]
    #[test]
    fn memory_of_a_scope_is_filled_where_the_settings_ask_for_it() {
        use std::ptr::NonNull;

        use crate::settings::FrameArenaSettings;

        for (fill_recycled, expected) in [(true, FILL), (false, 1)] {
            let mut arena = FrameArena::with_settings(&FrameArenaSettings {
                block_bytes: 1024,
                fill_recycled,
                ..Default::default()
            });
            let kept = arena.share([2_u8; 8]);
            let dead = arena.scope(|scope| NonNull::from(scope.alloc([1_u8; 100])));
            // SAFETY: the end of a scope keeps the block, and the bytes were written.
            let bytes = unsafe { dead.read() };
            assert_eq!(bytes, [expected; 100]);
            assert_eq!(arena.get(kept), Some(&[2; 8]));
        }
    }
}
