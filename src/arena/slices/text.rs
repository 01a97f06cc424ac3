//! Strings in an arena.
#![expect(unsafe_code, reason = "turns copies of a `str` into a `str` again")]

use crate::arena::FrameArena;
use crate::error::ArenaError;

/// # Text that this system reads and writes
#[expect(
    clippy::mut_from_ref,
    reason = "each call returns memory that no other reference reaches"
)]
impl FrameArena {
    /// Allocates a copy of a string.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let name = arena.alloc_str("Ferris");
    /// name.make_ascii_uppercase();
    /// assert_eq!(name, "FERRIS");
    /// ```
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    #[inline]
    #[track_caller]
    pub fn alloc_str(&self, source: &str) -> &mut str {
        let bytes = self.alloc_slice_copy(source.as_bytes());
        // SAFETY: the bytes are a copy of a `str`.
        unsafe { std::str::from_utf8_unchecked_mut(bytes) }
    }

    /// Allocates a copy of a string, like [`alloc_str`](Self::alloc_str).
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit.
    #[inline]
    pub fn try_alloc_str(&self, source: &str) -> Result<&mut str, ArenaError> {
        let bytes = self.try_alloc_slice_copy(source.as_bytes())?;
        // SAFETY: the bytes are a copy of a `str`.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }
}
