//! The end of a period, and the return of unused memory.
#![expect(unsafe_code, reason = "ends a period while leases of it live")]

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::FrameArenas;
use super::meter::Meter;
use super::ring::Ring;
use crate::arena::{Returning, Window};
use crate::panics::FirstPanic;

/// # Ending a period (called by the plugins)
impl FrameArenas {
    /// Ends the frame: the oldest generation is recycled and becomes the current one.
    /// [`FrameArenaPlugin`](crate::FrameArenaPlugin) calls it at the start of each frame.
    ///
    /// It never waits for a lease and, once warm, never allocates. If the generation that is due is still
    /// leased, it is parked until the lease ends, and another takes its place.
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
    /// assert_eq!(arenas.period(), 1);
    /// assert_eq!(arenas.usage().used_bytes, 1000);
    /// ```
    pub fn swap(&mut self) {
        let mut panic = FirstPanic::default();
        let common = &*self.common;
        self.meter.begin(self.period);
        let kept_bytes = common.kept_bytes.load(Relaxed);
        let mut to = common.store.returning();
        let trim_after = common.settings.trim_after_periods;
        self.parking.tend(trim_after, |parked, stamp| {
            parked.recycle(stamp, &mut to, &mut panic);
        });
        let lives_on = self.ring.len() > 1;
        // With a single generation, the recycle below would leave nothing to measure.
        if !lives_on {
            end_only_period(&mut self.ring, &mut self.meter, &mut to);
        }
        let stamp = self.ring.advance();
        let due = self.ring.current_mut();
        self.parking.replace_if_leased(due, &self.common);
        Arc::get_mut(due)
            .expect("a leased generation was replaced")
            .recycle(stamp, &mut to, &mut panic);
        // After the recycle, so that the blocks of the period that just ended lie on top of the store. The
        // next period then takes them while they are still in the cache.
        if lives_on {
            end_period(&mut self.ring, &mut self.meter, &mut to);
        }
        self.meter.note_memory(to.finish(), kept_bytes);
        self.meter.end_period(common);
        self.period += 1;
        common.tasks.begin_period(self.period);
        self.scratch.end_period(&mut panic);
        self.give_surplus_back();
        self.meter.note_generations(&self.ring, &self.parking);
        self.meter.note_scratch(&mut self.scratch);
        panic.resume();
    }

    /// Gives back memory that was not needed for some time.
    fn give_surplus_back(&mut self) {
        if self.swaps_that_give_back > 0 {
            self.give_all_back();
            self.swaps_that_give_back -= usize::from(!self.trims_at_once());
        }
        self.periods_to_step -= 1;
        if self.periods_to_step == 0 {
            self.step_trim();
        }
    }

    #[cold]
    fn step_trim(&mut self) {
        let periods = self.common.settings.trim_after_periods;
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

    /// Whether each swap gives all free memory back.
    fn trims_at_once(&self) -> bool {
        self.common.settings.trim_after_periods == Some(0)
    }

    /// Records the current memory figures.
    fn measure_memory(&mut self) {
        let memory = self.common.store.memory();
        self.meter.note_memory(memory, self.kept_bytes());
    }

    #[inline(always)]
    pub(super) fn kept_bytes(&self) -> usize {
        self.common.kept_bytes.load(Relaxed)
    }

    /// Recycles parked generations that are no longer leased, without waiting for the next swap.
    ///
    /// For arenas with a long period, e.g. a level: once a task has dropped its lease of the last level, this
    /// call drops the values of that level and frees its memory.
    ///
    /// # Panics
    /// If the destructor of a shared value panics. All destructors have run by then.
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
        let mut to = self.common.store.returning();
        self.parking.recycle_free(|parked, stamp| {
            parked.recycle(stamp, &mut to, &mut panic);
        });
        drop(to);
        if self.trims_at_once() {
            self.parking.free_spares(0);
            self.common.store.clear();
        }
        self.measure_memory();
        self.meter.note_generations(&self.ring, &self.parking);
        panic.resume();
    }

    /// Gives all unused memory back to the global allocator, e.g. after a loading screen or at the end of a
    /// level.
    ///
    /// Free blocks are given back at once. Blocks kept for handles follow as the handles become stale, within
    /// as many swaps as data lives for. Later frames have to reserve memory again. Without this call, unused
    /// memory is given back after [`trim_after_periods`](crate::FrameArenaSettings::trim_after_periods).
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

/// Measures the workers of the period that ends, and takes back the blocks of arenas in which nothing was
/// shared.
#[inline(always)]
fn end_period(ring: &mut Ring, meter: &mut Meter, to: &mut Returning<'_>) {
    // SAFETY: with the `&mut` of the ring, which only its `FrameArenas` has, no arena is lent, and no other
    // thread reads its figures.
    unsafe { ring.previous().end_period(meter, to) };
}

/// The same for a ring of one generation, out of line because few have that.
#[inline(never)]
fn end_only_period(ring: &mut Ring, meter: &mut Meter, to: &mut Returning<'_>) {
    end_period(ring, meter, to);
}
