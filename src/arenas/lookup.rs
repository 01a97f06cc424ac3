//! Resolving and leasing handles in `FrameArenas`.
#![expect(unsafe_code, reason = "resolves handles")]

use std::ops::Index;

use super::{FrameArenas, FrameLease, LeasedHandle};
use crate::handles::{FrameHandle, HandleError};

/// # Reading what was shared
impl FrameArenas {
    /// Returns what a handle names, if it was made in this frame or the previous one (or as the
    /// settings say: [`LivesFor`](crate::LivesFor)).
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
    ///
    /// Lookups that fail are counted in [`usage`](Self::usage), unless the handle is unset; of the
    /// first in each frame, it says what was looked up and why it failed.
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // The current frame by itself: most lookups end with one comparison.
        if !self.ring.is_current(handle.stamp()) && !self.ring.holds(handle.stamp()) {
            self.count_miss(handle);
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

    /// Returns what a handle names, or why it does not resolve.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let mut arenas = FrameArenas::default();
    /// let score = arenas.local().share(7);
    /// assert_eq!(arenas.resolve(score), Ok(&7));
    /// for _ in 0..10 {
    ///     arenas.swap();
    /// }
    /// let error = arenas.resolve(score).unwrap_err();
    /// assert!(error.to_string().starts_with("stale `FrameHandle<i32>`: made 10 frames ago"));
    /// ```
    ///
    /// # Errors
    /// If the handle is stale, was made by other arenas, or was never set; see [`HandleError`].
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<&T, HandleError> {
        match self.get(handle) {
            Some(value) => Ok(value),
            None => Err(self.why_not(handle)),
        }
    }

    /// Returns the list that a handle names, or an empty one where the handle does not resolve.
    ///
    /// For code that draws what is there: a system that runs before the first list was made, or
    /// while its maker pauses, sees none.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
    /// let arenas = FrameArenas::default();
    /// let mut visible = FrameHandle::default();
    /// assert_eq!(arenas.slice(visible), []);
    /// visible = arenas.local().share_slice_copy(&[3, 5]);
    /// assert_eq!(arenas.slice(visible), [3, 5]);
    /// ```
    ///
    /// Lookups that fail are counted in [`usage`](Self::usage), unless the handle is unset; of the
    /// first in each frame, it says what was looked up and why it failed.
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn slice<T>(&self, handle: FrameHandle<[T]>) -> &[T] {
        self.get(handle).unwrap_or_default()
    }

    /// Returns the text that a handle names, or `""` where the handle does not resolve.
    ///
    /// Like [`slice`](Self::slice), for strings.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArenas, FrameHandle};
    /// let arenas = FrameArenas::default();
    /// let mut label = FrameHandle::default();
    /// assert_eq!(arenas.text(label), "");
    /// label = arenas.local().share_str("wave 3");
    /// assert_eq!(arenas.text(label), "wave 3");
    /// ```
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn text(&self, handle: FrameHandle<str>) -> &str {
        self.get(handle).unwrap_or_default()
    }

    /// Leases the frame that a handle was made in, which may be the previous one.
    ///
    /// For data that refers to other data of its frame: a list of handles, for one.
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
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn lease_of<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<FrameLease, HandleError> {
        match self.ring.generation_of(handle.stamp()) {
            Some(generation) => Ok(FrameLease::new(generation)),
            None => {
                self.count_miss(handle);
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
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn lease_handle<T: ?Sized>(
        &self,
        handle: FrameHandle<T>,
    ) -> Result<LeasedHandle<T>, HandleError> {
        let lease = self.lease_of(handle)?;
        Ok(LeasedHandle::new(handle, lease))
    }

    #[cold]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    fn count_miss<T: ?Sized>(&self, handle: FrameHandle<T>) {
        // A handle that was never set is no sign of a reader that comes too late.
        if !handle.is_unset() {
            let why = || self.why_not(handle);
            self.ring.current().count_stale_lookup(why);
        }
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        HandleError::in_arenas(handle, self.ring.stamp(), self.ring.len() as u64)
    }
}

impl<T: ?Sized> Index<FrameHandle<T>> for FrameArenas {
    type Output = T;

    /// # Panics
    /// If the handle is stale, was made by other arenas, or was never set: with the text of
    /// [`HandleError`].
    #[inline]
    #[track_caller]
    fn index(&self, handle: FrameHandle<T>) -> &T {
        match self.resolve(handle) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }
}
