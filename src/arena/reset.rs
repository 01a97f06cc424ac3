//! Making memory free: at the end of a period for reuse, and after a spike for good.
#![expect(unsafe_code, reason = "fills raw memory")]

use std::ptr;

use super::chain::Place;
use super::peaks::Trim;
use super::{FrameArena, poison};
use crate::panics::FirstPanic;
use crate::stamp::{self, Stamp};

/// What recycled memory is filled with, where the settings ask for it.
const FILL: u8 = 0xDD;

/// # Freeing everything
impl FrameArena {
    /// Frees everything at once and drops what was shared; the memory is kept for reuse.
    ///
    /// The cost does not depend on the number of allocations: with one chunk, it stores a
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
            let used_bytes = self.rewind(stamp);
            self.sites.note_peak(|| used_bytes);
        } else {
            self.reset_slow();
        }
    }

    /// Gives memory back that was not needed since the last trim.
    ///
    /// All of it, if none was used since then, or if the chunks were once filled beyond twice
    /// what was used since then (and a quarter more). The next allocation makes a single chunk of
    /// the size needed, though none below the capacity that the arena was made with. Call it on
    /// an empty arena; while memory is in use it does nothing.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArena;
    ///
    /// let mut arena = FrameArena::new(4096);
    /// arena.alloc_slice_fill_copy(1 << 20, 0_u8);
    /// arena.reset();
    /// arena.trim(); // the spike is still in the last period
    /// assert!(arena.capacity_bytes() > 1 << 20);
    /// arena.trim();
    /// assert_eq!(arena.capacity_bytes(), 0);
    /// ```
    pub fn trim(&mut self) {
        if self.used_bytes() == 0 {
            let verdict = self.peaks.decide();
            self.obey(verdict);
        }
    }

    /// Moves the window of peaks on, of an arena that was just recycled, and gives memory back that
    /// was not needed within it.
    pub(crate) fn step_trim(&mut self) {
        let verdict = self.peaks.step();
        self.obey(verdict);
    }

    /// Gives all memory back, of an arena that was just recycled.
    pub(crate) fn free_chunks(&mut self, expected_bytes: usize) {
        self.chain.clear(&mut self.cursor);
        self.growth.restart(expected_bytes);
        self.peaks.forget_touched();
        *self.has_large_first.get_mut() = false;
    }

    /// Ends a period: drops what was shared, and makes all memory free under a new stamp.
    #[inline]
    pub(crate) fn recycle(&mut self, stamp: Stamp, panic: &mut FirstPanic) {
        if *self.needs_cleanup.get_mut() {
            self.clean_up(panic);
        }
        self.rewind(stamp);
    }

    /// Runs the destructors of shared values.
    pub(crate) fn run_drops(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
    }

    /// Makes all memory free, where that takes no more than to move the cursor, and returns the bytes
    /// that were in use.
    #[inline]
    fn rewind(&mut self, stamp: Stamp) -> usize {
        debug_assert!(self.drops.is_empty() && self.chain.is_rewound());
        let used_bytes = self.cursor.rewind();
        self.peaks.end_period(used_bytes);
        self.stamp = stamp;
        used_bytes
    }

    #[cold]
    #[inline(never)]
    fn reset_slow(&mut self) {
        self.sites.note_peak(|| self.used_now());
        let mut panic = FirstPanic::default();
        self.recycle(stamp::after(self.stamp), &mut panic);
        panic.resume();
    }

    /// Drops what was shared, marks what was handed out, and returns to the first chunk.
    #[cold]
    #[inline(never)]
    fn clean_up(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
        self.peaks.note(self.used_now());
        self.mark_dead_since(Place::default());
        self.chain.rewind(&mut self.cursor);
        *self.needs_cleanup.get_mut() = marks_dead(self.fill_recycled);
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
                // SAFETY: these bytes of a chunk were handed out, and with `&mut self` nobody holds
                // any of them.
                unsafe { ptr::write_bytes(start, FILL, bytes) };
            }
            poison::mark_dead(start, bytes);
        };
        self.chain.for_each_used_since(place, &self.cursor, mark);
    }

    fn obey(&mut self, verdict: Trim) {
        if let Trim::Free { expected_bytes } = verdict {
            self.free_chunks(expected_bytes);
        }
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
                worker_capacity_bytes: 1024,
                fill_recycled,
                ..Default::default()
            });
            // The second one is in a chunk of its own.
            let dead = [(); 2].map(|()| NonNull::from(arena.alloc([1_u8; 1000])));
            arena.reset();
            for memory in dead {
                // SAFETY: a reset keeps the chunks, and the bytes were written.
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
                worker_capacity_bytes: 1024,
                fill_recycled,
                ..Default::default()
            });
            let kept = arena.share([2_u8; 8]);
            let dead = arena.scope(|scope| NonNull::from(scope.alloc([1_u8; 100])));
            // SAFETY: the end of a scope keeps the chunks, and the bytes were written.
            let bytes = unsafe { dead.read() };
            assert_eq!(bytes, [expected; 100]);
            assert_eq!(arena.get(kept), Some(&[2; 8]));
        }
    }

    #[test]
    fn overflows_are_counted_from_zero_after_a_trim() {
        let mut arena = FrameArena::new(128);
        arena.alloc_slice_fill_copy(if cfg!(miri) { 1 << 14 } else { 1 << 20 }, 0_u8);
        arena.reset();
        arena.trim();
        drop(arena.boxed([0_u8; 4096]));
        assert_eq!((arena.used_bytes(), arena.overflows()), (0, 1));
        arena.trim();
        arena.reset();
        assert_eq!(arena.overflows(), 0);
    }
}
