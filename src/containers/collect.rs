//! What an arena makes containers of: nothing, values, iterators and formatted text.
#![forbid(unsafe_code)]

use std::fmt;

use super::{FrameBox, FrameString, FrameVec, or_fail};
use crate::arena::{FrameArena, refuse_destructors};
use crate::error::ArenaError;

/// What a list of unknown length takes at first, if it is there.
///
/// That saves the growth in small steps; what is left over is given back at the end.
const FIRST_BYTES: usize = 256;

/// Returns how many elements fit into the first bytes.
const fn some<T>() -> usize {
    match size_of::<T>() {
        0 => 0,
        bytes => FIRST_BYTES / bytes,
    }
}

/// # Containers that grow
impl FrameArena {
    /// Creates an empty list. It allocates with its first element.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut list = arena.vec();
    /// list.push(1);
    /// ```
    #[inline]
    pub fn vec<T>(&self) -> FrameVec<'_, T> {
        FrameVec::new_in(self)
    }

    /// Creates a list with room for `capacity` elements: for lists that grow side by side.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let (mut near, mut far) = (arena.vec_with_capacity(8), arena.vec_with_capacity(8));
    /// near.push(1.0);
    /// far.push(9.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn vec_with_capacity<T>(&self, capacity: usize) -> FrameVec<'_, T> {
        FrameVec::with_capacity_in(capacity, self)
    }

    /// Creates a list with room for `capacity` elements.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    pub fn try_vec_with_capacity<T>(&self, capacity: usize) -> Result<FrameVec<'_, T>, ArenaError> {
        FrameVec::try_with_capacity_in(capacity, self)
    }

    /// Moves a value into a box. Unlike [`alloc`](Self::alloc), this takes types with a destructor.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let name = arena.boxed(String::from("Ferris"));
    /// assert_eq!(name.len(), 6);
    /// ```
    #[inline]
    #[track_caller]
    pub fn boxed<T>(&self, value: T) -> FrameBox<'_, T> {
        FrameBox::new_in(value, self)
    }

    /// Moves a value into a box. Unlike [`alloc`](Self::alloc), this takes types with a destructor.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the value is dropped then.
    #[inline]
    pub fn try_boxed<T>(&self, value: T) -> Result<FrameBox<'_, T>, ArenaError> {
        FrameBox::try_new_in(value, self)
    }

    /// Creates an empty string. It allocates with its first character.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// ```
    #[inline]
    pub fn string(&self) -> FrameString<'_> {
        FrameString::new_in(self)
    }

    /// Collects an iterator into a list.
    ///
    /// The iterator may use the arena. It is asked how much it will yield at least: a lower bound
    /// for which there is no memory is a failure, even if it is wrong.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let even = arena.collect((0..10).filter(|n| n % 2 == 0));
    /// assert_eq!(even, [0, 2, 4, 6, 8]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn collect<T>(&self, iter: impl IntoIterator<Item = T>) -> FrameVec<'_, T> {
        or_fail(self.try_collect(iter))
    }

    /// Collects an iterator into a list.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was yielded so far is dropped then.
    #[inline]
    pub fn try_collect<T>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameVec<'_, T>, ArenaError> {
        let iter = iter.into_iter();
        let (least, most) = iter.size_hint();
        if most == Some(least) {
            let mut vec = FrameVec::try_with_capacity_in(least, self)?;
            vec.try_extend(iter)?;
            vec.shrink_to_fit();
            return Ok(vec);
        }
        let first = least.max(const { some::<T>() });
        let mut vec = FrameVec::with_capacity_of_block(first, self);
        vec.try_extend(iter)?;
        vec.shrink_to_fit();
        Ok(vec)
    }

    /// Allocates a slice with everything that an iterator yields, as [`collect`](Self::collect)
    /// does: for elements that need no destructor.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let squares: &mut [u32] = arena.alloc_slice_fill_iter((0..4).map(|n| n * n));
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> &mut [T] {
        or_fail(self.try_alloc_slice_fill_iter(iter))
    }

    /// Allocates a slice with everything that an iterator yields.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was yielded so far is lost, and its
    /// space may be used up until the next reset.
    #[inline]
    pub fn try_alloc_slice_fill_iter<T>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_destructors::<T>() };
        Ok(self.try_collect(iter)?.leak())
    }

    /// Allocates a formatted string: `arena.alloc_fmt(format_args!("{hp} HP"))`.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit, see [`ArenaError`]; or if a `Display`
    /// implementation returns an error, like `format!`.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let label = arena.alloc_fmt(format_args!("{} HP", 12));
    /// assert_eq!(label, "12 HP");
    /// ```
    #[track_caller]
    pub fn alloc_fmt(&self, arguments: fmt::Arguments<'_>) -> &mut str {
        or_fail(FrameString::try_format(self, arguments)).leak()
    }

    /// Allocates a formatted string.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the space of what was written so far may be
    /// used up until the next reset.
    ///
    /// # Panics
    /// If a `Display` implementation returns an error, like `format!`.
    #[track_caller]
    pub fn try_alloc_fmt(&self, arguments: fmt::Arguments<'_>) -> Result<&mut str, ArenaError> {
        Ok(FrameString::try_format(self, arguments)?.leak())
    }
}

/// Collecting at the end of a chain of iterators, where `collect` would stand.
///
/// ```
/// use bevy_frame_arena::{CollectIn, FrameArena};
///
/// let arena = FrameArena::new(4096);
/// let even = (0..10).filter(|n| n % 2 == 0).collect_in(&arena);
/// assert_eq!(even, [0, 2, 4, 6, 8]);
/// ```
pub trait CollectIn: Iterator + Sized {
    /// Collects into a list, as [`FrameArena::collect`] does.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    fn collect_in(self, arena: &FrameArena) -> FrameVec<'_, Self::Item> {
        arena.collect(self)
    }

    /// Collects into a list, as [`FrameArena::try_collect`] does.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was yielded so far is dropped then.
    #[inline]
    fn try_collect_in(self, arena: &FrameArena) -> Result<FrameVec<'_, Self::Item>, ArenaError> {
        arena.try_collect(self)
    }
}

impl<I: Iterator> CollectIn for I {}
