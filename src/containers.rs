//! Growing containers in an arena.

mod collect;
mod string;

pub use self::string::FrameString;
use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// A vector in an arena, with the interface of `Vec`. It drops its elements at the end of its
/// scope.
///
/// [`share`](crate::Share::share) turns it into a handle.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut names = arena.vec();
/// names.push(String::from("Ferris"));
/// assert_eq!(names.len(), 1);
/// ```
pub type FrameVec<'a, T> = allocator_api2::vec::Vec<T, &'a FrameArena>;

/// A box in an arena. It drops its value at the end of its scope.
///
/// [`share`](crate::Share::share) turns it into a handle.
pub type FrameBox<'a, T> = allocator_api2::boxed::Box<T, &'a FrameArena>;

impl FrameArena {
    /// Creates an empty vector. It allocates with its first element.
    #[inline]
    pub fn vec<T>(&self) -> FrameVec<'_, T> {
        FrameVec::new_in(self)
    }

    /// Creates a vector with room for `capacity` elements.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn vec_with_capacity<T>(&self, capacity: usize) -> FrameVec<'_, T> {
        self.try_vec_with_capacity(capacity)
            .unwrap_or_else(|error| fail(error))
    }

    /// Creates a vector with room for `capacity` elements.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_vec_with_capacity<T>(&self, capacity: usize) -> Result<FrameVec<'_, T>, ArenaError> {
        let mut vec = FrameVec::new_in(self);
        self.try_reserve_exact(&mut vec, capacity)?;
        Ok(vec)
    }

    /// Moves a value into a box. Unlike [`alloc`](Self::alloc), this takes types with a destructor.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn boxed<T>(&self, value: T) -> FrameBox<'_, T> {
        self.try_boxed(value).unwrap_or_else(|error| fail(error))
    }
}
