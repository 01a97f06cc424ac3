//! Appending many elements at once.
#![expect(unsafe_code, reason = "writes elements into reserved memory")]

use std::io;
use std::iter::repeat_n;
use std::mem::MaybeUninit;
use std::ops::RangeBounds;
use std::ptr;

use super::FrameVec;
use crate::containers::{or_fail, range};
use crate::error::ArenaError;

/// # Adding many
impl<T> FrameVec<'_, T> {
    /// Appends everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was yielded before that stays.
    #[inline]
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), ArenaError> {
        let mut iter = iter.into_iter();
        let known = iter.size_hint().0;
        self.try_reserve(known)?;
        // SAFETY: there is room for as many.
        if unsafe { self.fill(&mut iter, known) } < known {
            return Ok(());
        }
        while let Some(value) = iter.next() {
            if self.len == self.capacity() {
                let known = iter.size_hint().0.saturating_add(1);
                self.buffer.try_grow(self.len, known)?;
            }
            // SAFETY: there is room for one.
            unsafe { self.push_within_capacity(value) };
        }
        Ok(())
    }

    /// Appends what an iterator yields, at most `count`, and returns how many there were.
    ///
    /// The bound is the caller's, not the iterator's, which may yield more than it said. With an
    /// honest one the compiler sees that both end together, and drops one of the two checks.
    ///
    /// # Safety
    /// There is room for `count` more elements.
    #[inline(always)]
    unsafe fn fill(&mut self, iter: &mut impl Iterator<Item = T>, count: usize) -> usize {
        let start = self.buffer.start();
        let from = self.len;
        let mut filled = Filled {
            len: &mut self.len,
            now: from,
        };
        for _ in 0..count {
            let Some(value) = iter.next() else { break };
            // SAFETY: fewer than `count` were written, for which there is room.
            let place = unsafe { start.add(filled.now) };
            // SAFETY: as above.
            unsafe { place.write(value) };
            filled.now += 1;
        }
        filled.now - from
    }

    /// Appends what an iterator yields, at most `count`, and forgets the rest of it.
    ///
    /// `zip` knows which iterators of the standard library keep their word, if it has them by value,
    /// and then counts but once: what comes from a slice is a `memcpy`.
    ///
    /// # Safety
    /// There is room for `count` more elements.
    #[inline(always)]
    unsafe fn fill_from(&mut self, iter: impl Iterator<Item = T>, count: usize) {
        // SAFETY: the caller promises the room.
        let places = unsafe { self.elements(self.len, count) };
        // SAFETY: the memory behind the elements is the list's own, and need not be initialised.
        let places = unsafe { &mut *(places.as_ptr() as *mut [MaybeUninit<T>]) };
        let mut filled = Filled {
            now: self.len,
            len: &mut self.len,
        };
        places.iter_mut().zip(iter).for_each(|(place, value)| {
            place.write(value);
            filled.now += 1;
        });
    }

    /// Moves all elements of another list to the end of this one.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let (mut near, mut far) = (arena.collect([1, 2]), arena.collect([3]));
    /// near.append(&mut far);
    /// assert_eq!((near.len(), far.len()), (3, 0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn append(&mut self, other: &mut FrameVec<'_, T>) {
        self.reserve(other.len);
        // SAFETY: there is room for them.
        unsafe { self.append_within_capacity(other) };
    }

    /// Moves all elements of another list to the end of this one.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing moves then.
    pub fn try_append(&mut self, other: &mut FrameVec<'_, T>) -> Result<(), ArenaError> {
        self.try_reserve(other.len)?;
        // SAFETY: there is room for them.
        unsafe { self.append_within_capacity(other) };
        Ok(())
    }

    /// # Safety
    /// There is room for the elements of `other`.
    #[inline]
    unsafe fn append_within_capacity(&mut self, other: &mut FrameVec<'_, T>) {
        let count = std::mem::take(&mut other.len);
        // SAFETY: the length is not more than the capacity.
        let place = unsafe { self.place(self.len) };
        // SAFETY:
        // - the other list had `count` elements, which it gave up;
        // - there is room for them here, and two lists share no memory.
        unsafe { ptr::copy_nonoverlapping(other.as_ptr(), place.as_ptr(), count) };
        self.len += count;
    }

    /// Makes the list `new_len` long: drops what is beyond that, or appends what `make` returns.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec();
    /// list.resize_with(3, String::new);
    /// assert_eq!(list, ["", "", ""]);
    /// ```
    #[track_caller]
    pub fn resize_with(&mut self, new_len: usize, make: impl FnMut() -> T) {
        or_fail(self.try_resize_with(new_len, make));
    }

    /// Makes the list `new_len` long: drops what is beyond that, or appends what `make` returns.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    pub fn try_resize_with(
        &mut self,
        new_len: usize,
        mut make: impl FnMut() -> T,
    ) -> Result<(), ArenaError> {
        if new_len <= self.len {
            self.truncate(new_len);
            return Ok(());
        }
        let additional = new_len - self.len;
        self.try_reserve(additional)?;
        // SAFETY: there is room for as many.
        unsafe { self.fill(&mut (0..additional).map(|_| make()), additional) };
        Ok(())
    }
}

/// # Adding clones
impl<'a, T: Clone> FrameVec<'a, T> {
    /// Appends clones of the elements of a slice: with one `memcpy`, for types that are `Copy`.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`]. If a clone panics, nothing
    /// is appended.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut vertices = arena.vec();
    /// vertices.extend_from_slice(&[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
    /// assert_eq!(vertices.len(), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn extend_from_slice(&mut self, source: &[T]) {
        self.reserve(source.len());
        self.extend_within_capacity(source);
    }

    /// Appends clones of the elements of a slice: with one `memcpy`, for types that are `Copy`.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing is appended then.
    #[inline]
    pub fn try_extend_from_slice(&mut self, source: &[T]) -> Result<(), ArenaError> {
        self.try_reserve(source.len())?;
        self.extend_within_capacity(source);
        Ok(())
    }

    #[inline(always)]
    fn extend_within_capacity(&mut self, source: &[T]) {
        // A clone that panics drops those before it, and the length stays.
        self.spare_capacity_mut()[..source.len()].write_clone_of_slice(source);
        self.len += source.len();
    }

    /// Appends clones of some of the list's own elements.
    ///
    /// # Panics
    /// If the range is out of bounds, or the arena out of memory or over a limit; see
    /// [`ArenaError`]. If a clone panics, nothing is appended.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// list.extend_from_within(1..);
    /// assert_eq!(list, [1, 2, 3, 2, 3]);
    /// ```
    #[track_caller]
    pub fn extend_from_within(&mut self, range: impl RangeBounds<usize>) {
        or_fail(self.try_extend_from_within(range));
    }

    /// Appends clones of some of the list's own elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing is appended then.
    ///
    /// # Panics
    /// If the range is out of bounds.
    #[track_caller]
    pub fn try_extend_from_within(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<(), ArenaError> {
        let range = range::checked(range, self.len);
        let count = range.len();
        self.try_reserve(count)?;
        let (elements, spare) = self.split_at_spare();
        spare[..count].write_clone_of_slice(&elements[range]);
        self.len += count;
        Ok(())
    }

    /// Makes the list `new_len` long: drops what is beyond that, or appends clones of `value`.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut grid = arena.vec();
    /// grid.resize(4, 0.5);
    /// assert_eq!(grid, [0.5; 4]);
    /// ```
    #[track_caller]
    pub fn resize(&mut self, new_len: usize, value: T) {
        or_fail(self.try_resize(new_len, value));
    }

    /// Makes the list `new_len` long: drops what is beyond that, or appends clones of `value`.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    pub fn try_resize(&mut self, new_len: usize, value: T) -> Result<(), ArenaError> {
        if new_len <= self.len {
            self.truncate(new_len);
            return Ok(());
        }
        let additional = new_len - self.len;
        self.try_reserve(additional)?;
        // SAFETY: there is room for as many.
        unsafe { self.fill(&mut repeat_n(value, additional), additional) };
        Ok(())
    }

    /// Clones the list into the same arena.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    pub fn try_clone(&self) -> Result<Self, ArenaError> {
        let mut clone = Self::try_with_capacity_in(self.len, self.arena())?;
        clone.extend_within_capacity(self);
        Ok(clone)
    }
}

impl FrameVec<'_, u8> {
    /// Appends bytes. The length comes first: nothing is left to do behind the copy.
    ///
    /// # Safety
    /// There is room for them.
    #[inline(always)]
    pub(in crate::containers) unsafe fn append_bytes_within_capacity(&mut self, bytes: &[u8]) {
        // SAFETY: the length is not more than the capacity.
        let place = unsafe { self.place(self.len) };
        self.len += bytes.len();
        // SAFETY: there is room for them, and nobody else has a reference to it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
    }
}

/// The length of a list that is being filled: stored at the end, also when an iterator panics.
struct Filled<'v> {
    len: &'v mut usize,
    now: usize,
}

impl Drop for Filled<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.len = self.now;
    }
}

/// Clones into the same arena.
impl<T: Clone> Clone for FrameVec<'_, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        or_fail(self.try_clone())
    }
}

impl<T> Extend<T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

/// With one `memcpy` from a slice. An iterator that says how much it yields is taken at its word, and
/// what it yields beyond that is left.
impl<'e, T: Copy> Extend<&'e T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'e T>>(&mut self, iter: I) {
        let iter = iter.into_iter().copied();
        let (least, most) = iter.size_hint();
        if most == Some(least) {
            self.reserve(least);
            // SAFETY: there is room for as many.
            unsafe { self.fill_from(iter, least) };
        } else {
            or_fail(self.try_extend(iter));
        }
    }
}

/// Appends bytes. A refusal is an error of kind `OutOfMemory`, with the [`ArenaError`] inside.
impl io::Write for FrameVec<'_, u8> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.try_extend_from_slice(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
