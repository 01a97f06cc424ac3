//! Slices that start at a multiple of a chosen alignment.
#![expect(unsafe_code, reason = "writes elements into raw memory")]

use super::{array_layout, fill, too_long};
use crate::arena::{FrameArena, dangling};
use crate::error::{ArenaError, fail};

/// The largest alignment that the language knows, that of `#[repr(align)]`.
const MAX_ALIGN: usize = 1 << 29;

/// # Slices with an alignment
#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates a slice of `len` copies of `value` that starts at a multiple of `ALIGN`.
    ///
    /// For SIMD lanes, cache lines (64) and pages (4096). `ALIGN` is a power of two up to 2^29,
    /// which is checked at compile time; one below the alignment of `T` has no effect.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let lanes = arena.alloc_slice_aligned::<64, _>(8, 1.5_f32);
    /// assert_eq!(lanes.as_ptr().addr() % 64, 0);
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_slice_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> &mut [T] {
        const { refuse_alignment(ALIGN) };
        match self.try_make_aligned::<ALIGN, T>(len, value) {
            Ok(slice) => slice,
            Err(error) => fail(error),
        }
    }

    /// Allocates an aligned slice, like [`alloc_slice_aligned`](Self::alloc_slice_aligned).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    pub fn try_alloc_slice_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        const { refuse_alignment(ALIGN) };
        self.try_make_aligned::<ALIGN, T>(len, value)
    }

    /// Makes an aligned slice. Callers refuse what is no alignment, each by itself, so that the
    /// compiler names the user's line.
    #[inline]
    fn try_make_aligned<const ALIGN: usize, T: Copy>(
        &self,
        len: usize,
        value: T,
    ) -> Result<&mut [T], ArenaError> {
        // Elements that fit a layout, but not with this alignment, miss the largest size there is
        // by less than `MAX_ALIGN`: there are too many of them indeed.
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
}

/// Refuses what is no alignment, when the caller is compiled.
const fn refuse_alignment(align: usize) {
    assert!(
        align.is_power_of_two() && align <= MAX_ALIGN,
        "`ALIGN` must be a power of two, and at most 2^29"
    );
}
