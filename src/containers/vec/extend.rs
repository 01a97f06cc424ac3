//! The capacity of a list, and appending many elements at once.
#![expect(unsafe_code, reason = "writes elements into reserved memory")]

use std::iter::repeat_n;
use std::mem::MaybeUninit;
use std::ops::RangeBounds;
use std::ptr;

use super::FrameVec;
use crate::containers::{checked_range, or_fail};
use crate::error::ArenaError;

/// # Room
impl<T> FrameVec<'_, T> {
    /// Makes room for at least `additional` more elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1]);
    /// list.reserve(100);
    /// assert!(list.capacity() > 100);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if additional > self.capacity() - self.len {
            self.buffer.grow(self.len, additional);
        }
    }

    /// Makes room for at least `additional` more elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        if additional > self.capacity() - self.len {
            self.buffer.try_grow(self.len, additional)?;
        }
        Ok(())
    }

    /// Makes room for `additional` more elements, and no more than that.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1]);
    /// list.reserve_exact(100);
    /// assert_eq!(list.capacity(), 101);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve_exact(&mut self, additional: usize) {
        or_fail(self.try_reserve_exact(additional));
    }

    /// As [`reserve_exact`](Self::reserve_exact); an error changes nothing.
    #[inline]
    pub(crate) fn try_reserve_exact(&mut self, additional: usize) -> Result<(), ArenaError> {
        if additional > self.capacity() - self.len {
            self.buffer.try_grow_exact(self.len, additional)?;
        }
        Ok(())
    }

    /// Gives unused capacity back, if this is the newest thing in the arena. Else nothing would be
    /// gained, and the capacity stays.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(100);
    /// list.push(1_u64);
    /// list.shrink_to_fit();
    /// assert_eq!(arena.used_bytes(), 8);
    /// ```
    #[inline]
    pub fn shrink_to_fit(&mut self) {
        self.buffer.shrink_to(self.len);
    }

    /// Gives capacity beyond `min_capacity` back, as [`shrink_to_fit`](Self::shrink_to_fit) does.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(100);
    /// list.push(1_u64);
    /// list.shrink_to(10);
    /// assert_eq!(list.capacity(), 10);
    /// ```
    #[inline]
    pub fn shrink_to(&mut self, min_capacity: usize) {
        self.buffer.shrink_to(self.len.max(min_capacity));
    }
}

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
    pub(super) unsafe fn fill_from(&mut self, iter: impl Iterator<Item = T>, count: usize) {
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
    pub fn resize_with(&mut self, new_len: usize, mut make: impl FnMut() -> T) {
        let Some(additional) = new_len.checked_sub(self.len) else {
            return self.truncate(new_len);
        };
        self.reserve(additional);
        // SAFETY: there is room for as many.
        unsafe { self.fill(&mut (0..additional).map(|_| make()), additional) };
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
        let range = checked_range(range, self.len);
        let count = range.len();
        self.reserve(count);
        let (elements, spare) = self.split_at_spare();
        spare[..count].write_clone_of_slice(&elements[range]);
        self.len += count;
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
