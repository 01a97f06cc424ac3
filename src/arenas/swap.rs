//! The end of a period, and what it gives back.
#![expect(unsafe_code, reason = "ends a period while leases of it live")]

use std::sync::Arc;

use super::FrameArenas;
use crate::arena::Window;
use crate::panics::FirstPanic;

/// # Ending a period (the plugins do it)
impl FrameArenas {
    /// Ends the frame: the oldest generation is recycled and becomes the current one.
    /// [`FrameArenaPlugin`](crate::FrameArenaPlugin) calls it at the start of each frame.
    ///
    /// It never waits and, once warm, never allocates. If somebody still leases the generation
    /// that is due, another takes its place and it is parked until the lease ends.
    ///
    /// # Panics
    /// If the destructor of a shared value panics. The swap is complete by then, and all
    /// destructors have run.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let mut arenas = FrameArenas::default();
    /// arenas.local().alloc([0_u8; 1000]);
    /// arenas.swap();
    /// assert_eq!(arenas.frame(), 1);
    /// assert_eq!(arenas.usage().used_bytes, 1000);
    /// ```
    pub fn swap(&mut self) {
        self.meter
            .end_period(self.frame, self.ring.current(), &self.common);
        self.measure_memory();
        self.frame += 1;
        self.common.tasks.begin_period(self.frame);

        let mut panic = FirstPanic::default();
        let stamp = self.ring.advance();
        self.parking
            .tend(self.common.settings.trim_after_frames, &mut panic);
        let parked = self
            .parking
            .replace_if_leased(self.ring.current_mut(), &self.common);
        // First the blocks that were written longest ago. Those of the period that just ended come
        // to lie on top of the store, where the next period finds them while they are in the cache.
        Arc::get_mut(self.ring.current_mut())
            .expect("a leased generation was replaced")
            .recycle(stamp, &mut panic);
        if let Some(ended) = self.ring.previous().or(parked) {
            // SAFETY: with `&mut self` no arena is lent, and no other thread reads its figures.
            unsafe { ended.release_unshared() };
        }
        self.scratch.end_period(&mut panic);
        self.give_surplus_back();
        self.meter.note_generations(&self.ring, &self.parking);
        self.meter.note_scratch(&mut self.scratch);
        panic.resume();
    }

    /// Gives memory back that was not needed for some time.
    fn give_surplus_back(&mut self) {
        let trims_at_once = self.common.settings.trim_after_frames == Some(0);
        if self.swaps_that_give_back > 0 || trims_at_once {
            self.swaps_that_give_back = self.swaps_that_give_back.saturating_sub(1);
            self.give_all_back();
        }
        self.periods_to_step -= 1;
        if self.periods_to_step == 0 {
            self.step_trim();
        }
    }

    #[cold]
    fn step_trim(&mut self) {
        let periods = self.common.settings.trim_after_frames;
        let window = Window::of(periods.unwrap_or(u32::MAX));
        self.periods_to_step = window.step_periods;
        if periods.is_some() {
            self.scratch.give_idle_blocks();
            let freed_bytes = self.common.store.step_trim(window);
            self.meter.note_trim(freed_bytes);
        }
    }

    #[cold]
    fn give_all_back(&mut self) {
        self.scratch.give_blocks();
        self.common.store.clear();
        self.measure_memory();
    }

    /// Measures who has the memory now.
    fn measure_memory(&mut self) {
        let kept_bytes = self.ring.kept_bytes() + self.parking.kept_bytes();
        self.meter
            .note_memory(self.common.store.memory(), kept_bytes);
    }

    /// Recycles what is parked and no longer leased, without waiting for the next swap.
    ///
    /// For arenas whose period is long: when a task was done with what it leased of the last level,
    /// the values of that level are dropped here, and its memory is free again.
    ///
    /// # Panics
    /// If the destructor of a shared value panics, when all of them have run.
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::{FrameArenaSettings, FrameArenas, LivesFor};
    ///
    /// let mut arenas = FrameArenas::new(FrameArenaSettings {
    ///     lives_for: LivesFor::OnePeriod,
    ///     ..Default::default()
    /// });
    /// let lease = arenas.lease();
    /// arenas.swap();
    /// assert_eq!(arenas.usage().parked, 1);
    /// drop(lease);
    /// arenas.recycle_parked();
    /// assert_eq!(arenas.usage().parked, 0);
    /// ```
    pub fn recycle_parked(&mut self) {
        let mut panic = FirstPanic::default();
        self.parking.recycle_free(&mut panic);
        if self.common.settings.trim_after_frames == Some(0) {
            self.parking.free_spares(0);
            self.common.store.clear();
        }
        self.measure_memory();
        self.meter.note_generations(&self.ring, &self.parking);
        panic.resume();
    }

    /// Gives all memory back to the global allocator that is not in use: after a loading screen, or
    /// when a level ends.
    ///
    /// What waits in the store goes at once, and what is kept for handles as they become stale: within
    /// as many swaps as data lives for. The frames after that pay for their memory again. Without
    /// this, memory is given back after
    /// [`trim_after_frames`](crate::FrameArenaSettings::trim_after_frames).
    ///
    /// # Examples
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let mut arenas = FrameArenas::default();
    /// arenas.local().alloc([0_u8; 1000]);
    /// arenas.swap();
    /// assert!(arenas.usage().reserved_bytes > 0);
    /// arenas.trim();
    /// assert_eq!(arenas.usage().reserved_bytes, 0);
    /// ```
    pub fn trim(&mut self) {
        self.swaps_that_give_back = self.ring.len();
        self.parking.free_spares(0);
        self.give_all_back();
        self.meter.note_generations(&self.ring, &self.parking);
    }
}
