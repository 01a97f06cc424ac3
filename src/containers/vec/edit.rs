//! Inserting into a list and removing from it, and the iterator that moves elements out.
#![expect(unsafe_code, reason = "moves elements out of raw memory")]

use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};
use std::ptr::{self, NonNull};
use std::slice;

use super::FrameVec;
use crate::containers::checked_range;
use crate::containers::raw::RawBuffer;

/// # Inserting and removing
///
/// As for [`Vec`], an index or range that is out of bounds is a panic.
impl<T> FrameVec<'_, T> {
    /// Inserts an element before the one at `index`, and moves all behind it.
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        checked_range(index.., self.len);
        self.push(value);
        self[index..].rotate_right(1);
    }

    /// Removes the element at `index`, and moves all behind it.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        checked_range(index..=index, self.len);
        self[index..].rotate_left(1);
        self.pop().expect("the list is not empty")
    }

    /// Removes the element at `index`, and moves the last one into its place.
    #[track_caller]
    pub fn swap_remove(&mut self, index: usize) -> T {
        checked_range(index..=index, self.len);
        let last = self.len - 1;
        self.swap(index, last);
        self.pop().expect("the list is not empty")
    }

    /// Removes a range of elements and returns an iterator over them. Elements that are not taken from
    /// it are dropped with it. If the iterator is leaked, so are they.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> FrameIntoIter<'_, T> {
        let range = checked_range(range, self.len);
        // The list keeps the elements behind the range, so they move in front of it now.
        self[range.start..].rotate_left(range.len());
        let old_len = self.len;
        self.len -= range.len();
        FrameIntoIter {
            start: self.buffer.start(),
            left: self.len..old_len,
            _buffer: RawBuffer::new_in(self.arena()),
        }
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|element| keep(element));
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// If `keep` panics, all elements stay, in an unspecified order.
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut kept = 0;
        for index in 0..self.len {
            if keep(&mut self[index]) {
                self.swap(kept, index);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Drops each element that is equal to the one before it.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.dedup_by(|element, before| element == before);
    }

    /// Drops each element whose key is that of the one before it.
    pub fn dedup_by_key<K: PartialEq>(&mut self, mut key: impl FnMut(&mut T) -> K) {
        self.dedup_by(|element, before| key(element) == key(before));
    }

    /// Drops each element for which `same` returns `true`. Its arguments are the element and the one
    /// kept before it.
    ///
    /// If `same` panics, all elements stay, in an unspecified order.
    pub fn dedup_by(&mut self, mut same: impl FnMut(&mut T, &mut T) -> bool) {
        let mut kept = self.len.min(1);
        for index in 1..self.len {
            let (before, rest) = self.split_at_mut(index);
            if !same(&mut rest[0], &mut before[kept - 1]) {
                self.swap(kept, index);
                kept += 1;
            }
        }
        self.truncate(kept);
    }
}

/// The iterator of a [`FrameVec`] by value, and of [`FrameVec::drain`].
pub struct FrameIntoIter<'a, T> {
    /// The start of a block whose elements in `left` are initialised, and owned by this value.
    start: NonNull<T>,
    /// Indices, so that zero-sized types are like any other.
    left: Range<usize>,
    /// The block, unless a list keeps it. It is freed after the elements are dropped, even if one of their
    /// destructors panics.
    _buffer: RawBuffer<'a, T>,
}

impl<T> Iterator for FrameIntoIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let element = self.start.as_ptr().wrapping_add(self.left.next()?);
        // SAFETY: the element was initialised, and its index was just taken off.
        Some(unsafe { element.read() })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<T> DoubleEndedIterator for FrameIntoIter<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        let element = self.start.as_ptr().wrapping_add(self.left.next_back()?);
        // SAFETY: the element was initialised, and its index was just taken off.
        Some(unsafe { element.read() })
    }
}

impl<T> ExactSizeIterator for FrameIntoIter<'_, T> {}
impl<T> FusedIterator for FrameIntoIter<'_, T> {}

impl<T> Drop for FrameIntoIter<'_, T> {
    fn drop(&mut self) {
        let first = self.start.as_ptr().wrapping_add(self.left.start);
        let left = ptr::slice_from_raw_parts_mut(first, self.left.len());
        // SAFETY: these elements are initialised and owned, and not used again.
        unsafe { left.drop_in_place() };
    }
}

impl<'a, T> IntoIterator for FrameVec<'a, T> {
    type Item = T;
    type IntoIter = FrameIntoIter<'a, T>;

    #[inline]
    fn into_iter(self) -> FrameIntoIter<'a, T> {
        let vec = ManuallyDrop::new(self);
        FrameIntoIter {
            start: vec.buffer.start(),
            left: 0..vec.len,
            // SAFETY: the list is neither used nor dropped again.
            _buffer: unsafe { ptr::read(&vec.buffer) },
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
