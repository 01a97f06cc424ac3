//! One value in an arena that is dropped at the end of its scope.
#![expect(unsafe_code, reason = "owns a value in raw memory")]

use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::or_fail;
use super::raw::SharedInstead;
use super::vec::FrameVec;
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A value in an arena, like a [`Box`]: for values with a destructor, which
/// [`alloc`](FrameArena::alloc) refuses.
///
/// It drops its value at the end of its scope. To keep the value in a component, resource or
/// message, [`share`](Self::share) it and store the handle.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut name = arena.boxed(String::from("Ferris"));
/// name.push('!');
/// assert_eq!(*name, "Ferris!");
/// ```
pub struct FrameBox<'a, T: ?Sized> {
    /// Owned by the box; at the start of a block of the arena, if it has a size.
    value: NonNull<T>,
    arena: &'a FrameArena,
    owned: PhantomData<T>,
}

impl<'a, T> FrameBox<'a, T> {
    /// Moves a value into a box.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameBox};
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(*FrameBox::new_in(7, &arena), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn new_in(value: T, arena: &'a FrameArena) -> Self {
        or_fail(Self::try_new_in(value, arena))
    }

    /// As [`FrameArena::try_boxed`].
    #[inline]
    pub(super) fn try_new_in(value: T, arena: &'a FrameArena) -> Result<Self, ArenaError> {
        let place = arena.try_take_for::<T>()?.cast::<T>();
        // SAFETY: the memory was just taken for a `T`.
        unsafe { place.write(value) };
        // SAFETY: the value was just written to the start of a block that nobody else owns.
        Ok(unsafe { Self::from_raw(place, arena) })
    }

    /// Takes the value out of its box.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameBox};
    /// let arena = FrameArena::new(4096);
    /// let name = arena.boxed(String::from("Ferris"));
    /// let name: String = FrameBox::into_inner(name);
    /// ```
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let boxed = ManuallyDrop::new(boxed);
        // SAFETY: the box owns its value, and is not used again.
        let value = unsafe { boxed.value.read() };
        // SAFETY: the value has moved out, and the box is not used again.
        unsafe { boxed.free(size_of::<T>()) };
        value
    }
}

impl<'a, T: ?Sized> FrameBox<'a, T> {
    /// Returns the arena.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameBox};
    /// let arena = FrameArena::new(4096);
    /// let name = arena.boxed(String::from("Ferris"));
    /// assert!(std::ptr::eq(FrameBox::arena(&name), &arena));
    /// ```
    #[inline]
    pub fn arena(boxed: &Self) -> &'a FrameArena {
        boxed.arena
    }

    /// Gives up the box and returns its value, which lives as long as the arena is borrowed and is
    /// never dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameBox};
    /// let arena = FrameArena::new(4096);
    /// let number: &mut u32 = FrameBox::leak(arena.boxed(7));
    /// *number += 1;
    /// ```
    #[inline]
    pub fn leak(boxed: Self) -> &'a mut T {
        let mut boxed = ManuallyDrop::new(boxed);
        // SAFETY: the box owned the value and is gone, so no other reference reaches it.
        unsafe { boxed.value.as_mut() }
    }

    /// Makes a box of a value.
    ///
    /// # Safety
    /// `value` is there, and owned by nobody else; it starts a block of `arena`, if it has a size.
    #[inline]
    pub(super) unsafe fn from_raw(value: NonNull<T>, arena: &'a FrameArena) -> Self {
        Self {
            value,
            arena,
            owned: PhantomData,
        }
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// The value is gone, and had as many bytes; the box is not used again.
    #[inline(always)]
    unsafe fn free(&self, bytes: usize) {
        if bytes != 0 {
            // SAFETY: the box owns the block. If it has more bytes than the value, as after a list
            // that could not shrink, the arena does not take it for its newest and leaves it.
            unsafe { self.arena.free_block(self.value.cast(), bytes) };
        }
    }
}

impl<'a, T> FrameBox<'a, [T]> {
    /// Turns boxed elements into a list.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameBox};
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.collect([1, 2]).into_boxed_slice().into_vec();
    /// list.push(3);
    /// assert_eq!(list, [1, 2, 3]);
    /// ```
    #[inline]
    pub fn into_vec(self) -> FrameVec<'a, T> {
        let boxed = ManuallyDrop::new(self);
        // SAFETY: the box gave up its elements, which start a block of its arena.
        unsafe { FrameVec::from_raw(boxed.value, boxed.arena) }
    }
}

impl<T: ?Sized> Drop for FrameBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let bytes = size_of_val(&**self);
        // SAFETY: the box owns its value, and nobody uses it again.
        unsafe { self.value.drop_in_place() };
        // SAFETY: the value is gone, and so is the box. If its destructor panics, the memory stays
        // as it is until the recycle.
        unsafe { self.free(bytes) };
    }
}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<T: ?Sized> Send for FrameBox<'_, T> where PhantomData<T>: SharedInstead {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Sync for FrameBox<'_, T> where PhantomData<T>: SharedInstead {}

impl<T: ?Sized> Deref for FrameBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns its value, which is borrowed with it.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for FrameBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns its value, which is borrowed with it.
        unsafe { self.value.as_mut() }
    }
}

/// Clones into the same arena.
impl<T: Clone> Clone for FrameBox<'_, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new_in(T::clone(self), self.arena)
    }

    fn clone_from(&mut self, source: &Self) {
        T::clone_from(self, source);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for FrameBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for FrameBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'b, T: ?Sized + PartialEq> PartialEq<FrameBox<'b, T>> for FrameBox<'_, T> {
    fn eq(&self, other: &FrameBox<'b, T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for FrameBox<'_, T> {}

impl<'b, T: ?Sized + PartialOrd> PartialOrd<FrameBox<'b, T>> for FrameBox<'_, T> {
    fn partial_cmp(&self, other: &FrameBox<'b, T>) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for FrameBox<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for FrameBox<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: ?Sized> AsRef<T> for FrameBox<'_, T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> AsMut<T> for FrameBox<'_, T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for FrameBox<'_, T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> BorrowMut<T> for FrameBox<'_, T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}
