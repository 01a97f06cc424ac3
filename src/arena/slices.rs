//! Slices in an arena, of any element or of text.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use std::alloc::Layout;
use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;

use super::values::refuse_destructors;
use super::{FrameArena, bump::beyond_cursor, dangling};
use crate::containers::{FrameString, FrameVec};
use crate::error::{ArenaError, fail};

#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates a copy of a slice.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_slice_copy<T: Copy>(&self, source: &[T]) -> &mut [T] {
        match self.take(size_of_val(source), beyond_cursor(align_of::<T>())) {
            // SAFETY: the memory was taken for as many elements.
            Some(memory) => unsafe { copy_to(memory, source) },
            None => self.alloc_slice_copy_elsewhere(source),
        }
    }

    /// Allocates a copy of a slice.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, source: &[T]) -> Result<&mut [T], ArenaError> {
        let memory = self.try_take_slice::<T>(Layout::for_value(source))?;
        // SAFETY: the memory was taken for as many elements.
        Ok(unsafe { copy_to(memory, source) })
    }

    /// Allocates a slice of `len` copies of `value`.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> &mut [T] {
        self.alloc_slice_fill_with(len, |_| value)
    }

    /// Allocates a slice of `len` copies of `value`.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_alloc_slice_fill_copy<T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        self.try_alloc_slice_fill_with(len, |_| value)
    }

    /// Allocates a slice of `len` elements, each made from its index.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_slice_fill_with<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        const { refuse_destructors::<T>() };
        let layout = array_layout::<T>(len).unwrap_or_else(|error| fail(error));
        let memory = match self.take(layout.size(), beyond_cursor(align_of::<T>())) {
            Some(memory) => memory,
            None => self.alloc_layout_elsewhere(layout),
        };
        // SAFETY: the memory was taken for `len` elements.
        unsafe { fill(memory, len, make) }
    }

    /// Allocates a slice of `len` elements, each made from its index.
    ///
    /// `make` may use the arena. If it panics, the space is used up until the next reset.
    ///
    /// # Errors
    /// If the memory can't be provided; `make` is not called then.
    #[inline]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_destructors::<T>() };
        let memory = self.try_take_slice::<T>(array_layout::<T>(len)?)?;
        // SAFETY: the memory was taken for `len` elements.
        Ok(unsafe { fill(memory, len, make) })
    }

    /// Allocates a slice with everything that an iterator yields.
    ///
    /// The iterator may use the arena. It is asked how much it will yield at least: a lower bound
    /// for which there is no memory is an error, even if it is wrong.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_slice_fill_iter<T>(&self, iter: impl IntoIterator<Item = T>) -> &mut [T] {
        self.try_alloc_slice_fill_iter(iter)
            .unwrap_or_else(|error| fail(error))
    }

    /// Allocates a slice with everything that an iterator yields.
    ///
    /// The iterator may use the arena. It is asked how much it will yield at least: a lower bound
    /// for which there is no memory is an error, even if it is wrong.
    ///
    /// # Errors
    /// If the memory can't be provided; what was yielded so far is lost, and its space may be used
    /// up until the next reset.
    #[inline]
    pub fn try_alloc_slice_fill_iter<T>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_destructors::<T>() };
        Ok(FrameVec::leak(self.try_collect(iter)?))
    }

    /// Allocates a slice of `len` copies of `value` that starts at a multiple of `align`.
    ///
    /// For SIMD lanes, cache lines (64) and pages (4096). An alignment below that of `T` has no
    /// effect.
    ///
    /// # Panics
    /// If `align` is not a power of two, or the memory can't be provided.
    #[inline]
    pub fn alloc_slice_aligned<T: Copy>(&self, len: usize, align: usize, value: T) -> &mut [T] {
        self.try_alloc_slice_aligned(len, align, value)
            .unwrap_or_else(|error| fail(error))
    }

    /// Allocates a slice of `len` copies of `value` that starts at a multiple of `align`.
    ///
    /// # Errors
    /// If `align` is not a power of two, or the memory can't be provided.
    #[inline]
    pub fn try_alloc_slice_aligned<T: Copy>(
        &self,
        len: usize,
        align: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        if !align.is_power_of_two() {
            return Err(ArenaError::InvalidAlignment { alignment: align });
        }
        let layout = array_layout::<T>(len)?
            .align_to(align)
            .map_err(|_| too_long::<T>(len))?;
        let memory = match layout.size() {
            0 => dangling(layout),
            _ => self.try_alloc_layout(layout)?,
        };
        // SAFETY: the memory was taken for `len` elements, with at least their alignment.
        Ok(unsafe { fill(memory, len, |_| value) })
    }

    /// Allocates a copy of a string.
    ///
    /// # Panics
    /// If the memory can't be provided.
    #[inline]
    pub fn alloc_str(&self, source: &str) -> &mut str {
        // SAFETY: the bytes are a copy of a `str`.
        unsafe { std::str::from_utf8_unchecked_mut(self.alloc_slice_copy(source.as_bytes())) }
    }

    /// Allocates a copy of a string.
    ///
    /// # Errors
    /// If the memory can't be provided.
    #[inline]
    pub fn try_alloc_str(&self, source: &str) -> Result<&mut str, ArenaError> {
        let bytes = self.try_alloc_slice_copy(source.as_bytes())?;
        // SAFETY: the bytes are a copy of a `str`.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }

    /// Allocates a formatted string: `arena.alloc_fmt(format_args!("{hp} HP"))`.
    ///
    /// # Panics
    /// If the memory can't be provided, or a `Display` implementation returns an error.
    pub fn alloc_fmt(&self, arguments: fmt::Arguments<'_>) -> &mut str {
        self.try_alloc_fmt(arguments)
            .unwrap_or_else(|error| fail(error))
    }

    /// Allocates a formatted string.
    ///
    /// # Errors
    /// If the memory can't be provided; the space of what was written so far may be used up until
    /// the next reset.
    ///
    /// # Panics
    /// If a `Display` implementation returns an error, like `format!`.
    pub fn try_alloc_fmt(&self, arguments: fmt::Arguments<'_>) -> Result<&mut str, ArenaError> {
        Ok(FrameString::try_format(self, arguments)?.leak())
    }

    #[inline(always)]
    fn try_take_slice<T>(&self, layout: Layout) -> Result<NonNull<u8>, ArenaError> {
        match self.take(layout.size(), beyond_cursor(align_of::<T>())) {
            Some(memory) => Ok(memory),
            None => self.take_slow(layout),
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_slice_copy_elsewhere<T: Copy>(&self, source: &[T]) -> &mut [T] {
        let memory = self.alloc_layout_elsewhere(Layout::for_value(source));
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
pub(super) fn array_layout<T>(len: usize) -> Result<Layout, ArenaError> {
    Layout::array::<T>(len).map_err(|_| too_long::<T>(len))
}

#[cold]
fn too_long<T>(len: usize) -> ArenaError {
    ArenaError::TooLong {
        len,
        element_bytes: size_of::<T>(),
    }
}
