//! Turning values of an arena into handles.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::{FrameArena, put};
use crate::error::{ArenaError, fail};

/// # Values and text for other systems and the next frame
impl FrameArena {
    /// Shares a value: it can be read by whoever holds the handle, on any thread.
    ///
    /// A value with a destructor is dropped when the frame's memory is recycled.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let names = arenas.local().share(vec![String::from("Ferris")]);
    /// assert_eq!(arenas[names][0], "Ferris");
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`]. The value is dropped then.
    #[inline]
    #[track_caller]
    pub fn share<T: Send + Sync + 'static>(&self, value: T) -> FrameHandle<T> {
        if needs_drop::<T>() {
            return match self.try_share(value) {
                Ok(handle) => handle,
                Err(error) => fail(error),
            };
        }
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { self.handle_to(self.alloc_undropped(value)) }
    }

    /// Shares a value, like [`share`](Self::share).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; the value is dropped then.
    #[inline]
    #[track_caller]
    pub fn try_share<T: Send + Sync + 'static>(
        &self,
        value: T,
    ) -> Result<FrameHandle<T>, ArenaError> {
        self.try_share_with(move || value)
    }

    /// Shares the value that `make` returns, made in place where the compiler can.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let grid = arenas.local().share_with(|| [[7_u8; 64]; 64]);
    /// assert_eq!(arenas[grid][3][5], 7);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`]. `make` is not called then.
    #[inline]
    #[track_caller]
    pub fn share_with<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> FrameHandle<T> {
        match self.try_share_with(make) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Shares the value that `make` returns, like [`share_with`](Self::share_with).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; `make` is not called then.
    #[inline]
    #[track_caller]
    pub fn try_share_with<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> T,
    ) -> Result<FrameHandle<T>, ArenaError> {
        let memory = self.try_take_for::<T>()?;
        let room = self.try_room_for_drop::<T>()?;
        // SAFETY: the memory was taken for a `T`.
        let value = NonNull::from(unsafe { put(memory, make()) });
        // SAFETY:
        // - the room was taken for `T`;
        // - the value lies in fresh memory of this arena, and the only reference to it is gone.
        unsafe { self.drop_at_recycle(room, NonNull::slice_from_raw_parts(value, 1)) };
        // SAFETY: as above.
        Ok(unsafe { FrameHandle::new(value, self.stamp()) })
    }

    /// Shares a copy of a string.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let name = arenas.local().share_str("Ferris");
    /// assert_eq!(&arenas[name], "Ferris");
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_str(&self, source: &str) -> FrameHandle<str> {
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { self.handle_to(self.alloc_str(source)) }
    }

    /// Shares a copy of a string, like [`share_str`](Self::share_str).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    #[track_caller]
    pub fn try_share_str(&self, source: &str) -> Result<FrameHandle<str>, ArenaError> {
        let text = self.try_alloc_str(source)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(text) })
    }

    /// Shares a formatted string; [`share_format!`](crate::share_format) is shorter.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let label = arenas.local().share_fmt(format_args!("{} HP", 3));
    /// assert_eq!(&arenas[label], "3 HP");
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`]. Also if a formatting
    /// trait returns an error, like `format!`.
    #[track_caller]
    pub fn share_fmt(&self, arguments: fmt::Arguments<'_>) -> FrameHandle<str> {
        match self.try_share_fmt(arguments) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Shares a formatted string, like [`share_fmt`](Self::share_fmt).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    ///
    /// # Panics
    /// If a formatting trait returns an error, like `format!`.
    #[track_caller]
    pub fn try_share_fmt(
        &self,
        arguments: fmt::Arguments<'_>,
    ) -> Result<FrameHandle<str>, ArenaError> {
        let text = self.try_alloc_fmt(arguments)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(text) })
    }

    /// Makes a handle to data in this arena.
    ///
    /// # Safety
    /// `data` lies in memory that was taken from this arena and is not given back, nothing drops
    /// it, and no other reference reaches it.
    #[inline(always)]
    #[track_caller]
    pub(super) unsafe fn handle_to<T: ?Sized>(&self, data: &mut T) -> FrameHandle<T> {
        // SAFETY: with the only `&mut` gone, the data is as it is until the arena is recycled.
        unsafe { FrameHandle::new(NonNull::from(data), self.stamp()) }
    }
}

/// Shares a formatted string: [`FrameArena::share_fmt`] with the syntax of `format!`.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, share_format};
///
/// let arenas = FrameArenas::default();
/// let hp = 3;
/// let label = share_format!(arenas.local(), "{hp} HP");
/// assert_eq!(&arenas[label], "3 HP");
/// ```
#[macro_export]
macro_rules! share_format {
    ($arena:expr, $($format:tt)+) => {
        $arena.share_fmt(::std::format_args!($($format)+))
    };
}
