//! A growing list in an arena.
#![expect(unsafe_code, reason = "owns elements in raw memory")]

mod edit;
mod extend;

use std::hint::cold_path;
use std::io;
use std::mem::{ManuallyDrop, needs_drop};
use std::ops::{Deref, DerefMut};
use std::{ptr, slice};

pub use self::edit::FrameIntoIter;
use super::raw::RawBuffer;
use super::{compared_as_contents, like_contents};
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A list in an arena, with the common methods of [`Vec`]: for everything that a system collects.
///
/// [`FrameArena::vec`], [`vec_with_capacity`](FrameArena::vec_with_capacity) and
/// [`collect`](FrameArena::collect) make one. It stays in the system that made it, and drops its
/// elements at the end of its scope. To keep them in a component, resource or message,
/// [`share`](Self::share) it and store the handle; the compiler refuses the list itself there, because
/// it borrows the arena and belongs to one thread.
///
/// While it is the newest allocation of its arena it grows, shrinks and is freed in place. Otherwise
/// growing moves it, and its old memory stays unused until the frame is recycled. So reserve the capacity
/// of lists that grow side by side.
///
/// # Panics
/// Every method that needs memory panics with the text of the [`ArenaError`] if the arena is out of memory
/// or over a limit. The process is never aborted. To get the error instead, make room with
/// [`try_reserve`](Self::try_reserve), or use the `try_` twin of the most common methods.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut names = arena.vec();
/// names.push(String::from("Ferris"));
/// names.extend(["Corro", "Gopher"].map(String::from));
/// names.retain(|name| name.len() > 5);
/// assert_eq!(names, ["Ferris", "Gopher"]);
/// ```
pub struct FrameVec<'a, T> {
    buffer: RawBuffer<'a, T>,
    /// The first `len` elements of the buffer are initialised.
    len: usize,
}

/// # Reading, pushing, popping
impl<'a, T> FrameVec<'a, T> {
    #[inline]
    pub(crate) const fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            buffer: RawBuffer::new_in(arena),
            len: 0,
        }
    }

    /// Creates a list with room for exactly `capacity` elements.
    #[inline]
    pub(super) fn try_with_capacity(
        capacity: usize,
        arena: &'a FrameArena,
    ) -> Result<Self, ArenaError> {
        let start = arena.try_take_elements(capacity)?;
        // SAFETY: the block was just taken for this many elements, from this arena.
        let buffer = unsafe { RawBuffer::from_raw(start, capacity, arena) };
        Ok(Self { buffer, len: 0 })
    }

    /// Creates a list with room for `capacity` elements if the active block has it, or else with none.
    #[inline(always)]
    pub(super) fn with_capacity_of_block(capacity: usize, arena: &'a FrameArena) -> Self {
        let Some(start) = arena.take_elements_of_block(capacity) else {
            cold_path();
            return Self::new_in(arena);
        };
        // SAFETY: the block was just taken for this many elements, from this arena.
        let buffer = unsafe { RawBuffer::from_raw(start, capacity, arena) };
        Self { buffer, len: 0 }
    }

    /// Returns the arena.
    #[inline]
    pub const fn arena(&self) -> &'a FrameArena {
        self.buffer.arena()
    }

    /// Returns the number of elements that fit before the list grows.
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the elements, as `&list[..]` does.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Appends an element.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity() {
            self.buffer.grow(self.len, 1);
        }
        // SAFETY: there is room for one.
        unsafe { self.push_within_capacity(value) };
    }

    /// Appends as [`push`](Self::push) does, or returns an error and drops the element.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), ArenaError> {
        if self.len == self.capacity() {
            self.buffer.try_grow(self.len, 1)?;
        }
        // SAFETY: there is room for one.
        unsafe { self.push_within_capacity(value) };
        Ok(())
    }

    /// Removes the last element and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the element behind the new length is initialised, and given up with the old length.
        Some(unsafe { self.slot(self.len).read() })
    }

    /// Drops all elements beyond the first `len`, and keeps the memory.
    pub fn truncate(&mut self, len: usize) {
        let Some(surplus) = self.len.checked_sub(len) else {
            return;
        };
        // Before anything is dropped: a destructor may panic, and must not run twice.
        self.len = len;
        let surplus = ptr::slice_from_raw_parts_mut(self.slot(len), surplus);
        // SAFETY: these elements are initialised, and were given up with the old length.
        unsafe { surplus.drop_in_place() };
    }

    /// Drops all elements, and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Sets the length.
    ///
    /// # Safety
    /// `len <= capacity()`, and the first `len` elements must be initialised.
    #[inline]
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity(), "the length exceeds the capacity");
        self.len = len;
    }

    /// Returns the slot of an element, which is in the buffer if `index` is below the capacity.
    #[inline(always)]
    fn slot(&self, index: usize) -> *mut T {
        self.buffer.start().as_ptr().wrapping_add(index)
    }

    /// # Safety
    /// The length must be below the capacity.
    #[inline(always)]
    unsafe fn push_within_capacity(&mut self, value: T) {
        // Not `slot`: the loop of pushes takes fewer instructions if the compiler knows the bounds.
        // SAFETY: the length is below the capacity.
        let slot = unsafe { self.buffer.start().add(self.len) };
        // SAFETY: the slot is in the buffer, behind the elements that are initialised.
        unsafe { slot.write(value) };
        self.len += 1;
    }

    /// Gives up the list and returns its elements, which live as long as the arena is borrowed and
    /// are never dropped.
    #[inline]
    pub fn leak(self) -> &'a mut [T] {
        let (start, len) = (self.buffer.start(), self.len);
        let _not_dropped = ManuallyDrop::new(self);
        // SAFETY:
        // - the first `len` elements are initialised, in memory that is not returned to the arena;
        // - the list that owned them is gone, so no other reference reaches them.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) }
    }
}

impl<T> Drop for FrameVec<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: the elements are initialised, and not used again.
            unsafe { ptr::drop_in_place(&raw mut **self) };
        }
        // The buffer returns its memory after this, even if a destructor panics.
    }
}

impl<T> Deref for FrameVec<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` elements are initialised, and borrowed with the list.
        unsafe { slice::from_raw_parts(self.buffer.start().as_ptr(), self.len) }
    }
}

impl<T> DerefMut for FrameVec<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `len` elements are initialised, and borrowed with the list.
        unsafe { slice::from_raw_parts_mut(self.buffer.start().as_ptr(), self.len) }
    }
}

/// Clones into the same arena.
impl<T: Clone> Clone for FrameVec<'_, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = self.arena().vec_with_capacity(self.len);
        clone.extend_from_slice(self);
        clone
    }

    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        self.clear();
        self.extend_from_slice(source);
    }
}

/// Appends bytes. A refusal is an error of kind `OutOfMemory` that contains the [`ArenaError`].
impl io::Write for FrameVec<'_, u8> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.try_extend_from_slice(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => Err(io::Error::new(io::ErrorKind::OutOfMemory, error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

like_contents! { [T] FrameVec<'_, T>, [T] }

compared_as_contents! {
    [T: PartialEq<U>, U] FrameVec<'_, T>, FrameVec<'_, U>;
    [T: PartialEq<U>, U] FrameVec<'_, T>, [U];
    [T: PartialEq<U>, U] FrameVec<'_, T>, &[U];
    [T: PartialEq<U>, U] FrameVec<'_, T>, Vec<U>;
    [T: PartialEq<U>, U, const N: usize] FrameVec<'_, T>, [U; N];
    [T: PartialEq<U>, U, const N: usize] FrameVec<'_, T>, &[U; N];
    [T: PartialEq<U>, U] [T], FrameVec<'_, U>;
    [T: PartialEq<U>, U] &[T], FrameVec<'_, U>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_zero_sized_values_can_be_as_long_as_a_number_and_no_longer() {
        let arena = FrameArena::new(64);
        let mut list = FrameVec::new_in(&arena);
        // SAFETY: such a list has room for any number of elements, which need no initialisation.
        unsafe { list.set_len(usize::MAX - 1) };
        list.push(());
        assert!(list.try_push(()).is_err() && list.try_reserve(1).is_err());
        assert!(list.try_extend([()]).is_err() && list.try_extend_from_slice(&[()]).is_err());
        assert_eq!(list.len(), usize::MAX);
    }

    #[test]
    fn the_spare_capacity_is_what_no_element_has() {
        let arena = FrameArena::new(1024);
        let mut list = FrameVec::new_in(&arena);
        list.reserve(10);
        for len in 0..=list.capacity() {
            assert_eq!(list.spare_capacity_mut().len(), list.capacity() - len);
            list.push(7);
        }
    }
}
