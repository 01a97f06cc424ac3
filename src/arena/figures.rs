//! The figures of an arena. Other threads may read all but `block_remaining_bytes` while the owner allocates.
#![forbid(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;

use super::FrameArena;
use crate::figures::Figures;

/// # Figures
impl FrameArena {
    /// Returns the bytes in use, including padding.
    ///
    /// These are the allocations since the last reset, less the freed ones. A dropped box or vector frees its
    /// memory if nothing was allocated after it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 100]);
    /// assert_eq!(arena.used_bytes(), 104, "the cursor is a multiple of 8");
    /// ```
    pub fn used_bytes(&self) -> usize {
        // Another thread may read during a change of blocks: see `Cursor::used_bytes`.
        self.used_now().min(self.held_bytes())
    }

    /// Returns the bytes that can be allocated before the arena takes another block.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u64; 12]);
    /// assert_eq!(arena.block_remaining_bytes(), 4000);
    /// ```
    pub fn block_remaining_bytes(&self) -> usize {
        self.cursor.remaining_bytes()
    }

    /// Returns the bytes of the blocks that the arena holds, including a header of 64 bytes for each.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(arena.held_bytes(), 64 + 4096);
    /// arena.alloc([0_u8; 5000]);
    /// assert!(arena.held_bytes() > 4096 + 5000);
    /// ```
    pub fn held_bytes(&self) -> usize {
        self.chain.held_bytes()
    }

    /// Returns the bytes of all blocks in the arena's store, held or free. A standalone arena has a store of
    /// its own, and the arenas of [`FrameArenas`](crate::FrameArenas) share one.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let mut arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 5000]);
    /// let reserved_bytes = arena.reserved_bytes();
    /// arena.reset();
    /// assert_eq!(arena.held_bytes(), 64 + 4096);
    /// assert_eq!(arena.reserved_bytes(), reserved_bytes, "kept for reuse");
    /// ```
    pub fn reserved_bytes(&self) -> usize {
        self.store.memory().reserved_bytes
    }

    /// Returns the most bytes in use at once since the last reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// drop(arena.boxed([0_u8; 1000]));
    /// assert_eq!((arena.used_bytes(), arena.peak_bytes()), (0, 1000));
    /// ```
    pub fn peak_bytes(&self) -> usize {
        self.used_bytes().max(self.noted_peak_bytes())
    }

    /// Returns the recorded peak, which is updated when memory is freed.
    #[inline]
    pub(crate) fn noted_peak_bytes(&self) -> usize {
        self.peak_bytes.load(Relaxed)
    }

    /// Returns the most bytes in use at once, over all resets.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let mut arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 1000]);
    /// arena.reset();
    /// assert_eq!((arena.peak_bytes(), arena.high_watermark_bytes()), (0, 1000));
    /// ```
    pub fn high_watermark_bytes(&self) -> usize {
        self.peak_bytes().max(self.highest_peak_bytes.load(Relaxed))
    }

    /// Records the bytes in use, before some are freed.
    #[inline(always)]
    pub(super) fn note_peak(&self, used_bytes: usize) {
        if used_bytes > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(used_bytes, Relaxed);
            // Updated here, so that the end of a period need not look at the peak.
            if used_bytes > self.highest_peak_bytes.load(Relaxed) {
                self.highest_peak_bytes.store(used_bytes, Relaxed);
            }
        }
        self.sites.note_peak(|| used_bytes);
    }

    /// Returns the exact figures of a period that ends.
    #[inline(always)]
    pub(crate) fn measure(&mut self) -> Figures {
        let used_bytes = self.chain.closed_bytes() + self.cursor.used_by_owner();
        Figures {
            used_bytes,
            peak_bytes: used_bytes.max(self.noted_peak_bytes()),
            held_bytes: self.chain.held_bytes(),
            ..Figures::default()
        }
    }

    /// Resets the peak at the end of a period. `used_bytes` are in use at that time.
    #[inline]
    pub(super) fn end_peak(&mut self, used_bytes: usize) {
        *self.peak_bytes.get_mut() = 0;
        let highest = self.highest_peak_bytes.get_mut();
        if used_bytes > *highest {
            *highest = used_bytes;
        }
    }
}
