//! One value in an arena that is dropped at the end of its scope.
#![expect(unsafe_code, reason = "owns a value in raw memory")]

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::raw::SharedInstead;
use crate::arena::{FrameArena, put};
use crate::error::ArenaError;

/// A value in an arena, like a [`Box`]: for values with a destructor, which
/// [`alloc`](FrameArena::alloc) refuses. [`FrameArena::boxed`] makes one.
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
pub struct FrameBox<'a, T> {
    /// Owned by the box; at the start of a block of the arena, unless it is zero-sized.
    value: NonNull<T>,
    arena: &'a FrameArena,
    owned: PhantomData<T>,
}

impl<'a, T> FrameBox<'a, T> {
    #[inline]
    pub(super) fn try_new_in(value: T, arena: &'a FrameArena) -> Result<Self, ArenaError> {
        let memory = arena.try_take_for::<T>()?;
        Ok(Self {
            // SAFETY: the memory was just taken for a `T`.
            value: NonNull::from(unsafe { put(memory, value) }),
            arena,
            owned: PhantomData,
        })
    }

    /// Takes the value out of its box: `FrameBox::into_inner(name)`.
    #[inline]
    pub fn into_inner(boxed: Self) -> T {
        let boxed = ManuallyDrop::new(boxed);
        // SAFETY: the box owns its value, and is not used again.
        let value = unsafe { boxed.value.read() };
        // SAFETY: the value has moved out, and the box is not used again.
        unsafe { boxed.free() };
        value
    }

    #[inline]
    pub(crate) fn arena(boxed: &Self) -> &'a FrameArena {
        boxed.arena
    }

    /// Gives up the box and returns its value, which lives as long as the arena is borrowed and is
    /// never dropped.
    #[inline]
    pub fn leak(boxed: Self) -> &'a mut T {
        let mut boxed = ManuallyDrop::new(boxed);
        // SAFETY: the box owned the value and is gone, so no other reference reaches it.
        unsafe { boxed.value.as_mut() }
    }

    /// Returns the memory to the arena.
    ///
    /// # Safety
    /// The value must have been dropped or moved, and the box must not be used again.
    #[inline(always)]
    unsafe fn free(&self) {
        if size_of::<T>() != 0 {
            // SAFETY: the box owns the block, which was taken for the value.
            unsafe { self.arena.free_block(self.value.cast(), size_of::<T>()) };
        }
    }
}

impl<T> Drop for FrameBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the box owns its value, which is not used again.
        unsafe { self.value.drop_in_place() };
        // SAFETY: the value is dropped, and the box is not used again. If the destructor panics, the memory
        // stays in use until the recycle.
        unsafe { self.free() };
    }
}

// SAFETY: nothing implements the bound, so this sends nothing.
unsafe impl<T: SharedInstead> Send for FrameBox<'_, T> {}
// SAFETY: nothing implements the bound, so this shares nothing.
unsafe impl<T: SharedInstead> Sync for FrameBox<'_, T> {}

impl<T> Deref for FrameBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the box owns its value, which is borrowed with it.
        unsafe { self.value.as_ref() }
    }
}

impl<T> DerefMut for FrameBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the box owns its value, which is borrowed with it.
        unsafe { self.value.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
