//! Sharing lists.
#![expect(
    unsafe_code,
    reason = "vouches for the data behind the handles it makes"
)]

use std::mem::forget;
use std::ptr::NonNull;

use super::FrameHandle;
use crate::arena::{FrameArena, refuse_alignment};
use crate::containers::FrameVec;
use crate::error::{ArenaError, fail};

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
        // SAFETY: the only reference to fresh memory of this arena ends here.
        unsafe { self.handle_to(self.alloc_slice_copy(source)) }
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
        let values = self.try_alloc_slice_copy(source)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(values) })
    }

    /// Shares a slice of clones.
    ///
    /// Unlike [`alloc_slice_clone`](Self::alloc_slice_clone), it takes types with a destructor:
    /// they are dropped when the frame's memory is recycled. `clone` may use the arena. If it
    /// panics, the clones made so far are dropped.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let players = vec![String::from("Ferris"), String::from("Corro")];
    /// let names = arenas.local().share_slice_clone(&players);
    /// assert_eq!(arenas[names], players);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_slice_clone<T>(&self, source: &[T]) -> FrameHandle<[T]>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.share_slice_fill_with(source.len(), |index| source[index].clone())
    }

    /// Shares a slice of clones, like [`share_slice_clone`](Self::share_slice_clone).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing is cloned then.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_clone<T>(&self, source: &[T]) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.try_share_slice_fill_with(source.len(), |index| source[index].clone())
    }

    /// Shares a slice of `len` copies of `value`.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let flat = arenas.local().share_slice_fill_copy(3, 0.5);
    /// assert_eq!(arenas[flat], [0.5; 3]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_slice_fill_copy<T>(&self, len: usize, value: T) -> FrameHandle<[T]>
    where
        T: Copy + Send + Sync + 'static,
    {
        self.share_slice_fill_with(len, |_| value)
    }

    /// Shares a slice of copies, like [`share_slice_fill_copy`](Self::share_slice_fill_copy).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_fill_copy<T>(
        &self,
        len: usize,
        value: T,
    ) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Copy + Send + Sync + 'static,
    {
        self.try_share_slice_fill_with(len, |_| value)
    }

    /// Shares a slice of `len` default values.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let names = arenas.local().share_slice_fill_default::<String>(2);
    /// assert_eq!(arenas[names], ["", ""]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_slice_fill_default<T>(&self, len: usize) -> FrameHandle<[T]>
    where
        T: Default + Send + Sync + 'static,
    {
        self.share_slice_fill_with(len, |_| T::default())
    }

    /// Shares default values, like [`share_slice_fill_default`](Self::share_slice_fill_default).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_fill_default<T>(
        &self,
        len: usize,
    ) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Default + Send + Sync + 'static,
    {
        self.try_share_slice_fill_with(len, |_| T::default())
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
        match self.try_share_slice_fill_with(len, make) {
            Ok(handle) => handle,
            Err(error) => fail(error),
        }
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
        mut make: impl FnMut(usize) -> T,
    ) -> Result<FrameHandle<[T]>, ArenaError> {
        let place = self.try_take_elements::<T>(len)?;
        let room = self.try_room_for_drop::<T>()?;
        let mut made = Made { place, len: 0 };
        for index in 0..len {
            let value = make(index);
            // SAFETY: the index is in bounds of the memory taken.
            let element = unsafe { place.add(index) };
            // SAFETY: as above, and nothing else was written there.
            unsafe { element.write(value) };
            made.len = index + 1;
        }
        // From here on the arena drops them.
        forget(made);
        let values = NonNull::slice_from_raw_parts(place, len);
        // SAFETY:
        // - the room was taken for `T`;
        // - the values lie in fresh memory of this arena, and nobody else drops them or refers to
        //   them.
        unsafe { self.drop_at_recycle(room, values) };
        // SAFETY: all values are initialised, and as above.
        Ok(unsafe { FrameHandle::new(values, self.stamp()) })
    }

    /// Shares a slice of `len` copies of `value` that starts at a multiple of `ALIGN`.
    ///
    /// For SIMD lanes, cache lines (64) and pages (4096). `ALIGN` is a power of two up to 2^29,
    /// which is checked at compile time; one below the alignment of `T` has no effect.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// let arenas = FrameArenas::default();
    /// let lanes = arenas.local().share_slice_aligned::<64, _>(8, 1.5_f32);
    /// assert_eq!(arenas[lanes].as_ptr().addr() % 64, 0);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn share_slice_aligned<const ALIGN: usize, T>(
        &self,
        len: usize,
        value: T,
    ) -> FrameHandle<[T]>
    where
        T: Copy + Send + Sync + 'static,
    {
        const { refuse_alignment(ALIGN) };
        match self.try_make_aligned::<ALIGN, T>(len, value) {
            // SAFETY: the only reference to fresh memory of this arena ends here.
            Ok(values) => unsafe { self.handle_to(values) },
            Err(error) => fail(error),
        }
    }

    /// Shares an aligned slice, like [`share_slice_aligned`](Self::share_slice_aligned).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    #[track_caller]
    pub fn try_share_slice_aligned<const ALIGN: usize, T>(
        &self,
        len: usize,
        value: T,
    ) -> Result<FrameHandle<[T]>, ArenaError>
    where
        T: Copy + Send + Sync + 'static,
    {
        const { refuse_alignment(ALIGN) };
        let values = self.try_make_aligned::<ALIGN, T>(len, value)?;
        // SAFETY: the only reference to fresh memory of this arena ends here.
        Ok(unsafe { self.handle_to(values) })
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
        let values = self.try_collect(iter)?;
        let room = self.try_room_for_drop::<T>()?;
        let values = NonNull::from(FrameVec::leak(values));
        // SAFETY:
        // - the room was taken for `T`;
        // - the vector gave up its elements, which lie in the memory of this arena.
        unsafe { self.drop_at_recycle(room, values) };
        // SAFETY: as above.
        Ok(unsafe { FrameHandle::new(values, self.stamp()) })
    }
}

/// Drops the values made so far, if the next one panics.
struct Made<T> {
    place: NonNull<T>,
    len: usize,
}

impl<T> Drop for Made<T> {
    fn drop(&mut self) {
        let values = NonNull::slice_from_raw_parts(self.place, self.len);
        // SAFETY: as many values were written, and no handle was made for them.
        unsafe { values.drop_in_place() };
    }
}
