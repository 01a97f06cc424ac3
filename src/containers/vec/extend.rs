//! The capacity of a list, and appending many elements at once.
#![expect(unsafe_code, reason = "writes elements into reserved memory")]

use std::iter::repeat_n;
use std::mem::{self, MaybeUninit};
use std::{ptr, slice};

use super::FrameVec;
use crate::containers::or_fail;
use crate::error::ArenaError;

/// # Capacity
impl<T> FrameVec<'_, T> {
    /// Makes room for at least `additional` more elements.
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if additional > self.capacity() - self.len {
            self.buffer.grow(self.len, additional);
        }
    }

    /// Makes room for at least `additional` more elements, or returns an error and changes nothing.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameArenaSettings};
    /// let arena = FrameArena::with_settings(&FrameArenaSettings {
    ///     worker_limit_bytes: Some(1024),
    ///     ..Default::default()
    /// });
    /// let mut list = arena.collect([1_u64, 2]);
    /// assert!(list.try_reserve(1000).is_err());
    /// assert_eq!(list, [1, 2]);
    /// ```
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        if additional > self.capacity() - self.len {
            self.buffer.try_grow(self.len, additional)?;
        }
        Ok(())
    }

    /// Gives unused capacity back if this is the newest allocation of the arena. Otherwise there is
    /// nothing to gain, and the capacity stays.
    #[inline]
    pub fn shrink_to_fit(&mut self) {
        self.buffer.shrink_to(self.len);
    }
}

/// # Appending many
impl<T> FrameVec<'_, T> {
    /// Appends all elements of an iterator, or returns an error. Elements yielded before that stay.
    #[inline]
    pub fn try_extend(&mut self, iter: impl IntoIterator<Item = T>) -> Result<(), ArenaError> {
        let mut iter = iter.into_iter();
        let known = iter.size_hint().0;
        self.try_reserve(known)?;
        let (slots, mut filled) = self.slots();
        // The iterator may yield more elements than its hint. If the hint is exact, the compiler finds that
        // both bounds and the iterator end together.
        for (value, slot) in iter.by_ref().take(known).zip(slots) {
            slot.write(value);
            filled.count += 1;
        }
        if filled.count < known {
            return Ok(());
        }
        drop(filled);
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

    /// Returns the spare capacity behind the elements.
    #[inline]
    pub(crate) fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<T>] {
        self.slots().0
    }

    /// Returns the spare capacity behind the elements, and the guard that counts the elements written there.
    #[inline(always)]
    fn slots(&mut self) -> (&mut [MaybeUninit<T>], Filled<'_>) {
        let (start, len) = (self.slot(self.len).cast(), self.capacity() - self.len);
        // SAFETY: the memory behind the elements, up to the capacity, is the list's own, and need not
        // be initialised.
        let slots = unsafe { slice::from_raw_parts_mut(start, len) };
        let len = &mut self.len;
        (slots, Filled { len, count: 0 })
    }

    /// Moves all elements of another list to the end of this one.
    #[inline]
    #[track_caller]
    pub fn append(&mut self, other: &mut FrameVec<'_, T>) {
        self.reserve(other.len);
        let count = mem::take(&mut other.len);
        // SAFETY:
        // - the other list had `count` elements, which it gave up;
        // - there is room for them here, and two lists share no memory.
        unsafe { ptr::copy_nonoverlapping(other.slot(0), self.slot(self.len), count) };
        self.len += count;
    }

    /// Sets the length to `new_len`: drops the elements beyond it, or appends elements returned by `make`.
    #[track_caller]
    pub fn resize_with(&mut self, new_len: usize, mut make: impl FnMut() -> T) {
        self.truncate(new_len);
        self.extend((self.len..new_len).map(|_| make()));
    }
}

/// # Appending clones
impl<T: Clone> FrameVec<'_, T> {
    /// Appends clones of the elements of a slice: with one `memcpy`, for types that are `Copy`.
    ///
    /// If a clone panics, nothing is appended.
    #[inline]
    #[track_caller]
    pub fn extend_from_slice(&mut self, source: &[T]) {
        self.reserve(source.len());
        self.extend_within_capacity(source);
    }

    /// Appends as [`extend_from_slice`](Self::extend_from_slice) does, or returns an error and appends nothing.
    #[inline]
    pub fn try_extend_from_slice(&mut self, source: &[T]) -> Result<(), ArenaError> {
        self.try_reserve(source.len())?;
        self.extend_within_capacity(source);
        Ok(())
    }

    #[inline(always)]
    fn extend_within_capacity(&mut self, source: &[T]) {
        // If a clone panics, the clones before it are dropped, and the length is unchanged.
        self.spare_capacity_mut()[..source.len()].write_clone_of_slice(source);
        self.len += source.len();
    }

    /// Sets the length to `new_len`: drops the elements beyond it, or appends clones of `value`.
    #[track_caller]
    pub fn resize(&mut self, new_len: usize, value: T) {
        or_fail(self.try_resize(new_len, value));
    }

    /// Sets the length as [`resize`](Self::resize) does, or returns an error and changes nothing.
    pub fn try_resize(&mut self, new_len: usize, value: T) -> Result<(), ArenaError> {
        self.truncate(new_len);
        self.try_extend(repeat_n(value, new_len - self.len))
    }
}

impl FrameVec<'_, u8> {
    /// Appends bytes. The length is set first, so that nothing follows the copy.
    ///
    /// # Safety
    /// There must be room for them.
    #[inline(always)]
    pub(in crate::containers) unsafe fn append_bytes_within_capacity(&mut self, bytes: &[u8]) {
        let end = self.slot(self.len);
        self.len += bytes.len();
        // SAFETY: there is room for them, and no other reference reaches it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), end, bytes.len()) };
    }
}

/// If the iterator panics, the elements yielded before that stay. In contrast,
/// [`extend_from_slice`](FrameVec::extend_from_slice) appends all elements or none.
impl<T> Extend<T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, iter: I) {
        or_fail(self.try_extend(iter));
    }
}

/// With one `memcpy` from a slice. An iterator with an exact size hint is read up to that length, and no further.
impl<'e, T: Copy> Extend<&'e T> for FrameVec<'_, T> {
    #[inline]
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'e T>>(&mut self, iter: I) {
        let iter = iter.into_iter().copied();
        let (least, most) = iter.size_hint();
        if most != Some(least) {
            return or_fail(self.try_extend(iter));
        }
        self.reserve(least);
        // `zip` is specialised for iterators of the standard library with exact lengths, if it owns them. It
        // then counts only once: appending from a slice is a `memcpy`.
        let (slots, mut filled) = self.slots();
        slots[..least]
            .iter_mut()
            .zip(iter)
            .for_each(|(slot, value)| {
                slot.write(value);
                filled.count += 1;
            });
    }
}

/// The elements that were written behind a list. They are added to it at the end, even if an iterator panics.
struct Filled<'v> {
    len: &'v mut usize,
    count: usize,
}

impl Drop for Filled<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.len += self.count;
    }
}
