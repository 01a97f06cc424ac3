//! Resolving and leasing handles in `FrameArenas`.
#![expect(unsafe_code, reason = "resolves handles")]

use super::{FrameArenas, FrameLease, LeasedHandle, Outcome};
use crate::handles::{FrameHandle, HandleError, resolve_handles};

resolve_handles! {
    /// Returns the data of a handle, if it was made in this frame or the previous one. The setting
    /// [`LivesFor`](crate::LivesFor) can change this.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let handle = arenas.local().share(7);
    /// arenas.swap();
    /// assert_eq!(arenas.get(handle), Some(&7));
    /// arenas.swap();
    /// assert_eq!(arenas.get(handle), None);
    /// ```
    FrameArenas
}

/// # Leasing shared data
impl FrameArenas {
    /// Leases the frame that a handle was made in, which may be the previous one.
    ///
    /// For data that refers to other data of its frame, e.g. a list of handles.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let arena = arenas.local();
    /// let words = [arena.share_str("to"), arena.share_str("you")];
    /// let words = arena.share_slice_copy(&words);
    /// arenas.swap();
    ///
    /// let lease = arenas.lease_of(words).unwrap();
    /// drop(arenas);
    /// assert_eq!(lease[words].iter().map(|word| &lease[*word]).collect::<Vec<_>>(), ["to", "you"]);
    /// ```
    ///
    /// # Errors
    /// If the handle is stale, was made by other arenas, or was never set; see [`HandleError`].
    #[track_caller]
    pub fn lease_of<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<FrameLease, HandleError> {
        match self.ring.generation_of(handle.stamp()) {
            Some(generation) => Ok(FrameLease::new(generation)),
            None => {
                self.count_miss(Outcome::Handled, handle);
                Err(self.why_not(handle))
            }
        }
    }

    /// Leases the data of one handle, to move it into a task or another world.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let heights = arenas.local().share_slice_copy(&[2, 3, 4]);
    /// let heights = arenas.lease_handle(heights).unwrap();
    /// let task = std::thread::spawn(move || heights.iter().sum::<i32>());
    /// (0..9).for_each(|_| arenas.swap());
    /// assert_eq!(task.join().unwrap(), 9);
    /// ```
    ///
    /// # Errors
    /// If the handle is stale, was made by other arenas, or was never set; see [`HandleError`].
    #[track_caller]
    pub fn lease_handle<T: ?Sized>(
        &self,
        handle: FrameHandle<T>,
    ) -> Result<LeasedHandle<T>, HandleError> {
        let lease = self.lease_of(handle)?;
        Ok(LeasedHandle::new(handle, lease))
    }

    /// Returns the data of a handle, without counting a failed look-up.
    #[inline(always)]
    pub(super) fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // The current generation is compared first: most look-ups end with one comparison.
        if !self.ring.is_current(handle.stamp()) && !self.ring.holds(handle.stamp()) {
            return None;
        }
        debug_assert!(
            self.ring.generation_of(handle.stamp()).is_some(),
            "the stamps of the arenas and of their generations agree"
        );
        // SAFETY:
        // - the handle has the stamp of a generation that these arenas hold;
        // - none of them is recycled or dropped while `self` is borrowed.
        Some(unsafe { handle.data() })
    }

    #[track_caller]
    fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        self.ring.current().count_stale_lookup(outcome, why);
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        HandleError::in_arenas(handle, self.ring.stamp(), self.ring.len() as u64)
    }
}
