//! Turning values of an arena into handles.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::fmt;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::FrameArena;
use crate::containers::FrameString;
use crate::error::{ArenaError, fail};

impl FrameArena {
    /// Shares a value. A value with a destructor is dropped when the frame's memory is recycled.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share<T: Send + Sync + 'static>(&self, value: T) -> FrameHandle<T> {
        if needs_drop::<T>() {
            return self.try_share(value).unwrap_or_else(|error| fail(error));
        }
        let value = NonNull::from(self.alloc_undropped(value));
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { FrameHandle::new(value, self.stamp()) }
    }

    /// Shares a value. A value with a destructor is dropped when the frame's memory is recycled.
    ///
    /// # Errors
    /// If the memory can't be provided; the value is dropped then.
    #[inline]
    pub fn try_share<T: Send + Sync + 'static>(
        &self,
        value: T,
    ) -> Result<FrameHandle<T>, ArenaError> {
        self.try_boxed(value)?.try_share()
    }

    /// Shares the value that `make` returns.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share_with<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> FrameHandle<T> {
        self.share(make())
    }

    /// Shares the value that `make` returns.
    ///
    /// # Errors
    /// If the memory can't be provided; the value is dropped then.
    #[inline]
    pub fn try_share_with<T: Send + Sync + 'static>(
        &self,
        make: impl FnOnce() -> T,
    ) -> Result<FrameHandle<T>, ArenaError> {
        self.try_share(make())
    }

    /// Shares a copy of a slice.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share_slice_copy<T>(&self, source: &[T]) -> FrameHandle<[T]>
    where
        T: Copy + Send + Sync + 'static,
    {
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { self.handle_to(self.alloc_slice_copy(source)) }
    }

    /// Shares a copy of a slice.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_share_slice_copy<T>(&self, source: &[T]) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Copy + Send + Sync + 'static,
    {
        let values = self.try_alloc_slice_copy(source)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(values) })
    }

    /// Shares a slice of `len` elements, each made from its index.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share_slice_fill_with<T: Send + Sync + 'static>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> FrameHandle<[T]> {
        self.share_slice_fill_iter((0..len).map(make))
    }

    /// Shares a slice of `len` elements, each made from its index.
    ///
    /// # Errors
    /// If the memory can't be provided; what was made so far is dropped then.
    #[inline]
    pub fn try_share_slice_fill_with<T: Send + Sync + 'static>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_share_slice_fill_iter((0..len).map(make))
    }

    /// Shares a slice with everything that an iterator yields.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share_slice_fill_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> FrameHandle<[T]> {
        self.try_share_slice_fill_iter(iter)
            .unwrap_or_else(|error| fail(error))
    }

    /// Shares a slice with everything that an iterator yields.
    ///
    /// # Errors
    /// If the memory can't be provided; what was yielded so far is dropped then.
    #[inline]
    pub fn try_share_slice_fill_iter<T: Send + Sync + 'static>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        self.try_collect(iter)?.try_share()
    }

    /// Shares a copy of a string.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn share_str(&self, source: &str) -> FrameHandle<str> {
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { self.handle_to(self.alloc_str(source)) }
    }

    /// Shares a copy of a string.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_share_str(&self, source: &str) -> Result<FrameHandle<str>, ArenaError> {
        let text = self.try_alloc_str(source)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(text) })
    }

    /// Shares a formatted string: `arena.share_fmt(format_args!("{hp} HP"))`.
    ///
    /// # Panics
    /// If the memory can't be provided, or a `Display` implementation returns an error.
    pub fn share_fmt(&self, arguments: fmt::Arguments<'_>) -> FrameHandle<str> {
        self.try_share_fmt(arguments)
            .unwrap_or_else(|error| fail(error))
    }

    /// Shares a formatted string.
    ///
    /// # Errors
    /// If the memory can't be provided.
    ///
    /// # Panics
    /// If a `Display` implementation returns an error, like `format!`.
    pub fn try_share_fmt(
        &self,
        arguments: fmt::Arguments<'_>,
    ) -> Result<FrameHandle<str>, ArenaError> {
        FrameString::try_format(self, arguments)?.try_share()
    }

    /// Returns what a handle names, if it was made since the last reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let mut arena = FrameArena::new(4096);
    /// let handle = arena.share(7);
    /// assert_eq!(arena.get(handle), Some(&7));
    /// arena.reset();
    /// assert_eq!(arena.get(handle), None);
    /// ```
    #[inline]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        // SAFETY: neither the arena nor its generation is recycled while the arena is borrowed.
        unsafe { handle.resolve(self.stamp()) }
    }

    /// Makes a handle to data in this arena.
    ///
    /// # Safety
    /// `data` lies in memory that was taken from this arena and is not given back, and no other
    /// reference reaches it.
    unsafe fn handle_to<T: ?Sized>(&self, data: &mut T) -> FrameHandle<T> {
        // SAFETY: with the only `&mut` gone, the data is as it is until the arena is recycled.
        unsafe { FrameHandle::new(NonNull::from(data), self.stamp()) }
    }
}
