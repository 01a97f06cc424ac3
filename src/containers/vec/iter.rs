//! Iterators that move elements out of a list: of all of it, or of a range.
#![expect(unsafe_code, reason = "moves elements out of raw memory")]

use std::fmt;
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::slice;

use super::FrameVec;
use crate::containers::raw::RawBuffer;

/// The iterator of a [`FrameVec`] that gives its elements away.
pub struct FrameIntoIter<'a, T> {
    // Dropped in this order, also if a destructor panics: the elements, then their memory.
    left: Left<T>,
    _buffer: RawBuffer<'a, T>,
}

impl<T> FrameIntoIter<'_, T> {
    /// Returns the elements not yielded yet.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut iter = arena.collect([1, 2, 3]).into_iter();
    /// iter.next();
    /// assert_eq!(iter.as_slice(), [2, 3]);
    /// ```
    pub fn as_slice(&self) -> &[T] {
        self.left.as_slice()
    }

    /// Returns the elements not yielded yet.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut iter = arena.collect([1, 2, 3]).into_iter();
    /// iter.as_mut_slice()[0] = 7;
    /// assert_eq!(iter.next(), Some(7));
    /// ```
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.left.as_mut_slice()
    }
}

impl<T> Iterator for FrameIntoIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.range.size_hint()
    }
}

impl<T> DoubleEndedIterator for FrameIntoIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.left.next_back()
    }
}

impl<T> ExactSizeIterator for FrameIntoIter<'_, T> {}
impl<T> FusedIterator for FrameIntoIter<'_, T> {}

impl<T: fmt::Debug> fmt::Debug for FrameIntoIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameIntoIter")
            .field(&self.as_slice())
            .finish()
    }
}

/// The iterator of [`FrameVec::drain`].
///
/// The list ends before the range while it lives: one that is leaked leaks the elements of the
/// range and those behind it, and nothing worse.
pub struct FrameDrain<'v, 'a, T> {
    // Dropped in this order, also if a destructor panics: the elements, then the gap is closed.
    left: Left<T>,
    _gap: Gap<'v, 'a, T>,
}

impl<'v, 'a, T> FrameDrain<'v, 'a, T> {
    /// `range` must be in bounds.
    pub(super) fn new(vec: &'v mut FrameVec<'a, T>, range: Range<usize>) -> Self {
        let tail = range.end..vec.len;
        vec.len = range.start;
        Self {
            left: Left {
                start: vec.buffer.start(),
                range,
            },
            _gap: Gap { vec, tail },
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
        self.left.as_slice()
    }
}

impl<T> Iterator for FrameDrain<'_, '_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.left.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.range.size_hint()
    }
}

impl<T> DoubleEndedIterator for FrameDrain<'_, '_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.left.next_back()
    }
}

impl<T> ExactSizeIterator for FrameDrain<'_, '_, T> {}
impl<T> FusedIterator for FrameDrain<'_, '_, T> {}

impl<T: fmt::Debug> fmt::Debug for FrameDrain<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameDrain").field(&self.as_slice()).finish()
    }
}

/// Elements that an iterator owns and has not yielded yet.
///
/// It works with indices, so types of no size are like any other.
struct Left<T> {
    /// The start of a block whose elements in `range` are initialised, and owned by this value.
    start: NonNull<T>,
    range: Range<usize>,
}

impl<T> Left<T> {
    fn as_slice(&self) -> &[T] {
        // SAFETY: the range is in bounds of the block.
        let first = unsafe { self.start.add(self.range.start) };
        // SAFETY: these elements are initialised, and borrowed with the iterator.
        unsafe { slice::from_raw_parts(first.as_ptr(), self.range.len()) }
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: the range is in bounds of the block.
        let first = unsafe { self.start.add(self.range.start) };
        // SAFETY: these elements are initialised, and borrowed with the iterator.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), self.range.len()) }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let index = self.range.next()?;
        // SAFETY: the index was in the range.
        let place = unsafe { self.start.add(index) };
        // SAFETY: the element is initialised, and its index does not come again.
        Some(unsafe { place.read() })
    }

    #[inline(always)]
    fn next_back(&mut self) -> Option<T> {
        let index = self.range.next_back()?;
        // SAFETY: the index was in the range.
        let place = unsafe { self.start.add(index) };
        // SAFETY: the element is initialised, and its index does not come again.
        Some(unsafe { place.read() })
    }
}

impl<T> Drop for Left<T> {
    fn drop(&mut self) {
        // SAFETY: these elements are owned, and nobody takes them any more.
        unsafe { ptr::drop_in_place(self.as_mut_slice()) };
    }
}

/// Moves the elements behind a range to the end of the list when it goes.
struct Gap<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    tail: Range<usize>,
}

impl<T> Drop for Gap<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: the tail was in bounds of the list.
        let from = unsafe { self.vec.place(self.tail.start) };
        // SAFETY: the length is not more than the capacity.
        let to = unsafe { self.vec.place(self.vec.len) };
        // SAFETY: the elements of the tail are initialised, and all between were moved or dropped.
        unsafe { ptr::copy(from.as_ptr(), to.as_ptr(), self.tail.len()) };
        self.vec.len += self.tail.len();
    }
}

impl<'a, T> IntoIterator for FrameVec<'a, T> {
    type Item = T;
    type IntoIter = FrameIntoIter<'a, T>;

    #[inline]
    fn into_iter(self) -> FrameIntoIter<'a, T> {
        let len = self.len;
        let vec = ManuallyDrop::new(self);
        // SAFETY: the list is neither used nor dropped again.
        let buffer = unsafe { ptr::read(&vec.buffer) };
        FrameIntoIter {
            left: Left {
                start: buffer.start(),
                range: 0..len,
            },
            _buffer: buffer,
        }
    }
}

impl<'v, T> IntoIterator for &'v FrameVec<'_, T> {
    type Item = &'v T;
    type IntoIter = slice::Iter<'v, T>;

    #[inline]
    fn into_iter(self) -> slice::Iter<'v, T> {
        self.iter()
    }
}

impl<'v, T> IntoIterator for &'v mut FrameVec<'_, T> {
    type Item = &'v mut T;
    type IntoIter = slice::IterMut<'v, T>;

    #[inline]
    fn into_iter(self) -> slice::IterMut<'v, T> {
        self.iter_mut()
    }
}
