//! Turning values of an arena into handles.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::{FrameArena, RoomForDrop, put};
use crate::error::{ArenaError, fail};

/// What can be shared in an arena: types that are `Send`, `Sync` and `'static`, and no others.
///
/// A handle can be stored anywhere, and is read on any thread, in this frame or a later one. So what
/// it names belongs to no thread, and borrows nothing that may end before it.
///
/// There is nothing to implement: the name is for the compiler, to say this where a type does not
/// fit.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared: handles are read on any thread, and in the next frame",
    label = "is not `Send`, `Sync` and `'static`",
    note = "a container of an arena borrows it: share that first, and then what holds its handle, \
            such as a list of `FrameHandle<str>` instead of `FrameString`s"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

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
        // The first value of a period finds no room here and takes the other way, which marks the
        // arena as shared. So the mark costs the others nothing.
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
        let values = NonNull::slice_from_raw_parts(value, 1);
        // SAFETY:
        // - the room was taken for `T`;
        // - the value lies in fresh memory of this arena, and the only reference to it has ended.
        Ok(unsafe { self.share_leaked(value, values, room) })
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
        let text = NonNull::from(self.alloc_str(source));
        // SAFETY: the only reference to fresh memory of this arena has ended.
        unsafe { self.handle(text) }
    }

    /// Shares a copy of a string, like [`share_str`](Self::share_str).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    #[track_caller]
    pub fn try_share_str(&self, source: &str) -> Result<FrameHandle<str>, ArenaError> {
        let text = NonNull::from(self.try_alloc_str(source)?);
        // SAFETY: the only reference to fresh memory of this arena has ended.
        Ok(unsafe { self.handle(text) })
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
        let text = NonNull::from(self.try_alloc_fmt(arguments)?);
        // SAFETY: the only reference to fresh memory of this arena has ended.
        Ok(unsafe { self.handle(text) })
    }
}

/// # Slices for other systems and the next frame
impl FrameArena {
    /// Shares a copy of a slice of plain data.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let path = arenas.local().share_slice_copy(&[1, 2, 3]);
    /// assert_eq!(arenas[path], [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_slice_copy<T>(&self, source: &[T]) -> FrameHandle<[T]>
    where
        T: Copy + Send + Sync + 'static,
    {
        let values = NonNull::from(self.alloc_slice_copy(source));
        // SAFETY: the only reference to fresh memory of this arena has ended.
        unsafe { self.handle(values) }
    }

    /// Shares a copy of a slice, like [`share_slice_copy`](Self::share_slice_copy).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
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

    /// Shares a slice of `len` elements, each made from its index.
    ///
    /// `make` may use the arena. If it panics, what it made so far is dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let names = arenas.local().share_slice_fill_with(2, |index| format!("player {index}"));
    /// assert_eq!(arenas[names], ["player 0", "player 1"]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`]. `make` is not called then.
    #[inline]
    #[track_caller]
    pub fn share_slice_fill_with<T: Send + Sync + 'static>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> FrameHandle<[T]> {
        self.share_iter((0..len).map(make))
    }

    /// Shares a slice, like [`share_slice_fill_with`](Self::share_slice_fill_with).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; `make` is not called then.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_fill_with<T: Send + Sync + 'static>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_share_iter((0..len).map(make))
    }

    /// Shares everything that an iterator yields.
    ///
    /// The iterator may use the arena. If it panics, what it yielded so far is dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let even = arenas.local().share_iter((0..10).filter(|n| n % 2 == 0));
    /// assert_eq!(arenas[even], [0, 2, 4, 6, 8]);
    ///
    /// let names = [String::from("Ferris"), String::from("Corro")];
    /// let clones = arenas.local().share_iter(names.iter().cloned());
    /// assert_eq!(arenas[clones], names);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> FrameHandle<[T]> {
        match self.try_share_iter(iter) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
    }

    /// Shares everything that an iterator yields, like [`share_iter`](Self::share_iter).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was yielded so far is dropped then.
    #[inline]
    #[track_caller]
    pub fn try_share_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        // First: without it nothing is made.
        let room = self.try_room_for_drop::<T>()?;
        let values = NonNull::from(self.try_collect(iter)?.leak());
        // SAFETY:
        // - the room was taken for `T`;
        // - the vector gave up its elements, which lie in the memory of this arena.
        Ok(unsafe { self.share_leaked(values, values, room) })
    }
}

/// The one way to a handle.
impl FrameArena {
    /// Shares data that its owner has leaked: its values are dropped when the arena is recycled.
    /// `data` is those values, as the handle names them.
    ///
    /// # Safety
    /// - `room` must have been taken from this arena for `V`;
    /// - `data` and `values` must be as [`handle`](Self::handle) demands, and nothing else may drop
    ///   the values.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn share_leaked<T: ?Sized, V: Shareable>(
        &self,
        data: NonNull<T>,
        values: NonNull<[V]>,
        room: RoomForDrop,
    ) -> FrameHandle<T> {
        // SAFETY: the caller's promises are the same.
        unsafe { self.drop_at_recycle(room, values) };
        // SAFETY: as above.
        unsafe { self.handle(data) }
    }

    /// Makes a handle to data in this arena, and marks the arena as shared.
    ///
    /// Every handle is made here, except for the plain values that [`share`](Self::share) puts into
    /// an arena that is marked already.
    ///
    /// # Safety
    /// `data` must be valid, in memory that was taken from this arena and is not given back before
    /// the arena is recycled. Nothing may mutate it or move it until then.
    #[inline(always)]
    #[track_caller]
    pub(crate) unsafe fn handle<T: ?Sized>(&self, data: NonNull<T>) -> FrameHandle<T> {
        // SAFETY: the caller promises it for the generation, or the arena, that has this stamp.
        unsafe { FrameHandle::new(data, self.stamp_to_share()) }
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
