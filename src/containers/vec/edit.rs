//! Inserting and removing in the middle of a list.
#![expect(unsafe_code, reason = "moves elements within raw memory")]

use std::iter;
use std::mem::{self, ManuallyDrop};
use std::ops::{Range, RangeBounds};
use std::ptr::{self, NonNull};

use super::{FrameDrain, FrameIntoIter, FrameVec};
use crate::containers::checked_range;

/// # Inserting and removing
impl<'a, T> FrameVec<'a, T> {
    /// Inserts an element before the one at `index`, and moves all behind it.
    ///
    /// # Panics
    /// If `index` is beyond the length, or the arena out of memory or over a limit; see
    /// [`ArenaError`](crate::ArenaError).
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
        let place = checked_range(index..index, self.len);
        self.reserve(1);
        let value = ManuallyDrop::new(value);
        // SAFETY: there is room for one more, and the value is not used again.
        unsafe { self.overwrite(place, NonNull::from(&*value), 1) };
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
        let place = checked_range(index..=index, self.len);
        // SAFETY: the index is below the length.
        let removed = unsafe { self.place(index) };
        // SAFETY: the element is initialised, and all behind it move over it now.
        let removed = unsafe { removed.read() };
        // SAFETY: the element has moved out, and none takes its place.
        unsafe { self.overwrite(place, NonNull::dangling(), 0) };
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
        checked_range(index..=index, self.len);
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
        let range = checked_range(range, self.len);
        FrameDrain::new(self, range)
    }

    /// Moves everything from `at` on into a new list of the same arena.
    ///
    /// # Panics
    /// If `at` is beyond the length, or the arena out of memory or over a limit; see
    /// [`ArenaError`](crate::ArenaError).
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
        let count = checked_range(at.., self.len).len();
        let mut tail = Self::with_capacity_in(count, self.arena());
        self.len = at;
        // SAFETY: `at` is not beyond the old length.
        let from = unsafe { self.place(at) };
        // SAFETY:
        // - `count` elements are initialised, and were given up with the old length;
        // - the new list has room for them, in memory of its own.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), tail.as_mut_ptr(), count) };
        tail.len = count;
        tail
    }

    /// Replaces a range by what an iterator yields, and returns the elements that were in it.
    ///
    /// Unlike that of `Vec`, it is done when it returns, whatever becomes of the iterator it
    /// returns: the new elements are collected first, so they take memory for a moment, as do the
    /// old ones until they are dropped.
    ///
    /// # Panics
    /// If the range is out of bounds, or the arena out of memory or over a limit; see
    /// [`ArenaError`](crate::ArenaError). The list is unchanged then.
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
        let range = checked_range(range, self.len);
        let mut new = self.arena().collect(replace_with);
        let mut old = Self::with_capacity_in(range.len(), self.arena());
        self.reserve(new.len.saturating_sub(range.len()));

        // From here on nothing fails and no foreign code runs.
        // SAFETY: the range is in bounds.
        let from = unsafe { self.place(range.start) };
        // SAFETY: the elements of the range move to a list with room for them.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), old.as_mut_ptr(), range.len()) };
        old.len = range.len();
        let added = mem::take(&mut new.len);
        // SAFETY: the range has moved out, there is room, and the new elements were given up.
        unsafe { self.overwrite(range, new.buffer.start(), added) };
        old.into_iter()
    }

    /// Moves elements into the place of a range that has moved out, and the elements behind it.
    ///
    /// # Safety
    /// - `range` is in bounds, and its elements are not used again;
    /// - there is room for `added - range.len()` more elements;
    /// - `added` initialised elements are at `from`, outside of the list, and not used again.
    #[inline]
    pub(in crate::containers) unsafe fn overwrite(
        &mut self,
        range: Range<usize>,
        from: NonNull<T>,
        added: usize,
    ) {
        let behind = self.len - range.end;
        // SAFETY: the range is in bounds.
        let place = unsafe { self.place(range.start) }.as_ptr();
        // SAFETY: the end of the range is in bounds.
        let tail = unsafe { place.add(range.len()) };
        // SAFETY: the capacity has room for `added` elements and those behind the range.
        let new_tail = unsafe { place.add(added) };
        // SAFETY: as many elements are behind the range, and there is room for them.
        unsafe { ptr::copy(tail, new_tail, behind) };
        // SAFETY: the gap is as long as the new elements, which are not part of the list.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), place, added) };
        self.len = range.start + added + behind;
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
        let mut sieve = Sieve::new(self, ..);
        while let Some([_, element]) = sieve.look() {
            // SAFETY: the element is there, and nothing else refers to it.
            let kept = keep(unsafe { &mut *element });
            sieve.decide(kept);
        }
    }

    /// Returns an iterator that removes the elements of a range for which `take` returns `true`.
    ///
    /// Elements that it has not come to when it is dropped are kept.
    ///
    /// # Panics
    /// If the range is out of bounds.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect(0..6);
    /// assert!(list.extract_if(1.., |n| *n % 2 == 0).eq([2, 4]));
    /// assert_eq!(list, [0, 1, 3, 5]);
    /// ```
    #[track_caller]
    pub fn extract_if(
        &mut self,
        range: impl RangeBounds<usize>,
        mut take: impl FnMut(&mut T) -> bool,
    ) -> impl Iterator<Item = T> {
        let mut sieve = Sieve::new(self, range);
        iter::from_fn(move || {
            while let Some([_, element]) = sieve.look() {
                // SAFETY: the element is initialised, and nothing else refers to it.
                if take(unsafe { &mut *element }) {
                    return Some(sieve.take());
                }
                sieve.decide(true);
            }
            None
        })
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
        let mut sieve = Sieve::new(self, ..);
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

/// A list from which elements are removed one by one.
///
/// Kept ones are at the start, then a gap, then those not looked at. The list itself is empty in
/// the meantime; the end of the sieve, also by a panic, closes the gap and restores the length.
struct Sieve<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    /// The length of the list before.
    len: usize,
    kept: usize,
    left: Range<usize>,
}

impl<'v, 'a, T> Sieve<'v, 'a, T> {
    #[track_caller]
    fn new(vec: &'v mut FrameVec<'a, T>, range: impl RangeBounds<usize>) -> Self {
        let left = checked_range(range, vec.len);
        let len = mem::take(&mut vec.len);
        Self {
            vec,
            len,
            kept: left.start,
            left,
        }
    }

    /// Returns the places of the last element that was kept and of the next one, if there is one.
    /// If none was kept, the first of the two is that of the list's start.
    #[inline]
    fn look(&mut self) -> Option<[*mut T; 2]> {
        if self.left.is_empty() {
            return None;
        }
        // SAFETY: both indices are in bounds.
        let [before, next] = [self.kept.saturating_sub(1), self.left.start]
            .map(|index| unsafe { self.vec.place(index) });
        Some([before.as_ptr(), next.as_ptr()])
    }

    /// Keeps or drops the next element. There must be one.
    #[inline]
    fn decide(&mut self, keep: bool) {
        let element = self.pass();
        if !keep {
            // SAFETY: the element is initialised, and was passed by.
            unsafe { element.drop_in_place() };
            return;
        }
        if self.kept + 1 < self.left.start {
            // SAFETY: the index is in bounds.
            let place = unsafe { self.vec.place(self.kept) };
            // SAFETY: the element moves into the gap, to another place.
            unsafe { ptr::copy_nonoverlapping(element.as_ptr(), place.as_ptr(), 1) };
        }
        self.kept += 1;
    }

    /// Takes the next element out. There must be one.
    #[inline]
    fn take(&mut self) -> T {
        // SAFETY: the element is initialised, and was passed by.
        unsafe { self.pass().read() }
    }

    /// Passes by the next element: from here on it is the caller's, also if its destructor panics.
    #[inline(always)]
    fn pass(&mut self) -> NonNull<T> {
        // SAFETY: the index is in bounds.
        let element = unsafe { self.vec.place(self.left.start) };
        self.left.start += 1;
        element
    }
}

impl<T> Drop for Sieve<'_, '_, T> {
    fn drop(&mut self) {
        let behind = self.len - self.left.start;
        // SAFETY: the index is in bounds, or the end.
        let from = unsafe { self.vec.place(self.left.start) };
        // SAFETY: the index is in bounds, or the end.
        let to = unsafe { self.vec.place(self.kept) };
        // SAFETY: those not looked at are initialised; they move behind those that were kept.
        unsafe { ptr::copy(from.as_ptr(), to.as_ptr(), behind) };
        self.vec.len = self.kept + behind;
    }
}
