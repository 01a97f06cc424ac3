//! Making memory free: at the end of a frame for reuse, and after a spike for good.
#![expect(unsafe_code, reason = "fills raw memory")]

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

use super::{FrameArena, chain, nowhere, poison};
use crate::panics::FirstPanic;
use crate::settings::OverflowPolicy;
use crate::stamp::{self, Stamp};

/// Less memory than this is not worth giving back.
const MIN_TRIM_BYTES: usize = 64 << 10;

/// What recycled memory is filled with, where the settings ask for it.
const FILL: u8 = 0xDD;

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
    #[inline]
    pub fn reset(&mut self) {
        match stamp::next_in_block(self.stamp) {
            Some(stamp) if !*self.recycle_takes_work.get_mut() => self.rewind(stamp),
            _ => self.reset_with_work(),
        }
    }

    /// Gives memory back that was not needed since the last trim.
    ///
    /// All of it, if none was used since then, or if frames before that touched more than twice
    /// what was used since then, and a quarter. The next allocation makes a single chunk of the
    /// size needed, though none below the capacity that the arena was made with. Call it on an
    /// empty arena; while memory is in use it does nothing.
    pub fn trim(&mut self) {
        if self.used_bytes() > 0 {
            return;
        }
        let peak = self.window_peak_bytes.take();
        self.older_peak_bytes = self.older_peak_bytes.max(peak);
        self.touched_bytes = self.touched_bytes.max(peak);
        let needed = (peak + peak / 4).max(MIN_TRIM_BYTES);
        if peak == 0 || self.touched_bytes > 2 * needed {
            self.first_chunk_bytes = match self.overflow {
                OverflowPolicy::Grow if peak > 0 => self.worker_capacity_bytes.max(needed),
                _ => self.worker_capacity_bytes,
            };
            self.free_chunks();
        }
    }

    /// Ends a frame: drops what was shared, and makes all memory free under a new stamp.
    #[inline]
    pub(crate) fn recycle(&mut self, stamp: Stamp, panic: &mut FirstPanic) {
        if *self.recycle_takes_work.get_mut() {
            self.do_work_of_recycle(panic);
        }
        self.rewind(stamp);
    }

    /// Makes all memory free, where that takes no work.
    #[inline]
    fn rewind(&mut self, stamp: Stamp) {
        debug_assert!(self.drops.is_empty() && *self.active.get_mut() == 0);
        let start = *self.start.get_mut();
        let used = self.cursor.get_mut().addr() - start.addr();
        if used > *self.window_peak_bytes.get_mut() {
            *self.window_peak_bytes.get_mut() = used;
        }
        *self.cursor.get_mut() = start;
        self.stamp = stamp;
    }

    #[cold]
    #[inline(never)]
    fn reset_with_work(&mut self) {
        let mut panic = FirstPanic::default();
        self.recycle(stamp::after(self.stamp), &mut panic);
        panic.resume();
    }

    /// Runs the destructors of shared values.
    pub(crate) fn run_drops(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
    }

    /// Drops what was shared, marks what was handed out, and returns to the first chunk.
    #[cold]
    #[inline(never)]
    fn do_work_of_recycle(&mut self, panic: &mut FirstPanic) {
        self.drops.run(panic);
        self.note_peak();
        self.mark_dead();
        if *self.active.get_mut() > 0 {
            let first = &self.chunks.get_mut()[0];
            *self.start.get_mut() = first.start();
            *self.end.get_mut() = first.end_address();
            *self.active.get_mut() = 0;
            *self.closed_bytes.get_mut() = 0;
            *self.overflows.get_mut() = 0;
        }
        *self.cursor.get_mut() = *self.start.get_mut();
        *self.recycle_takes_work.get_mut() = marks_dead(self.fill_recycled);
    }

    /// Fills or poisons what was handed out, where somebody looks.
    fn mark_dead(&mut self) {
        if !marks_dead(self.fill_recycled) {
            return;
        }
        let active = self.active.get();
        let active_used = self.cursor.load(Relaxed).addr() - self.start.load(Relaxed).addr();
        for (index, chunk) in self.chunks.get_mut().iter().enumerate().take(active + 1) {
            let used = if index == active {
                active_used
            } else {
                chunk.used_bytes
            };
            poison::mark_live(chunk.start(), used);
            if self.fill_recycled {
                // SAFETY: `used` bytes of the chunk were handed out, and with `&mut self` nobody
                // holds any of them.
                unsafe { ptr::write_bytes(chunk.start(), FILL, used) };
            }
            poison::mark_dead(chunk.start(), used);
        }
    }

    /// Returns to the state before the first allocation.
    fn free_chunks(&mut self) {
        self.chunks.get_mut().clear();
        *self.cursor.get_mut() = nowhere();
        *self.start.get_mut() = nowhere();
        *self.end.get_mut() = nowhere().addr();
        *self.active.get_mut() = 0;
        *self.capacity_bytes.get_mut() = 0;
        *self.growth_bytes.get_mut() = chain::first_growth(self.first_chunk_bytes);
        *self.overflows.get_mut() = 0;
        self.touched_bytes = 0;
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

    #[test]
    fn overflows_are_counted_from_zero_after_a_trim() {
        let mut arena = FrameArena::new(128);
        arena.alloc_slice_fill_copy(1 << 20, 0_u8);
        arena.reset();
        arena.trim();
        drop(arena.boxed([0_u8; 4096]));
        assert_eq!((arena.used_bytes(), arena.overflows()), (0, 1));
        arena.trim();
        arena.reset();
        assert_eq!(arena.overflows(), 0);
    }
}
