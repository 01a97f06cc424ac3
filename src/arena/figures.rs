//! What an arena says of its memory. Any thread may ask, also while the owner allocates.
#![forbid(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;

use super::FrameArena;

/// # Figures
impl FrameArena {
    /// Returns the bytes in use, with the padding between them.
    ///
    /// That is what was allocated since the last reset, less what was freed: the memory of a box or
    /// a vector that is dropped while nothing was allocated after it is free again.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 100]);
    /// assert_eq!(arena.used_bytes(), 104, "the cursor is a multiple of 8");
    /// ```
    pub fn used_bytes(&self) -> usize {
        // Another thread may read in the middle of a change of blocks; see `Cursor::used_bytes`.
        self.used_now().min(self.held_bytes())
    }

    /// Returns the bytes between the last allocation and the end of its block: what can be
    /// allocated before the arena takes another one.
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

    /// Returns the bytes of the blocks that the arena holds, with a header of 64 bytes for each.
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

    /// Returns the bytes of all blocks in the store of the arena, held or free: a standalone arena has
    /// a store to itself, and those of [`FrameArenas`](crate::FrameArenas) have one in common.
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

    /// Returns the most bytes that were in use at once since the last reset.
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

    /// Returns the peak as of the last time that memory was freed or a block was added.
    #[inline]
    pub(crate) fn noted_peak_bytes(&self) -> usize {
        self.peak_bytes.load(Relaxed)
    }

    /// Returns the most bytes that were in use at once, over all resets.
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

    /// Notes the bytes in use before some are freed, or when a block was added.
    #[inline(always)]
    pub(super) fn note_peak(&self, used_bytes: usize) {
        if used_bytes > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(used_bytes, Relaxed);
            // Here rather than at the end of each period, which has one thing less to look at.
            if used_bytes > self.highest_peak_bytes.load(Relaxed) {
                self.highest_peak_bytes.store(used_bytes, Relaxed);
            }
        }
        self.sites.note_peak(|| used_bytes);
    }

    /// Ends a period in which `used_bytes` were in use at the end.
    #[inline]
    pub(super) fn end_peak(&mut self, used_bytes: usize) {
        *self.peak_bytes.get_mut() = 0;
        let highest = self.highest_peak_bytes.get_mut();
        if used_bytes > *highest {
            *highest = used_bytes;
        }
    }
}
