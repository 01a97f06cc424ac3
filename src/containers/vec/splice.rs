//! Replacing a range of a list.
#![expect(unsafe_code, reason = "moves elements within raw memory")]

use std::ops::RangeBounds;
use std::ptr;

use super::{FrameIntoIter, FrameVec};
use crate::containers::{or_fail, range};
use crate::error::ArenaError;

/// # Replacing a part
impl<'a, T> FrameVec<'a, T> {
    /// Replaces some elements by what an iterator yields, and returns those that were there.
    ///
    /// Unlike that of `Vec`, it is done when it returns, whatever becomes of the iterator it
    /// returns: the new elements are collected first, so they take memory for a moment, as do the
    /// old ones until they are dropped.
    ///
    /// # Panics
    /// If the range is out of bounds, or the arena out of memory or over a limit; see
    /// [`ArenaError`]. The list is as it was then.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3, 4]);
    /// let old = list.splice(1..3, [20, 25, 30]);
    /// assert!(old.eq([2, 3]));
    /// assert_eq!(list, [1, 20, 25, 30, 4]);
    /// ```
    #[track_caller]
    pub fn splice(
        &mut self,
        range: impl RangeBounds<usize>,
        replace_with: impl IntoIterator<Item = T>,
    ) -> FrameIntoIter<'a, T> {
        or_fail(self.try_splice(range, replace_with))
    }

    /// Replaces some elements by what an iterator yields, and returns those that were there.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the list is as it was then.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn try_splice(
        &mut self,
        range: impl RangeBounds<usize>,
        replace_with: impl IntoIterator<Item = T>,
    ) -> Result<FrameIntoIter<'a, T>, ArenaError> {
        let range = range::checked(range, self.len);
        let mut new = self.arena().try_collect(replace_with)?;
        let mut old = Self::try_with_capacity_in(range.len(), self.arena())?;
        self.try_reserve(new.len.saturating_sub(range.len()))?;

        // From here on nothing fails and no foreign code runs.
        let (added, removed) = (std::mem::take(&mut new.len), range.len());
        let tail = self.len - range.end;
        // SAFETY: the range is in bounds.
        let place = unsafe { self.place(range.start) }.as_ptr();
        // SAFETY: the elements of the range move to a list with room for them.
        unsafe { ptr::copy_nonoverlapping(place, old.as_mut_ptr(), removed) };
        old.len = removed;
        // SAFETY: the end of the range is in bounds.
        let from = unsafe { place.add(removed) };
        // SAFETY: the capacity has room for the tail behind `added` elements.
        let to = unsafe { place.add(added) };
        // SAFETY: `tail` elements are behind the range, and there is room for them.
        unsafe { ptr::copy(from, to, tail) };
        // SAFETY: the new elements move into the gap, which is as long as they are.
        unsafe { ptr::copy_nonoverlapping(new.as_ptr(), place, added) };
        self.len = range.start + added + tail;
        Ok(old.into_iter())
    }
}
