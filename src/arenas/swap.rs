//! The end of a period, and what it gives back.
#![forbid(unsafe_code)]

use std::sync::Arc;

use super::FrameArenas;
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
        if self.meter.usage().refusals > 0 {
            self.note_refusals();
        }
        self.frame += 1;
        let keeps_nothing = self.common.settings.trim_after_frames == Some(0);
        let gives_back = self.recycles_that_give_back > 0 || keeps_nothing;
        self.recycles_that_give_back = self.recycles_that_give_back.saturating_sub(1);

        let mut panic = FirstPanic::default();
        let stamp = self.ring.advance();
        self.parking
            .tend(self.common.settings.trim_after_frames, &mut panic);
        self.parking
            .replace_if_leased(self.ring.current_mut(), &self.common);
        Arc::get_mut(self.ring.current_mut())
            .expect("a leased generation was replaced")
            .recycle(stamp, gives_back, &mut panic);
        self.scratch.end_period(gives_back, &mut panic);
        self.meter
            .note_memory(&self.ring, &self.parking, &self.common);
        self.meter.note_scratch(&mut self.scratch);
        panic.resume();
    }

    #[cold]
    fn note_refusals(&mut self) {
        self.meter.note_refusals(&self.common);
        if self.common.settings.budget_bytes.is_some() {
            // Each generation may hold what another one was refused.
            self.recycles_that_give_back = self.ring.len();
        }
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
            self.parking.free_spares();
        }
        self.meter
            .note_memory(&self.ring, &self.parking, &self.common);
        panic.resume();
    }

    /// Gives all memory back to the global allocator that is not in use: after a loading screen, or
    /// when a level ends.
    ///
    /// Spare generations go at once, the others as they are recycled: within as many swaps as
    /// data lives for. The frames after that pay for their memory again. Without this, memory is
    /// given back after [`trim_after_frames`](crate::FrameArenaSettings::trim_after_frames).
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
    /// arenas.swap();
    /// arenas.swap();
    /// assert_eq!(arenas.usage().reserved_bytes, 0);
    /// ```
    pub fn trim(&mut self) {
        self.recycles_that_give_back = self.ring.len();
        self.parking.free_spares();
        self.common.stock.clear();
    }
}
