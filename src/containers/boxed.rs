//! One value in an arena that is dropped at the end of its scope.
#![forbid(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::FrameVec;
use crate::arena::FrameArena;
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
    /// A list of one element.
    list: FrameVec<'a, T>,
}

const ONE: &str = "a box has one value";

impl<'a, T> FrameBox<'a, T> {
    #[inline]
    pub(super) fn try_new_in(value: T, arena: &'a FrameArena) -> Result<Self, ArenaError> {
        let mut list = arena.try_vec_with_capacity(1)?;
        list.push(value);
        Ok(Self { list })
    }

    /// Takes the value out of its box: `FrameBox::into_inner(name)`.
    #[inline]
    pub fn into_inner(mut boxed: Self) -> T {
        boxed.list.pop().expect(ONE)
    }

    /// Gives up the box and returns its value, which lives as long as the arena is borrowed and is
    /// never dropped.
    #[inline]
    pub fn leak(boxed: Self) -> &'a mut T {
        boxed.list.leak().first_mut().expect(ONE)
    }

    #[inline]
    pub(crate) fn into_list(boxed: Self) -> FrameVec<'a, T> {
        boxed.list
    }
}

impl<T> Deref for FrameBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.list.first().expect(ONE)
    }
}

impl<T> DerefMut for FrameBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.list.first_mut().expect(ONE)
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
