//! Taking a list apart.
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
///
/// It works with indices, so types of no size are like any other.
pub struct FrameIntoIter<'a, T> {
    buffer: RawBuffer<'a, T>,
    /// The elements not yielded yet.
    left: Range<usize>,
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
        let first = self.first().as_ptr();
        // SAFETY: these elements are there, and borrowed with the iterator.
        unsafe { slice::from_raw_parts(first, self.left.len()) }
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
        let first = self.first().as_ptr();
        // SAFETY: these elements are there, and borrowed with the iterator.
        unsafe { slice::from_raw_parts_mut(first, self.left.len()) }
    }

    /// Returns the place of the next element, or of the end.
    #[inline(always)]
    fn first(&self) -> NonNull<T> {
        // SAFETY: the start of those that are left is not more than the length was.
        unsafe { self.place(self.left.start) }
    }

    /// # Safety
    /// The index is not more than the list's length was.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> NonNull<T> {
        // SAFETY: in bounds of the block, or one behind it.
        unsafe { self.buffer.start().add(index) }
    }

    /// # Safety
    /// The index was just taken from those that are left.
    #[inline(always)]
    unsafe fn take(&mut self, index: usize) -> T {
        // SAFETY: the index lies in what was the list.
        let place = unsafe { self.place(index) };
        // SAFETY: the element is there, and its index does not come again.
        unsafe { place.read() }
    }
}

impl<T> Iterator for FrameIntoIter<'_, T> {
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

impl<T> DoubleEndedIterator for FrameIntoIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let index = self.left.next_back()?;
        // SAFETY: it was just taken.
        Some(unsafe { self.take(index) })
    }
}

impl<T> ExactSizeIterator for FrameIntoIter<'_, T> {}
impl<T> FusedIterator for FrameIntoIter<'_, T> {}

impl<T> Drop for FrameIntoIter<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the elements that are left are there, and nobody takes them any more.
        unsafe { ptr::drop_in_place(self.as_mut_slice()) };
        // The buffer gives its memory back after this, also when a destructor panics.
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameIntoIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrameIntoIter")
            .field(&self.as_slice())
            .finish()
    }
}

impl<'a, T> IntoIterator for FrameVec<'a, T> {
    type Item = T;
    type IntoIter = FrameIntoIter<'a, T>;

    #[inline]
    fn into_iter(self) -> FrameIntoIter<'a, T> {
        let len = self.len;
        let vec = ManuallyDrop::new(self);
        FrameIntoIter {
            // SAFETY: the list is neither used nor dropped again.
            buffer: unsafe { ptr::read(&vec.buffer) },
            left: 0..len,
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
