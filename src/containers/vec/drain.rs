//! Taking a range out of a list.
#![expect(unsafe_code, reason = "moves elements out of raw memory")]

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;
use std::ptr;
use std::slice;

use super::FrameVec;

/// The iterator of [`FrameVec::drain`].
///
/// It works with indices, and the list ends before the range while it lives: one that is leaked
/// leaks the elements of the range and those behind it, and nothing worse.
pub struct FrameDrain<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    /// The elements not yielded yet.
    left: Range<usize>,
    /// The elements behind the range, which move up at the end.
    tail: Range<usize>,
}

impl<'v, 'a, T> FrameDrain<'v, 'a, T> {
    /// `range` is in bounds.
    pub(super) fn new(vec: &'v mut FrameVec<'a, T>, range: Range<usize>) -> Self {
        let tail = range.end..vec.len;
        vec.len = range.start;
        Self {
            vec,
            left: range,
            tail,
        }
    }

    /// Returns the elements not yielded yet.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// let mut drain = list.drain(..);
    /// drain.next();
    /// assert_eq!(drain.as_slice(), [2, 3]);
    /// ```
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the range lies in what was the list.
        let left = unsafe { self.vec.elements(self.left.start, self.left.len()) };
        // SAFETY: these elements are there, and borrowed with the iterator.
        unsafe { slice::from_raw_parts(left.cast().as_ptr(), left.len()) }
    }

    /// # Safety
    /// The index was just taken from those that are left.
    #[inline(always)]
    unsafe fn take(&mut self, index: usize) -> T {
        // SAFETY: the index lies in what was the list.
        let place = unsafe { self.vec.place(index) };
        // SAFETY: the element is there, and its index does not come again.
        unsafe { place.read() }
    }
}

impl<T> Iterator for FrameDrain<'_, '_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let index = self.left.next()?;
        // SAFETY: it was just taken.
        Some(unsafe { self.take(index) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> DoubleEndedIterator for FrameDrain<'_, '_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let index = self.left.next_back()?;
        // SAFETY: it was just taken.
        Some(unsafe { self.take(index) })
    }
}

impl<T> ExactSizeIterator for FrameDrain<'_, '_, T> {}
impl<T> FusedIterator for FrameDrain<'_, '_, T> {}

impl<T> Drop for FrameDrain<'_, '_, T> {
    fn drop(&mut self) {
        let left = std::mem::take(&mut self.left);
        // SAFETY: the range lies in what was the list.
        let elements = unsafe { self.vec.elements(left.start, left.len()) };
        // Closes the gap at the end, also when a destructor panics.
        let _gap = Gap {
            vec: self.vec,
            tail: self.tail.clone(),
        };
        // SAFETY: these elements are there, and nobody takes them any more.
        unsafe { elements.drop_in_place() };
    }
}

/// Moves the tail to the end of the list when it goes.
struct Gap<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    tail: Range<usize>,
}

impl<T> Drop for Gap<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: the tail lies in what was the list.
        let from = unsafe { self.vec.place(self.tail.start) };
        // SAFETY: the length is not more than the capacity.
        let to = unsafe { self.vec.place(self.vec.len) };
        // SAFETY: the elements of the tail are there, and all before them are gone.
        unsafe { ptr::copy(from.as_ptr(), to.as_ptr(), self.tail.len()) };
        self.vec.len += self.tail.len();
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameDrain<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameDrain").field(&self.as_slice()).finish()
    }
}
