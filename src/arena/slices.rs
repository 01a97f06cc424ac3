//! Slices in an arena, of any element or of text.
#![expect(unsafe_code, reason = "writes elements into raw memory")]
#![expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]

use std::alloc::Layout;
use std::ptr::{self, NonNull};
use std::slice;

use super::values::refuse_destructors;
use super::{FrameArena, bump::beyond_cursor, dangling};
use crate::error::{ArenaError, or_fail};

/// The largest alignment that `#[repr(align)]` allows.
const MAX_ALIGN: usize = 1 << 29;

/// # Slices that this system reads and writes
///
/// Each method panics with the text of the [`ArenaError`] if memory is refused, and has a `try_` twin that
/// returns the error.
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
    #[inline]
    #[track_caller]
    pub fn alloc_slice_copy<T: Copy>(&self, source: &[T]) -> &mut [T] {
        match self.take(size_of_val(source), beyond_cursor(align_of::<T>())) {
            // SAFETY: the memory was taken for this many elements.
            Some(memory) => unsafe { copy_to(memory, source) },
            None => self.alloc_slice_copy_slow(source),
        }
    }

    /// Allocates as [`alloc_slice_copy`](Self::alloc_slice_copy) does, or returns an error.
    #[inline]
    pub fn try_alloc_slice_copy<T: Copy>(&self, source: &[T]) -> Result<&mut [T], ArenaError> {
        let memory = self.try_take_slice::<T>(Layout::for_value(source))?;
        // SAFETY: the memory was taken for this many elements.
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
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_copy<T: Copy>(&self, len: usize, value: T) -> &mut [T] {
        self.make_slice(len, |_| value)
    }

    /// Allocates as [`alloc_slice_fill_copy`](Self::alloc_slice_fill_copy) does, or returns an error.
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
    /// `make` may use the arena. If it panics, the space stays in use until the next reset.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let squares = arena.alloc_slice_fill_with(4, |index| index * index);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_fill_with<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        const { refuse_destructors::<T>() };
        self.make_slice(len, make)
    }

    /// Allocates as [`alloc_slice_fill_with`](Self::alloc_slice_fill_with) does, or returns an error
    /// without calling `make`.
    #[inline]
    pub fn try_alloc_slice_fill_with<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_destructors::<T>() };
        self.try_make_slice(len, make)
    }

    /// Allocates and fills a slice. If `make` panics, the elements made so far are leaked, so callers must
    /// refuse types with a destructor. Each caller does so itself, so that the compiler reports the user's
    /// line.
    #[inline(always)]
    #[track_caller]
    fn make_slice<T>(&self, len: usize, make: impl FnMut(usize) -> T) -> &mut [T] {
        let layout = or_fail(array_layout::<T>(len));
        let memory = match self.take(layout.size(), beyond_cursor(align_of::<T>())) {
            Some(memory) => memory,
            None => self.alloc_layout_slow(layout),
        };
        // SAFETY: the memory was taken for `len` elements.
        unsafe { fill(memory, len, make) }
    }

    /// Allocates and fills a slice, like [`make_slice`](Self::make_slice).
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

    /// Takes memory for a slice of `T` with this layout.
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

    /// Takes memory for `len` elements of `T`, if the active block has room.
    #[inline(always)]
    pub(crate) fn take_elements_of_block<T>(&self, len: usize) -> Option<NonNull<T>> {
        let layout = Layout::array::<T>(len).ok()?;
        Some(
            self.take(layout.size(), beyond_cursor(align_of::<T>()))?
                .cast(),
        )
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn alloc_slice_copy_slow<T: Copy>(&self, source: &[T]) -> &mut [T] {
        or_fail(self.try_alloc_slice_copy(source))
    }

    /// Allocates a slice of `len` copies of `value` that starts at a multiple of `ALIGN`.
    ///
    /// For SIMD lanes, cache lines (64) and pages (4096). `ALIGN` must be a power of two up to 2^29, which is
    /// checked at compile time. An `ALIGN` below the alignment of `T` has no effect.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let lanes = arena.alloc_slice_aligned::<64, _>(8, 1.5_f32);
    /// assert_eq!(lanes.as_ptr().addr() % 64, 0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_slice_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> &mut [T] {
        const { refuse_alignment(ALIGN) };
        or_fail(self.try_make_aligned::<ALIGN, T>(len, value))
    }

    /// Allocates as [`alloc_slice_aligned`](Self::alloc_slice_aligned) does, or returns an error.
    #[inline]
    pub fn try_alloc_slice_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_alignment(ALIGN) };
        self.try_make_aligned::<ALIGN, T>(len, value)
    }

    /// Makes an aligned slice. Callers must refuse invalid alignments. Each does so itself, so that the
    /// compiler reports the user's line.
    #[inline]
    fn try_make_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        // An array that has a layout, but not with this alignment, is within `MAX_ALIGN` of the largest
        // possible size: it is too long.
        let Ok(layout) = array_layout::<T>(len)?.align_to(ALIGN) else {
            return Err(too_long::<T>(len));
        };
        let memory = match layout.size() {
            0 => dangling(layout),
            _ => self.try_alloc_layout(layout)?,
        };
        // SAFETY: the memory was taken for `len` elements, with at least their alignment.
        Ok(unsafe { fill(memory, len, |_| value) })
    }

    /// Allocates a copy of a string.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let name = arena.alloc_str("Ferris");
    /// name.make_ascii_uppercase();
    /// assert_eq!(name, "FERRIS");
    /// ```
    #[inline]
    #[track_caller]
    pub fn alloc_str(&self, source: &str) -> &mut str {
        let bytes = self.alloc_slice_copy(source.as_bytes());
        // SAFETY: the bytes are a copy of a `str`.
        unsafe { std::str::from_utf8_unchecked_mut(bytes) }
    }

    /// Allocates as [`alloc_str`](Self::alloc_str) does, or returns an error.
    #[inline]
    pub fn try_alloc_str(&self, source: &str) -> Result<&mut str, ArenaError> {
        let bytes = self.try_alloc_slice_copy(source.as_bytes())?;
        // SAFETY: the bytes are a copy of a `str`.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }
}

/// # Safety
/// `memory` must have been taken for this call, with room for the elements of `source`.
#[inline(always)]
unsafe fn copy_to<'a, T: Copy>(memory: NonNull<u8>, source: &[T]) -> &'a mut [T] {
    let place = memory.cast::<T>().as_ptr();
    // SAFETY: the memory is fresh, so it does not overlap `source`, and has its size.
    unsafe { ptr::copy_nonoverlapping(source.as_ptr(), place, source.len()) };
    // SAFETY: all elements are initialised, and no other reference reaches them.
    unsafe { slice::from_raw_parts_mut(place, source.len()) }
}

/// # Safety
/// `memory` must have been taken for this call, with room for `len` elements.
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
        // SAFETY: the slot is fresh memory. Elements that are leaked if `make` panics have no destructor.
        unsafe { element.write(value) };
    }
    // SAFETY: all elements are initialised, and no other reference reaches them.
    unsafe { slice::from_raw_parts_mut(place, len) }
}

#[inline(always)]
pub(crate) fn array_layout<T>(len: usize) -> Result<Layout, ArenaError> {
    Layout::array::<T>(len).map_err(|_| too_long::<T>(len))
}

#[cold]
pub(crate) fn too_long<T>(len: usize) -> ArenaError {
    ArenaError::TooLong {
        len,
        element_bytes: size_of::<T>(),
    }
}

/// Refuses invalid alignments at compile time.
const fn refuse_alignment(align: usize) {
    assert!(
        align.is_power_of_two() && align <= MAX_ALIGN,
        "`ALIGN` must be a power of two, and at most 2^29"
    );
}
