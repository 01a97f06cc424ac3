//! A growing list in an arena.
#![expect(unsafe_code, reason = "owns elements in raw memory")]

mod edit;
mod extend;
mod iter;
mod traits;

use std::mem::{MaybeUninit, needs_drop};
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

pub use self::iter::{FrameDrain, FrameIntoIter};
use super::or_fail;
use super::raw::RawBuffer;
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A list in an arena, with the interface of [`Vec`]: for everything that a system collects.
///
/// It stays in the system that made it, and drops its elements at the end of its scope. To keep
/// them in a component, resource or message, [`share`](Self::share) it and store the handle; the
/// compiler refuses the list itself there, because it borrows the arena and belongs to one thread.
///
/// While it is the newest thing in its arena it grows, shrinks and is freed in place. Otherwise
/// growing moves it and leaves its old memory unused until the frame is recycled, so give lists
/// that grow side by side their capacity beforehand.
///
/// Where the arena has a limit and it is reached, methods panic with the text of the
/// [`ArenaError`]. To get the error instead, make room with [`try_reserve`](Self::try_reserve), or
/// use the `try_` twin of the most common methods. The process is never aborted.
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

/// # Making, reading, pushing
impl<'a, T> FrameVec<'a, T> {
    /// Creates an empty list. It allocates with its first element.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameVec};
    /// let arena = FrameArena::new(4096);
    /// let list: FrameVec<u32> = FrameVec::new_in(&arena);
    /// assert!(list.is_empty());
    /// ```
    #[inline]
    pub const fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            buffer: RawBuffer::new_in(arena),
            len: 0,
        }
    }

    /// Creates a list with room for `capacity` elements.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameVec};
    /// let arena = FrameArena::new(4096);
    /// let list: FrameVec<u32> = FrameVec::with_capacity_in(10, &arena);
    /// assert!(list.capacity() >= 10);
    /// ```
    #[inline]
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, arena: &'a FrameArena) -> Self {
        or_fail(Self::try_with_capacity_in(capacity, arena))
    }

    /// As [`FrameArena::try_vec_with_capacity`].
    #[inline]
    pub(crate) fn try_with_capacity_in(
        capacity: usize,
        arena: &'a FrameArena,
    ) -> Result<Self, ArenaError> {
        let mut vec = Self::new_in(arena);
        vec.try_reserve_exact(capacity)?;
        Ok(vec)
    }

    /// Creates a list with room for `capacity` elements, if the active block has it; else with none.
    #[inline(always)]
    pub(super) fn with_capacity_of_block(capacity: usize, arena: &'a FrameArena) -> Self {
        let buffer = match arena.take_elements_of_block(capacity) {
            // SAFETY: the block was just taken, and is of this arena.
            Some(block) => unsafe { RawBuffer::from_raw(block, arena) },
            None => RawBuffer::new_in_full_block(arena),
        };
        Self { buffer, len: 0 }
    }

    /// Returns the arena.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let list = arena.collect([1]);
    /// assert!(std::ptr::eq(list.arena(), &arena));
    /// ```
    #[inline]
    pub const fn arena(&self) -> &'a FrameArena {
        self.buffer.arena()
    }

    /// Returns how many elements there is room for before the list grows.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let list = arena.vec_with_capacity::<u32>(10);
    /// assert_eq!(list.capacity(), 10);
    /// ```
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(arena.collect([1, 2]).as_slice(), [1, 2]);
    /// ```
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Returns the elements.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([2, 1]);
    /// list.as_mut_slice().sort();
    /// assert_eq!(list, [1, 2]);
    /// ```
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }

    /// Returns where the elements lie. Valid until the list grows or ends.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let list = arena.collect([1, 2]);
    /// assert_eq!(list.as_ptr(), &raw const list[0]);
    /// ```
    #[inline]
    pub const fn as_ptr(&self) -> *const T {
        self.buffer.start().as_ptr()
    }

    /// Returns where the elements lie. Valid until the list grows or ends.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2]);
    /// assert_eq!(list.as_mut_ptr(), &raw mut list[0]);
    /// ```
    #[inline]
    pub const fn as_mut_ptr(&mut self) -> *mut T {
        self.buffer.start().as_ptr()
    }

    /// Appends an element.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec();
    /// list.push(1);
    /// assert_eq!(list, [1]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        if self.len == self.capacity() {
            self.buffer.grow(self.len, 1);
        }
        // SAFETY: there is room for one.
        unsafe { self.push_within_capacity(value) };
    }

    /// Appends an element.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the element is dropped then.
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
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2]);
    /// assert_eq!(list.pop(), Some(2));
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the new length is below the capacity.
        let last = unsafe { self.place(self.len) };
        // SAFETY: the element behind the new length is there, and given up with the old length.
        Some(unsafe { last.read() })
    }

    /// Removes the last element if `take` says so, and returns it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2]);
    /// assert_eq!(list.pop_if(|n| *n % 2 == 0), Some(2));
    /// assert_eq!(list.pop_if(|n| *n % 2 == 0), None);
    /// ```
    pub fn pop_if(&mut self, take: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let last = self.last_mut()?;
        if take(last) { self.pop() } else { None }
    }

    /// Drops all elements beyond the first `len`, and keeps the memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// list.truncate(1);
    /// assert_eq!(list, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        let Some(surplus) = self.len.checked_sub(len) else {
            return;
        };
        // Before anything is dropped: a destructor may panic, and must not run twice.
        self.len = len;
        // SAFETY: `len` was in bounds, and as many elements are behind it.
        let surplus = unsafe { self.elements(len, surplus) };
        // SAFETY: these elements were given up with the old length.
        unsafe { surplus.drop_in_place() };
    }

    /// Drops all elements, and keeps the memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2, 3]);
    /// list.clear();
    /// assert_eq!((list.len(), list.capacity()), (0, 3));
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Returns the room behind the elements, not initialised.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(3);
    /// list.push(1);
    /// assert_eq!(list.spare_capacity_mut().len(), 2);
    /// ```
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<T>] {
        self.split_at_spare().1
    }

    /// Sets the length.
    ///
    /// # Safety
    /// `len <= capacity()`, and the first `len` elements must be initialised.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec_with_capacity(3);
    /// list.spare_capacity_mut()[0].write(7);
    /// // SAFETY: the first element was just written.
    /// unsafe { list.set_len(1) };
    /// assert_eq!(list, [7]);
    /// ```
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity(), "the length exceeds the capacity");
        self.len = len;
    }

    /// Returns the place of an element, which may not be there.
    ///
    /// # Safety
    /// `index` is not more than the capacity.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> NonNull<T> {
        // SAFETY: in bounds of the block, or one behind it.
        unsafe { self.buffer.start().add(index) }
    }

    /// Returns a range of elements, which may not be there.
    ///
    /// # Safety
    /// `start + len` is not more than the capacity.
    #[inline(always)]
    unsafe fn elements(&self, start: usize, len: usize) -> NonNull<[T]> {
        // SAFETY: the caller's promise.
        NonNull::slice_from_raw_parts(unsafe { self.place(start) }, len)
    }

    /// # Safety
    /// The capacity is larger than the length.
    #[inline(always)]
    unsafe fn push_within_capacity(&mut self, value: T) {
        // SAFETY: the length is below the capacity.
        let place = unsafe { self.place(self.len) };
        // SAFETY: it is a place in the block, behind the elements that are there.
        unsafe { place.write(value) };
        self.len += 1;
    }

    /// Returns the elements and the room behind them.
    #[inline]
    fn split_at_spare(&mut self) -> (&mut [T], &mut [MaybeUninit<T>]) {
        let room = self.capacity() - self.len;
        // SAFETY: the length is not more than the capacity.
        let spare = unsafe { self.elements(self.len, room) };
        // SAFETY: the memory behind the elements is the list's own, and need not be initialised.
        let spare = unsafe { &mut *(spare.as_ptr() as *mut [MaybeUninit<T>]) };
        (self, spare)
    }
}

impl<T> Drop for FrameVec<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // SAFETY: the elements are there, and nobody uses them again.
            unsafe { ptr::drop_in_place(&raw mut **self) };
        }
        // The buffer gives its memory back after this, also when a destructor panics.
    }
}

impl<T> Deref for FrameVec<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` elements are there, and borrowed with the list.
        unsafe { slice::from_raw_parts(self.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for FrameVec<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `len` elements are there, and borrowed with the list.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), self.len) }
    }
}
