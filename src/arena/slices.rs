//! Slices in an arena, of any element or of text.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

mod aligned;
mod text;

use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::slice;

use super::values::refuse_destructors;
use super::{FrameArena, bump::beyond_cursor};
use crate::error::{ArenaError, fail};

/// # Slices that this system reads and writes
#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates a copy of a slice of plain data.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let sorted = arena.alloc_slice_copy(&[3, 1, 2]);
    /// sorted.sort();
    /// assert_eq!(sorted, [1, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_slice_copy<T: Copy>(&self, source: &[T]) -> &mut [T] {
        match self.take(size_of_val(source), beyond_cursor(align_of::<T>())) {
            // SAFETY: the memory was taken for as many elements.
            Some(memory) => unsafe { copy_to(memory, source) },
            None => self.alloc_slice_copy_slow(source),
        }
    }

    /// Allocates a copy of a slice, like [`alloc_slice_copy`](Self::alloc_slice_copy).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, source: &[T]) -> Result<&mut [T], ArenaError> {
        let memory = self.try_take_slice::<T>(Layout::for_value(source))?;
        // SAFETY: the memory was taken for as many elements.
        Ok(unsafe { copy_to(memory, source) })
    }

    /// Allocates a slice of `len` copies of `value`.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let histogram = arena.alloc_slice_fill_copy(16, 0_u32);
    /// histogram[3] += 1;
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> &mut [T] {
        self.make_slice(len, |_| value)
    }

    /// Allocates a slice of copies, like [`alloc_slice_fill_copy`](Self::alloc_slice_fill_copy).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    pub fn try_alloc_slice_fill_copy<T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        self.try_make_slice(len, |_| value)
    }

    /// Allocates a slice of `len` elements, each made from its index.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let squares = arena.alloc_slice_fill_with(4, |index| index * index);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_with<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        const { refuse_destructors::<T>() };
        self.make_slice(len, make)
    }

    /// Allocates a slice, like [`alloc_slice_fill_with`](Self::alloc_slice_fill_with).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; `make` is not called then.
    #[inline]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_destructors::<T>() };
        self.try_make_slice(len, make)
    }

    /// Fills a slice. If `make` panics, what it made so far is forgotten: callers refuse types
    /// with a destructor, each by itself, so that the compiler names the user's line.
    #[inline(always)]
    #[track_caller]
    fn make_slice<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        let layout = match array_layout::<T>(len) {
            Ok(layout) => layout,
            Err(error) => fail(error),
        };
        let memory = match self.take(layout.size(), beyond_cursor(align_of::<T>())) {
            Some(memory) => memory,
            None => self.alloc_layout_slow(layout),
        };
        // SAFETY: the memory was taken for `len` elements.
        unsafe { fill(memory, len, make) }
    }

    /// Fills a slice, like [`make_slice`](Self::make_slice).
    #[inline(always)]
    fn try_make_slice<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], ArenaError> {
        let memory = self.try_take_elements::<T>(len)?;
        // SAFETY: the memory was taken for `len` elements.
        Ok(unsafe { fill(memory.cast(), len, make) })
    }

    /// Takes memory for elements of `T`, as many as `layout` has room for.
    #[inline(always)]
    fn try_take_slice<T>(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        match self.take(layout.size(), beyond_cursor(align_of::<T>())) {
            Some(memory) => Ok(memory),
            None => self.take_slow(layout),
        }
    }

    /// Takes memory for `len` elements of `T`.
    #[inline(always)]
    pub(crate) fn try_take_elements<T>(&self, len: usize) -> Result<NonNull<T>, ArenaError> {
        Ok(self.try_take_slice::<T>(array_layout::<T>(len)?)?.cast())
    }

    /// Takes memory for `len` elements of `T`, if the active block has it.
    #[inline(always)]
    pub(crate) fn take_elements_of_block<T>(&self, len: usize) -> Option<NonNull<[T]>> {
        let layout = array_layout::<T>(len).ok()?;
        let memory = self.take(layout.size(), beyond_cursor(align_of::<T>()))?;
        Some(NonNull::slice_from_raw_parts(memory.cast(), len))
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn alloc_slice_copy_slow<T: Copy>(&self, source: &[T]) -> &mut [T] {
        let memory = self.alloc_layout_slow(Layout::for_value(source));
        // SAFETY: the memory was taken for as many elements.
        unsafe { copy_to(memory, source) }
    }
}

/// # Safety
/// `memory` was taken for as many elements as `source` has, and for this call.
#[inline(always)]
unsafe fn copy_to<'a, T: Copy>(memory: NonNull<u8>, source: &[T]) -> &'a mut [T] {
    let place = memory.cast::<T>().as_ptr();
    // SAFETY: the memory is fresh, so it does not overlap `source`, and has its size.
    unsafe { ptr::copy_nonoverlapping(source.as_ptr(), place, source.len()) };
    // SAFETY: all elements are initialised, and no other reference reaches them.
    unsafe { slice::from_raw_parts_mut(place, source.len()) }
}

/// # Safety
/// `memory` was taken for `len` elements, and for this call.
#[inline(always)]
unsafe fn fill<'a, T>(
    memory: NonNull<u8>,
    len: usize,
    mut make: impl FnMut(usize) -> T,
) -> &'a mut [T] {
    let place = memory.cast::<T>().as_ptr();
    for index in 0..len {
        let value = make(index);
        // SAFETY: the index is in bounds of the memory taken.
        let element = unsafe { place.add(index) };
        // SAFETY: as above. If `make` panics, what was written is forgotten: it has no destructor.
        unsafe { element.write(value) };
    }
    // SAFETY: all elements are initialised, and no other reference reaches them.
    unsafe { slice::from_raw_parts_mut(place, len) }
}

#[inline(always)]
fn array_layout<T>(len: usize) -> Result<Layout, ArenaError> {
    Layout::array::<T>(len).map_err(|_| too_long::<T>(len))
}

#[cold]
fn too_long<T>(len: usize) -> ArenaError {
    ArenaError::TooLong {
        len,
        element_bytes: size_of::<T>(),
    }
}
