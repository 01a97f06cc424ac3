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
        // Another thread may read in the middle of a change of chunks; see `Cursor::used_bytes`.
        self.used_now().min(self.capacity_bytes())
    }

    /// Returns the bytes between the last allocation and the end of its chunk: what can be
    /// allocated before the arena moves on to another one.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u64; 12]);
    /// assert_eq!(arena.chunk_remaining_bytes(), 4000);
    /// ```
    pub fn chunk_remaining_bytes(&self) -> usize {
        self.cursor.remaining_bytes()
    }

    /// Returns the bytes of all chunks.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 5000]);
    /// assert!(arena.capacity_bytes() >= 4096 + 5000);
    /// ```
    pub fn capacity_bytes(&self) -> usize {
        self.chain.capacity_bytes()
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
        self.used_bytes().max(self.peaks.period())
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
        self.peak_bytes().max(self.peaks.highest())
    }

    /// Returns how often the planned first chunk was not enough since the last reset: chunks beyond
    /// it, and itself if a single allocation had made it larger than planned.
    ///
    /// An overflow is no error. It costs some hundred instructions, and says that
    /// [`worker_capacity_bytes`](crate::FrameArenaSettings::worker_capacity_bytes) could be larger.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// arena.alloc([0_u8; 4096]);
    /// assert_eq!(arena.overflows(), 0);
    /// arena.alloc(1);
    /// assert_eq!(arena.overflows(), 1);
    /// ```
    pub fn overflows(&self) -> u32 {
        let is_beyond_plan = || self.peak_bytes() > self.growth.first_bytes();
        let first = self.has_large_first.load(Relaxed) && is_beyond_plan();
        self.chain.moves().saturating_add(u32::from(first))
    }
}

#[cfg(test)]
mod tests {
    use crate::arena::FrameArena;
    use crate::settings::FrameArenaSettings;

    #[test]
    fn overflows_do_not_depend_on_the_order_of_allocations() {
        let overflows = |sizes: [usize; 2]| {
            let mut arena = FrameArena::with_settings(&FrameArenaSettings {
                worker_capacity_bytes: 4096,
                ..Default::default()
            });
            let mut counts = [0; 2];
            for count in &mut counts {
                for bytes in sizes {
                    arena.alloc_slice_fill_copy(bytes, 0_u8);
                }
                *count = arena.overflows();
                arena.reset();
            }
            assert_eq!(arena.overflows(), 0);
            counts
        };
        assert_eq!(overflows([5_000, 1]), [1, 1]);
        assert_eq!(overflows([1, 5_000]), [1, 1]);
        assert_eq!(overflows([1, 2]), [0, 0]);
    }
}
