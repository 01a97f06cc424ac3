//! Turning values, slices, text and containers of an arena into handles.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::{FrameArena, RoomForDrop, put};
use crate::containers::{FrameBox, FrameString, FrameVec, or_fail};
use crate::error::ArenaError;

/// The types that can be shared in an arena: all that are `Send`, `Sync` and `'static`.
///
/// A handle can be stored anywhere, and is read on any thread, in this frame or a later one. So its
/// data must not belong to one thread, and must not borrow anything that may end before it.
///
/// It is implemented for all such types. It exists for the compiler's message about other types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared: handles are read on any thread, and in the next frame",
    label = "is not `Send`, `Sync` and `'static`",
    note = "a container of an arena borrows it: share that first, and then what holds its handle, \
            such as a list of `FrameHandle<str>` instead of `FrameString`s"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

/// # For other systems and the next frame
///
/// Each method panics with the text of the [`ArenaError`] if memory is refused, and has a `try_` twin that
/// returns the error.
impl FrameArena {
    /// Shares a value: every holder of the handle can read it, on any thread.
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
    /// If memory is refused, the value is dropped.
    #[inline]
    #[track_caller]
    pub fn share<T: Send + Sync + 'static>(&self, value: T) -> FrameHandle<T> {
        if needs_drop::<T>() {
            return or_fail(self.try_share(value));
        }
        // The first value of a period finds no room here and takes the slow path, which marks the
        // arena as shared. The mark costs later values nothing.
        if let Some(memory) = self.take_shared_for::<T>() {
            // SAFETY: the memory was taken for a `T`.
            let value = NonNull::from(unsafe { put(memory, value) });
            // SAFETY:
            // - the only reference to fresh memory of this arena has ended;
            // - the arena is marked as shared, or `take_shared_for` would have found no room.
            return unsafe { FrameHandle::new(value, self.stamp()) };
        }
        self.share_first(value)
    }

    /// Shares a value that needs no dropping, and marks the arena as shared.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn share_first<T: Send + Sync + 'static>(&self, value: T) -> FrameHandle<T> {
        let value = NonNull::from(self.alloc_undropped(value));
        // SAFETY: the only reference to fresh memory of this arena has ended.
        unsafe { self.handle(value) }
    }

    /// Shares as [`share`](Self::share) does, or returns an error and drops the value.
    #[inline]
    #[track_caller]
    pub fn try_share<T: Send + Sync + 'static>(
        &self,
        value: T,
    ) -> Result<FrameHandle<T>, ArenaError> {
        self.try_boxed(value)?.try_share()
    }

    /// Shares a copy of a string.
    #[inline]
    #[track_caller]
    pub fn share_str(&self, source: &str) -> FrameHandle<str> {
        or_fail(self.try_share_str(source))
    }

    /// Shares as [`share_str`](Self::share_str) does, or returns an error.
    #[inline]
    #[track_caller]
    pub fn try_share_str(&self, source: &str) -> Result<FrameHandle<str>, ArenaError> {
        let text = NonNull::from(self.try_alloc_str(source)?);
        // SAFETY: the only reference to fresh memory of this arena has ended.
        Ok(unsafe { self.handle(text) })
    }

    /// Shares formatted text; [`share_format!`](crate::share_format) is shorter. To get the error of refused
    /// memory instead of a panic, write to a [`string`](Self::string) and share that.
    ///
    /// # Panics
    /// If memory is refused, or if a `Display` implementation returns an error, like `format!`.
    #[track_caller]
    pub fn share_fmt(&self, arguments: fmt::Arguments<'_>) -> FrameHandle<str> {
        or_fail(FrameString::try_format(self, arguments)).share()
    }

    /// Shares a copy of a slice of plain data.
    #[inline]
    #[track_caller]
    pub fn share_slice_copy<T>(&self, source: &[T]) -> FrameHandle<[T]>
    where
        T: Copy + Send + Sync + 'static,
    {
        or_fail(self.try_share_slice_copy(source))
    }

    /// Shares as [`share_slice_copy`](Self::share_slice_copy) does, or returns an error.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_copy<T>(&self, source: &[T]) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Copy + Send + Sync + 'static,
    {
        let values = NonNull::from(self.try_alloc_slice_copy(source)?);
        // SAFETY: the only reference to fresh memory of this arena has ended.
        Ok(unsafe { self.handle(values) })
    }

    /// Shares all elements of an iterator.
    ///
    /// The iterator may use the arena. If it panics, the elements yielded so far are dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let names = arenas.local().share_iter((0..2).map(|index| format!("player {index}")));
    /// assert_eq!(arenas[names], ["player 0", "player 1"]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn share_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> FrameHandle<[T]> {
        or_fail(self.try_share_iter(iter))
    }

    /// Shares as [`share_iter`](Self::share_iter) does, or returns an error
    /// and drops the elements yielded so far.
    #[inline]
    #[track_caller]
    pub fn try_share_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_collect(iter)?.try_share()
    }
}

/// # Making handles
impl FrameArena {
    /// Shares values that their owner has leaked: they are dropped when the arena is recycled.
    ///
    /// # Safety
    /// - `room` must have been taken from this arena for `T`;
    /// - `values` must be as [`handle`](Self::handle) demands, and nothing else may drop them.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn share_leaked<T: Shareable>(
        &self,
        values: NonNull<[T]>,
        room: RoomForDrop,
    ) -> FrameHandle<[T]> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.drop_at_recycle(room, values) };
        // SAFETY: the caller's promises are the same.
        unsafe { self.handle(values) }
    }

    /// Makes a handle to data in this arena, and marks the arena as shared.
    ///
    /// Handles are made in two other places. [`share`](Self::share) makes those of plain values in an arena
    /// that is already marked, and `FrameArenas::adopt` restamps the handle of a task's result.
    ///
    /// # Safety
    /// `data` must be valid, in memory that was taken from this arena and is not returned before the
    /// arena is recycled. Nothing may mutate or move it until then.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn handle<T: ?Sized>(&self, data: NonNull<T>) -> FrameHandle<T> {
        // SAFETY: the caller promises it for the generation, or the arena, that has this stamp.
        unsafe { FrameHandle::new(data, self.stamp_to_share()) }
    }
}

/// # For other systems and the next frame
impl<T> FrameVec<'_, T> {
    /// Turns the list into a handle, without copying its elements: for components, resources,
    /// messages, other systems and the next frame.
    ///
    /// Shared elements cannot be changed. Elements with a destructor are dropped when the frame's memory is
    /// recycled.
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
        or_fail(self.try_share())
    }

    /// Shares as [`share`](Self::share) does, or returns an error and drops the elements.
    #[track_caller]
    pub fn try_share(mut self) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Shareable,
    {
        self.shrink_to_fit();
        let arena = self.arena();
        let room = arena.try_room_for_drop::<T>()?;
        let values = NonNull::from(self.leak());
        // SAFETY:
        // - the room was taken from the list's arena for `T`;
        // - the list gave up its elements, which lie in the memory of that arena.
        Ok(unsafe { arena.share_leaked(values, room) })
    }
}

/// # For other systems and the next frame
impl<T> FrameBox<'_, T> {
    /// Turns the box into a handle, without copying its value.
    ///
    /// A shared value cannot be changed. If it has a destructor, it is dropped when the frame's memory is
    /// recycled.
    ///
    /// # Panics
    /// If the value needs dropping and the drop record cannot be allocated; the value is dropped
    /// first.
    #[inline]
    #[track_caller]
    pub fn share(self) -> FrameHandle<T>
    where
        T: Shareable,
    {
        or_fail(self.try_share())
    }

    /// Shares as [`share`](Self::share) does, or returns an error and drops the value.
    #[inline]
    #[track_caller]
    pub fn try_share(self) -> Result<FrameHandle<T>, ArenaError>
    where
        T: Shareable,
    {
        let arena = Self::arena(&self);
        let room = arena.try_room_for_drop::<T>()?;
        let values = NonNull::slice_from_raw_parts(NonNull::from(Self::leak(self)), 1);
        // SAFETY:
        // - the room was taken from the box's arena for `T`;
        // - the box gave up its value, which lies in the memory of that arena.
        Ok(unsafe { arena.share_leaked(values, room) }.of_only())
    }
}

/// # For other systems and the next frame
impl FrameString<'_> {
    /// Turns the string into a handle, without copying its text. No memory is allocated.
    #[track_caller]
    pub fn share(self) -> FrameHandle<str> {
        let arena = self.arena();
        let text = NonNull::from(self.leak());
        // SAFETY: the string gave up its text, which lies in the memory of its arena.
        unsafe { arena.handle(text) }
    }
}

/// Shares formatted text: [`FrameArena::share_fmt`] with the syntax of `format!`.
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
