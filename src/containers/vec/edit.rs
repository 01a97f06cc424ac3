//! Inserting and removing in the middle of a list.
#![expect(unsafe_code, reason = "moves elements within raw memory")]

use std::ops::RangeBounds;
use std::ptr;

use super::{FrameDrain, FrameVec};
use crate::containers::{or_fail, range};
use crate::error::ArenaError;

/// # Inserting and removing
impl<'a, T> FrameVec<'a, T> {
    /// Inserts an element before the one at `index`, and moves all behind it.
    ///
    /// # Panics
    /// If `index` is beyond the length, or the arena out of memory or over a limit; see
    /// [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect(['a', 'c']);
    /// list.insert(1, 'b');
    /// assert_eq!(list, ['a', 'b', 'c']);
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        or_fail(self.try_insert(index, value));
    }

    /// Inserts an element before the one at `index`, and moves all behind it.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the element is dropped then.
    ///
    /// # Panics
    /// If `index` is beyond the length.
    #[track_caller]
    pub fn try_insert(&mut self, index: usize, value: T) -> Result<(), ArenaError> {
        let behind = range::checked(index.., self.len).len();
        self.try_reserve(1)?;
        // SAFETY: the index is not beyond the length.
        let place = unsafe { self.place(index) }.as_ptr();
        // SAFETY: there is room for one more.
        let next = unsafe { place.add(1) };
        // SAFETY: as many elements are behind the index, and can move by one.
        unsafe { ptr::copy(place, next, behind) };
        // SAFETY: the place is within the capacity, and what was there has moved.
        unsafe { place.write(value) };
        self.len += 1;
        Ok(())
    }

    /// Removes the element at `index`, and moves all behind it.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// assert_eq!(list.remove(0), 1);
    /// assert_eq!(list, [2, 3]);
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        range::checked(index..=index, self.len);
        let behind = self.len - index - 1;
        // SAFETY: the index is below the length.
        let place = unsafe { self.place(index) }.as_ptr();
        // SAFETY: the element is there; all behind it move over it, and the length says so.
        let removed = unsafe { place.read() };
        // SAFETY: the index is below the length, so this is one behind it at most.
        let next = unsafe { place.add(1) };
        // SAFETY: as many elements are behind the index.
        unsafe { ptr::copy(next, place, behind) };
        self.len -= 1;
        removed
    }

    /// Removes the element at `index`, and puts the last one in its place.
    ///
    /// # Panics
    /// If `index` is not below the length.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// assert_eq!(list.swap_remove(0), 1);
    /// assert_eq!(list, [3, 2]);
    /// ```
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        range::checked(index..=index, self.len);
        self.len -= 1;
        // SAFETY: the index of the last element is in bounds.
        let last = unsafe { self.place(self.len) };
        // SAFETY: the element is there, and given up with the old length.
        let last = unsafe { last.read() };
        if index == self.len {
            return last;
        }
        std::mem::replace(&mut self[index], last)
    }

    /// Removes some elements and returns an iterator over them. Those that are not taken from it
    /// are dropped with it.
    ///
    /// # Panics
    /// If the range is out of bounds.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect(0..5);
    /// assert!(list.drain(1..3).eq([1, 2]));
    /// assert_eq!(list, [0, 3, 4]);
    /// ```
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> FrameDrain<'_, 'a, T> {
        let range = range::checked(range, self.len);
        FrameDrain::new(self, range)
    }

    /// Moves everything from `at` on into a new list of the same arena.
    ///
    /// # Panics
    /// If `at` is beyond the length, or the arena out of memory or over a limit; see
    /// [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut head = arena.collect(0..4);
    /// let tail = head.split_off(3);
    /// assert_eq!((head.len(), tail.len()), (3, 1));
    /// ```
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self {
        or_fail(self.try_split_off(at))
    }

    /// Moves everything from `at` on into a new list of the same arena.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing moves then.
    ///
    /// # Panics
    /// If `at` is beyond the length.
    #[track_caller]
    pub fn try_split_off(&mut self, at: usize) -> Result<Self, ArenaError> {
        let count = range::checked(at.., self.len).len();
        let mut tail = Self::try_with_capacity_in(count, self.arena())?;
        self.len = at;
        // SAFETY: `at` is not beyond the old length.
        let from = unsafe { self.place(at) };
        // SAFETY:
        // - `count` elements are there, and were given up with the old length;
        // - the new list has room for them, in memory of its own.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), tail.as_mut_ptr(), count) };
        tail.len = count;
        Ok(tail)
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect(0..6);
    /// list.retain(|n| n % 2 == 0);
    /// assert_eq!(list, [0, 2, 4]);
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|element| keep(element));
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// If `keep` or a destructor panics, the elements not looked at yet are kept.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut lives = arena.collect([1, 2, 3]);
    /// lives.retain_mut(|left| {
    ///     *left -= 1;
    ///     *left > 0
    /// });
    /// assert_eq!(lives, [1, 2]);
    /// ```
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut sieve = Sieve::new(self);
        while let Some([_, element]) = sieve.look() {
            // SAFETY: the element is there, and nothing else refers to it.
            let kept = keep(unsafe { &mut *element });
            sieve.decide(kept);
        }
    }

    /// Drops each element that is equal to the one before it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 1, 2, 1]);
    /// list.dedup();
    /// assert_eq!(list, [1, 2, 1]);
    /// ```
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.dedup_by(|element, before| element == before);
    }

    /// Drops each element whose key is that of the one before it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([10, 11, 20]);
    /// list.dedup_by_key(|n| *n / 10);
    /// assert_eq!(list, [10, 20]);
    /// ```
    pub fn dedup_by_key<K: PartialEq>(&mut self, mut key: impl FnMut(&mut T) -> K) {
        self.dedup_by(|element, before| key(element) == key(before));
    }

    /// Drops each element for which `same` returns `true`; it gets the element and the one kept
    /// before it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut words = arena.collect(["a", "A", "b"]);
    /// words.dedup_by(|word, before| word.eq_ignore_ascii_case(before));
    /// assert_eq!(words, ["a", "b"]);
    /// ```
    pub fn dedup_by(&mut self, mut same: impl FnMut(&mut T, &mut T) -> bool) {
        let mut sieve = Sieve::new(self);
        while let Some([before, element]) = sieve.look() {
            if sieve.kept == 0 {
                sieve.decide(true);
                continue;
            }
            // SAFETY: the element is there, and nothing else refers to it.
            let element = unsafe { &mut *element };
            // SAFETY: as above; one was kept, at a place before the element's.
            let before = unsafe { &mut *before };
            let is_same = same(element, before);
            sieve.decide(!is_same);
        }
    }
}

/// A list from which elements are dropped one by one.
///
/// Kept ones are at the start, then a gap, then those not looked at. The list itself is empty in
/// the meantime; the end of the sieve, also by a panic, closes the gap and restores the length.
struct Sieve<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    kept: usize,
    next: usize,
    end: usize,
}

impl<'v, 'a, T> Sieve<'v, 'a, T> {
    fn new(vec: &'v mut FrameVec<'a, T>) -> Self {
        let end = std::mem::take(&mut vec.len);
        Self {
            vec,
            kept: 0,
            next: 0,
            end,
        }
    }

    /// Returns the places of the last element that was kept and of the next one, if there is one.
    /// If none was kept, the first of the two is that of the list's start.
    #[inline]
    fn look(&mut self) -> Option<[*mut T; 2]> {
        if self.next == self.end {
            return None;
        }
        // SAFETY: both indices are in bounds.
        let [before, next] =
            [self.kept.saturating_sub(1), self.next].map(|index| unsafe { self.vec.place(index) });
        Some([before.as_ptr(), next.as_ptr()])
    }

    /// Keeps or drops the next element.
    #[inline]
    fn decide(&mut self, keep: bool) {
        // SAFETY: the index is in bounds.
        let element = unsafe { self.vec.place(self.next) };
        // Before it is dropped: its destructor may panic, and must not run twice.
        self.next += 1;
        if !keep {
            // SAFETY: the element is there, and was passed by.
            unsafe { element.drop_in_place() };
            return;
        }
        if self.kept + 1 < self.next {
            // SAFETY: the index is in bounds.
            let place = unsafe { self.vec.place(self.kept) };
            // SAFETY: the element moves into the gap, to another place.
            unsafe { ptr::copy_nonoverlapping(element.as_ptr(), place.as_ptr(), 1) };
        }
        self.kept += 1;
    }
}

impl<T> Drop for Sieve<'_, '_, T> {
    fn drop(&mut self) {
        let left = self.end - self.next;
        // SAFETY: the index is in bounds, or the end.
        let from = unsafe { self.vec.place(self.next) };
        // SAFETY: the index is in bounds, or the end.
        let to = unsafe { self.vec.place(self.kept) };
        // SAFETY: those not looked at are there; they move to the end of those that were kept.
        unsafe { ptr::copy(from.as_ptr(), to.as_ptr(), left) };
        self.vec.len = self.kept + left;
    }
}
