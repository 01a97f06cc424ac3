//! Turning containers into handles.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::ptr::NonNull;

use super::{FrameHandle, Shareable};
use crate::containers::{FrameBox, FrameString, FrameVec};
use crate::error::{ArenaError, fail};

/// # For other systems and the next frame
impl<T> FrameVec<'_, T> {
    /// Turns the vector into a handle, without copying its elements: for components, resources,
    /// messages, other systems and the next frame.
    ///
    /// Nobody can change the elements any more. Those with a destructor are dropped when the
    /// frame's memory is recycled.
    ///
    /// # Panics
    /// If the elements need dropping and the drop record cannot be allocated; the elements are
    /// dropped first.
    ///
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let mut visible = arenas.local().vec();
    /// visible.extend([3, 1, 2]);
    /// visible.sort();
    /// let handle = visible.share();
    /// assert_eq!(arenas[handle], [1, 2, 3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn share(self) -> FrameHandle<[T]>
    where
        T: Shareable,
    {
        match self.try_share() {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Turns the vector into a handle, without copying its elements.
    ///
    /// # Errors
    /// If the elements need dropping and the drop record cannot be allocated; the elements are
    /// dropped first.
    #[track_caller]
    pub fn try_share(mut self) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Shareable,
    {
        self.shrink_to_fit();
        let arena = self.arena();
        let room = arena.try_room_for_drop::<T>()?;
        let values = NonNull::from(self.leak());
        // SAFETY: the vector gave up its elements, which lie in the memory of its arena.
        Ok(unsafe { arena.share_leaked(values, values, room) })
    }
}

impl<T> FrameBox<'_, T> {
    /// Turns the box into a handle, without copying its value.
    ///
    /// Nobody can change the value any more. If it has a destructor, it is dropped when the
    /// frame's memory is recycled.
    ///
    /// # Panics
    /// If the value needs dropping and the drop record cannot be allocated; the value is dropped
    /// first.
    ///
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let name = arenas.local().boxed(String::from("Ferris"));
    /// let handle = name.share();
    /// assert_eq!(arenas[handle], "Ferris");
    /// ```
    #[inline]
    #[track_caller]
    pub fn share(self) -> FrameHandle<T>
    where
        T: Shareable,
    {
        match self.try_share() {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Turns the box into a handle, without copying its value.
    ///
    /// # Errors
    /// If the value needs dropping and the drop record cannot be allocated; the value is dropped
    /// first.
    #[inline]
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<T>, ArenaError>
    where
        T: Shareable,
    {
        let arena = Self::arena(&self);
        let room = arena.try_room_for_drop::<T>()?;
        let value = NonNull::from(Self::leak(self));
        let values = NonNull::slice_from_raw_parts(value, 1);
        // SAFETY: the box gave up its value, which lies in the memory of its arena.
        Ok(unsafe { arena.share_leaked(value, values, room) })
    }
}

impl<T> FrameBox<'_, [T]> {
    /// Turns the boxed slice into a handle, as [`FrameVec::share`] does.
    ///
    /// # Panics
    /// If the elements need dropping and the drop record cannot be allocated; the elements are
    /// dropped first.
    ///
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let squares = arenas.local().collect((0..4).map(|n| n * n)).into_boxed_slice();
    /// let handle = squares.share();
    /// assert_eq!(arenas[handle], [0, 1, 4, 9]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn share(self) -> FrameHandle<[T]>
    where
        T: Shareable,
    {
        self.into_vec().share()
    }

    /// Turns the boxed slice into a handle, as [`FrameVec::try_share`] does.
    ///
    /// # Errors
    /// If the elements need dropping and the drop record cannot be allocated; the elements are
    /// dropped first.
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Shareable,
    {
        self.into_vec().try_share()
    }
}

/// # For other systems and the next frame
impl FrameString<'_> {
    /// Turns the string into a handle, without copying its text.
    ///
    /// ```
    /// use bevy_frame_arena::FrameArenas;
    ///
    /// let arenas = FrameArenas::default();
    /// let mut label = arenas.local().string();
    /// label.push_str("wave 3");
    /// let handle = label.share();
    /// assert_eq!(&arenas[handle], "wave 3");
    /// ```
    #[track_caller]
    pub fn share(self) -> FrameHandle<str> {
        let arena = self.arena();
        let text = NonNull::from(self.leak());
        // SAFETY: the string gave up its text, which lies in the memory of its arena.
        unsafe { arena.handle(text) }
    }

    /// Turns the string into a handle. Text needs no dropping, so this can't fail; it is here for
    /// code that shares containers of any kind.
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<str>, ArenaError> {
        Ok(self.share())
    }
}
