//! Sharing values whose making may fail.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::{AllocOrInitError, FrameArena, put};
use crate::error::fail;

impl FrameArena {
    /// Shares the value that `make` returns, unless that is an error.
    ///
    /// After an error the space is given back, unless `make` allocated behind it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let seven = arenas.local().share_try_with(|| "7".parse::<u32>());
    /// assert_eq!(seven.map(|seven| arenas[seven]), Ok(7));
    /// assert!(arenas.local().share_try_with(|| "seven".parse::<u32>()).is_err());
    /// ```
    ///
    /// # Errors
    /// If `make` returns one.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`](crate::ArenaError). `make`
    /// is not called then.
    #[inline]
    #[track_caller]
    pub fn share_try_with<T: Send + Sync + 'static, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<FrameHandle<T>, E> {
        match self.try_share_try_with(make) {
            Ok(handle) => Ok(handle),
            Err(AllocOrInitError::Init(error)) => Err(error),
            Err(AllocOrInitError::Alloc(error)) => fail(error),
        }
    }

    /// Shares the value that `make` returns, like [`share_try_with`](Self::share_try_with).
    ///
    /// # Errors
    /// If `make` returns one, or if the arena is out of memory or over a limit; `make` is not
    /// called then.
    #[inline]
    #[track_caller]
    pub fn try_share_try_with<T: Send + Sync + 'static, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<FrameHandle<T>, AllocOrInitError<E>> {
        let memory = self.try_take_for::<T>().map_err(AllocOrInitError::Alloc)?;
        let room = self
            .try_room_for_drop::<T>()
            .map_err(AllocOrInitError::Alloc)?;
        let value = match make() {
            Ok(value) => value,
            Err(error) => {
                // The newest first: each is given back where nothing lies behind it.
                // SAFETY: the room was taken from this arena, and is not used.
                unsafe { self.give_back_room(room) };
                // SAFETY: the memory was taken for a `T`, and nothing refers to it.
                unsafe { self.give_back::<T>(memory) };
                return Err(AllocOrInitError::Init(error));
            }
        };
        // SAFETY: the memory was taken for a `T`.
        let value = NonNull::from(unsafe { put(memory, value) });
        // SAFETY:
        // - the room was taken for `T`;
        // - the value lies in fresh memory of this arena, and the only reference to it is gone.
        unsafe { self.drop_at_recycle(room, NonNull::slice_from_raw_parts(value, 1)) };
        // SAFETY: as above.
        Ok(unsafe { FrameHandle::new(value, self.stamp()) })
    }
}
