//! Values whose making may fail.
#![expect(unsafe_code, reason = "writes values into raw memory")]

use std::alloc::Layout;
use std::error::Error;
use std::fmt;
use std::ptr::NonNull;

use allocator_api2::alloc::Allocator;

use super::{put, refuse_destructors};
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// Why [`FrameArena::try_alloc_try_with`] or [`FrameArena::try_share_try_with`] returned no value.
///
/// ```
/// use bevy_frame_arena::{AllocOrInitError, FrameArena};
///
/// let arena = FrameArena::new(4096);
/// let parsed = arena.try_alloc_try_with(|| "seven".parse::<u32>());
/// assert!(matches!(parsed, Err(AllocOrInitError::Init(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocOrInitError<E> {
    /// The arena is out of memory or over a limit.
    Alloc(ArenaError),
    /// The closure returned this error.
    Init(E),
}

/// # Values whose making may fail
#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates the value that `make` returns, unless that is an error.
    ///
    /// After an error the space is given back, unless `make` allocated behind it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(arena.alloc_try_with(|| "7".parse::<u32>()), Ok(&mut 7));
    /// assert!(arena.alloc_try_with(|| "seven".parse::<u32>()).is_err());
    /// assert_eq!(arena.used_bytes(), 8);
    /// ```
    ///
    /// # Errors
    /// If `make` returns one.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_try_with<T, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&mut T, E> {
        const { refuse_destructors::<T>() };
        let memory = self.memory_for::<T>();
        match make() {
            // SAFETY: the memory was taken for a `T`.
            Ok(value) => Ok(unsafe { put(memory, value) }),
            Err(error) => {
                // SAFETY: the memory was taken for a `T`, and nothing refers to it.
                unsafe { self.give_back::<T>(memory) };
                Err(error)
            }
        }
    }

    /// Allocates the value that `make` returns, like [`alloc_try_with`](Self::alloc_try_with).
    ///
    /// # Errors
    /// If `make` returns one, or if the arena is out of memory or over a limit; `make` is not
    /// called then.
    #[inline]
    pub fn try_alloc_try_with<T, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&mut T, AllocOrInitError<E>> {
        const { refuse_destructors::<T>() };
        let memory = match self.try_take_for::<T>() {
            Ok(memory) => memory,
            Err(error) => return Err(AllocOrInitError::Alloc(error)),
        };
        match make() {
            // SAFETY: the memory was taken for a `T`.
            Ok(value) => Ok(unsafe { put(memory, value) }),
            Err(error) => {
                // SAFETY: the memory was taken for a `T`, and nothing refers to it.
                unsafe { self.give_back::<T>(memory) };
                Err(AllocOrInitError::Init(error))
            }
        }
    }

    /// Gives memory back that was taken for a `T`, if it is the newest of its chunk.
    ///
    /// # Safety
    /// The memory was taken for a `T` from this arena since its last reset, and is not used again.
    #[cold]
    pub(crate) unsafe fn give_back<T>(&self, memory: NonNull<u8>) {
        if size_of::<T>() > 0 {
            // SAFETY: the memory was taken from this arena with this layout, and the caller gives
            // it up.
            unsafe { Allocator::deallocate(&self, memory, Layout::new::<T>()) };
        }
    }
}

impl<E: fmt::Display> fmt::Display for AllocOrInitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alloc(error) => error.fmt(f),
            Self::Init(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for AllocOrInitError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Alloc(error) => Some(error),
            Self::Init(error) => Some(error),
        }
    }
}
