//! Inserting into a list and removing from it, and the iterators that move elements out.
#![expect(unsafe_code, reason = "moves elements within and out of raw memory")]

use std::fmt;
use std::iter::{self, FusedIterator};
use std::mem::{self, ManuallyDrop};
use std::ops::{Range, RangeBounds};
use std::ptr::{self, NonNull};
use std::slice;

use super::FrameVec;
use crate::containers::checked_range;
use crate::containers::raw::RawBuffer;

/// # Inserting and removing
///
/// As for [`Vec`], an index or range that is out of bounds is a panic.
impl<'a, T> FrameVec<'a, T> {
    /// Inserts an element before the one at `index`, and moves all behind it.
    #[track_caller]
    pub fn insert(&mut self, index: usize, value: T) {
        let range = checked_range(index..index, self.len);
        self.reserve(1);
        let value = ManuallyDrop::new(value);
        // SAFETY: there is room for one more, and the value is not used again.
        unsafe { self.overwrite(range, &raw const *value, 1) };
    }

    /// Removes the element at `index`, and moves all behind it.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> T {
        let range = checked_range(index..=index, self.len);
        // SAFETY: the element is initialised, and the elements behind it move over it now.
        let removed = unsafe { self.slot(index).read() };
        // SAFETY: the element has moved out, and none takes its place.
        unsafe { self.overwrite(range, ptr::dangling(), 0) };
        removed
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
    /// it are dropped with it.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> FrameDrain<'_, 'a, T> {
        let range = checked_range(range, self.len);
        let tail = range.end..self.len;
        self.len = range.start;
        FrameDrain(Taken {
            start: self.buffer.start(),
            range,
            _then: Gap { vec: self, tail },
        })
    }

    /// Moves all elements from `at` on into a new list of the same arena.
    #[track_caller]
    pub fn split_off(&mut self, at: usize) -> Self {
        let mut tail = self
            .arena()
            .vec_with_capacity(checked_range(at.., self.len).len());
        tail.extend(self.drain(at..));
        tail
    }

    /// Replaces a range that has moved out by other elements, and moves the elements behind it.
    ///
    /// # Safety
    /// - `range` must be in bounds, and its elements must not be used again;
    /// - there must be room for `added - range.len()` more elements;
    /// - `added` initialised elements must lie at `from`, outside of the list, and not be used again.
    #[inline]
    pub(in crate::containers) unsafe fn overwrite(
        &mut self,
        range: Range<usize>,
        from: *const T,
        added: usize,
    ) {
        let behind = self.len - range.end;
        let gap = self.slot(range.start);
        // SAFETY: as many elements are behind the range, and there is room for them and those added.
        unsafe { ptr::copy(self.slot(range.end), gap.wrapping_add(added), behind) };
        // SAFETY: the gap is as long as the new elements, which are not part of the list.
        unsafe { ptr::copy_nonoverlapping(from, gap, added) };
        self.len = range.start + added + behind;
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.retain_mut(|element| keep(element));
    }

    /// Keeps the elements for which `keep` returns `true`, and drops the others.
    ///
    /// If `keep` or a destructor panics, the elements not visited yet are kept.
    pub fn retain_mut(&mut self, mut keep: impl FnMut(&mut T) -> bool) {
        let mut sieve = Sieve::new(self, ..);
        while let Some((_, element)) = sieve.look() {
            let is_kept = keep(element);
            sieve.decide(is_kept);
        }
    }

    /// Returns an iterator that removes the elements of a range for which `take` returns `true`.
    ///
    /// Elements that it has not reached when it is dropped are kept.
    #[track_caller]
    pub fn extract_if(
        &mut self,
        range: impl RangeBounds<usize>,
        mut take: impl FnMut(&mut T) -> bool,
    ) -> impl Iterator<Item = T> {
        let mut sieve = Sieve::new(self, range);
        iter::from_fn(move || {
            while let Some((_, element)) = sieve.look() {
                if take(element) {
                    return Some(sieve.take());
                }
                sieve.decide(true);
            }
            None
        })
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
    pub fn dedup_by(&mut self, mut same: impl FnMut(&mut T, &mut T) -> bool) {
        let mut sieve = Sieve::new(self, ..);
        while let Some((before, element)) = sieve.look() {
            let is_same = before.is_some_and(|before| same(element, before));
            sieve.decide(!is_same);
        }
    }
}

/// A list from which elements are removed one by one.
///
/// Kept elements are at the start, then there is a gap, then the elements not visited. The list itself
/// is empty meanwhile; dropping the sieve, even by a panic, closes the gap and restores the length.
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

    /// Returns the element that was kept last, if one was, and the next one, if there is one.
    #[inline]
    fn look(&mut self) -> Option<(Option<&mut T>, &mut T)> {
        if self.left.is_empty() {
            return None;
        }
        let last = self.kept.checked_sub(1).map(|last| self.vec.slot(last));
        // SAFETY: the elements before `kept` are initialised, and nothing else refers to them.
        let last = last.map(|last| unsafe { &mut *last });
        // SAFETY: the elements not visited are initialised. They are not those that were kept.
        let next = unsafe { &mut *self.vec.slot(self.left.start) };
        Some((last, next))
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
            // SAFETY: the element moves into the gap, to another slot.
            unsafe { ptr::copy_nonoverlapping(element, self.vec.slot(self.kept), 1) };
        }
        self.kept += 1;
    }

    /// Takes the next element out. There must be one.
    #[inline]
    fn take(&mut self) -> T {
        // SAFETY: the element is initialised, and was passed by.
        unsafe { self.pass().read() }
    }

    /// Passes by the next element. From here on the caller owns it, even if its destructor panics.
    #[inline(always)]
    fn pass(&mut self) -> *mut T {
        let element = self.vec.slot(self.left.start);
        self.left.start += 1;
        element
    }
}

impl<T> Drop for Sieve<'_, '_, T> {
    fn drop(&mut self) {
        let behind = self.len - self.left.start;
        let [from, to] = [self.left.start, self.kept].map(|index| self.vec.slot(index));
        // SAFETY: the elements not visited are initialised; they move behind those that were kept.
        unsafe { ptr::copy(from, to, behind) };
        self.vec.len = self.kept + behind;
    }
}

/// Declares a public iterator over [`Taken`] elements.
macro_rules! iterator_of_taken {
    ($(#[$docs:meta])* $name:ident<$($lifetime:lifetime),*>, $then:ty) => {
        $(#[$docs])*
        pub struct $name<$($lifetime,)* T>(Taken<T, $then>);

        impl<$($lifetime,)* T> Iterator for $name<$($lifetime,)* T> {
            type Item = T;

            #[inline]
            fn next(&mut self) -> Option<T> {
                self.0.take(Range::next)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.range.size_hint()
            }
        }

        impl<$($lifetime,)* T> DoubleEndedIterator for $name<$($lifetime,)* T> {
            #[inline]
            fn next_back(&mut self) -> Option<T> {
                self.0.take(Range::next_back)
            }
        }

        impl<$($lifetime,)* T> ExactSizeIterator for $name<$($lifetime,)* T> {}
        impl<$($lifetime,)* T> FusedIterator for $name<$($lifetime,)* T> {}

        impl<$($lifetime,)* T: fmt::Debug> fmt::Debug for $name<$($lifetime,)* T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let left = &self.0.as_slice();
                f.debug_tuple(stringify!($name)).field(left).finish()
            }
        }
    };
}

iterator_of_taken! {
    /// The iterator of a [`FrameVec`] by value.
    FrameIntoIter<'a>, RawBuffer<'a, T>
}

iterator_of_taken! {
    /// The iterator of [`FrameVec::drain`].
    ///
    /// The list ends before the range while the iterator lives. If the iterator is leaked, so are the
    /// elements of the range and those behind it.
    FrameDrain<'v, 'a>, Gap<'v, 'a, T>
}

/// Elements that an iterator owns and has not yielded yet, and the value that is dropped after them.
///
/// It works with indices, so zero-sized types are like any other.
struct Taken<T, Then> {
    /// The start of a block whose elements in `range` are initialised, and owned by this value.
    start: NonNull<T>,
    range: Range<usize>,
    /// Dropped after the elements, even if one of their destructors panics.
    _then: Then,
}

impl<T, Then> Taken<T, Then> {
    fn as_slice(&self) -> &[T] {
        let first = self.start.as_ptr().wrapping_add(self.range.start);
        // SAFETY: the elements of the range are initialised, and borrowed with the iterator.
        unsafe { slice::from_raw_parts(first, self.range.len()) }
    }

    /// Moves the element out whose index `end` takes off the range.
    #[inline(always)]
    fn take(&mut self, end: impl FnOnce(&mut Range<usize>) -> Option<usize>) -> Option<T> {
        let index = end(&mut self.range)?;
        // SAFETY: the element is initialised, and the range has just given up its index for good.
        Some(unsafe { self.start.as_ptr().wrapping_add(index).read() })
    }
}

impl<T, Then> Drop for Taken<T, Then> {
    fn drop(&mut self) {
        let first = self.start.as_ptr().wrapping_add(self.range.start);
        let left = ptr::slice_from_raw_parts_mut(first, self.range.len());
        // SAFETY: these elements are initialised and owned, and not used again.
        unsafe { left.drop_in_place() };
    }
}

/// Moves the elements behind a range to the end of the list when it is dropped.
struct Gap<'v, 'a, T> {
    vec: &'v mut FrameVec<'a, T>,
    tail: Range<usize>,
}

impl<T> Drop for Gap<'_, '_, T> {
    fn drop(&mut self) {
        let [from, to] = [self.tail.start, self.vec.len].map(|index| self.vec.slot(index));
        // SAFETY: the elements of the tail are initialised, and all between were moved or dropped.
        unsafe { ptr::copy(from, to, self.tail.len()) };
        self.vec.len += self.tail.len();
    }
}

impl<'a, T> IntoIterator for FrameVec<'a, T> {
    type Item = T;
    type IntoIter = FrameIntoIter<'a, T>;

    #[inline]
    fn into_iter(self) -> FrameIntoIter<'a, T> {
        let vec = ManuallyDrop::new(self);
        FrameIntoIter(Taken {
            start: vec.buffer.start(),
            range: 0..vec.len,
            // SAFETY: the list is neither used nor dropped again.
            _then: unsafe { ptr::read(&vec.buffer) },
        })
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
