//! A growing string in an arena.
#![expect(
    unsafe_code,
    reason = "turns bytes that are UTF-8 by construction into `str`"
)]

mod edit;
mod traits;

use std::fmt::{self, Write};
use std::ops::{Deref, DerefMut};

use super::{FrameVec, or_fail};
use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// A string in an arena, for `write!` and for building by pieces.
///
/// `write!` works without an import, and panics with the text of the [`ArenaError`] at its own
/// line if the arena refuses; [`try_write_fmt`](Self::try_write_fmt) returns it.
///
/// ```
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut label = arena.string();
/// label.push_str("wave ");
/// write!(label, "{}", 3).unwrap();
/// assert_eq!(label, "wave 3");
/// ```
pub struct FrameString<'a> {
    /// Always UTF-8.
    bytes: FrameVec<'a, u8>,
}

/// What a string takes at first, if it is there: enough for most labels, which saves the growth in
/// small steps. [`FrameString::leak`] and [`FrameString::share`] give back what is left over.
const FIRST_BYTES: usize = 64;

impl<'a> FrameString<'a> {
    /// Creates an empty string. It allocates with its first character.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameString};
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(FrameString::new_in(&arena), "");
    /// ```
    #[inline]
    pub const fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            bytes: FrameVec::new_in(arena),
        }
    }

    /// Creates a string with room for `capacity` bytes.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameString};
    /// let arena = FrameArena::new(4096);
    /// assert!(FrameString::with_capacity_in(100, &arena).capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn with_capacity_in(capacity: usize, arena: &'a FrameArena) -> Self {
        Self {
            bytes: FrameVec::with_capacity_in(capacity, arena),
        }
    }

    /// Returns the arena.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let label = arena.string();
    /// assert!(std::ptr::eq(label.arena(), &arena));
    /// ```
    #[inline]
    pub const fn arena(&self) -> &'a FrameArena {
        self.bytes.arena()
    }

    /// Returns how many bytes there is room for before the string grows.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// assert_eq!(arena.string().capacity(), 0);
    /// ```
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Makes room for at least `additional` more bytes.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.reserve(100);
    /// assert!(label.capacity() >= 100);
    /// ```
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Makes room for at least `additional` more bytes.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing changes then.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        self.bytes.try_reserve(additional)
    }

    /// Appends a string.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// assert_eq!(label, "wave 3");
    /// ```
    #[inline]
    #[track_caller]
    pub fn push_str(&mut self, text: &str) {
        or_fail(self.try_push_str(text));
    }

    /// Appends a string.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing is appended then.
    #[inline]
    pub fn try_push_str(&mut self, text: &str) -> Result<(), ArenaError> {
        if text.len() > self.bytes.capacity() - self.bytes.len() {
            self.grow(text.len())?;
        }
        // SAFETY: there is room for it: growing made it, or failed.
        unsafe { self.bytes.append_bytes_within_capacity(text.as_bytes()) };
        Ok(())
    }

    /// Appends a character.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push('…');
    /// assert_eq!(label, "…");
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, character: char) {
        or_fail(self.try_push(character));
    }

    /// Appends a character.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; nothing is appended then.
    #[inline]
    pub fn try_push(&mut self, character: char) -> Result<(), ArenaError> {
        self.try_push_str(character.encode_utf8(&mut [0; 4]))
    }

    /// Removes the last character and returns it.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("12 €");
    /// assert_eq!(label.pop(), Some('€'));
    /// ```
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.len() - last.len_utf8());
        Some(last)
    }

    /// Removes all text beyond the first `len` bytes.
    ///
    /// # Panics
    /// If that is in the middle of a character.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// label.truncate(4);
    /// assert_eq!(label, "wave");
    /// ```
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.assert_boundary(len);
            self.bytes.truncate(len);
        }
    }

    /// # Panics
    /// If the index is within a character, or beyond the text.
    #[track_caller]
    fn assert_boundary(&self, index: usize) {
        assert!(
            self.is_char_boundary(index),
            "byte {index} is within a character"
        );
    }

    /// Removes the text and keeps the memory.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// label.clear();
    /// assert_eq!(label, "");
    /// ```
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the text.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// assert_eq!(label.as_str().len(), 6);
    /// ```
    pub fn as_str(&self) -> &str {
        self
    }

    /// Appends formatted text: this is what `write!(string, "…")` calls.
    ///
    /// # Errors
    /// If a `Display` implementation returns an error; what was written before that stays.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`].
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// write!(label, "{} of {}", 3, 7).unwrap();
    /// assert_eq!(label, "3 of 7");
    /// ```
    #[track_caller]
    pub fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> fmt::Result {
        match self.write(arguments) {
            Ok(()) => Ok(()),
            Err(Some(error)) => fail(error),
            Err(None) => Err(fmt::Error),
        }
    }

    /// Appends formatted text: `string.try_write_fmt(format_args!("{hp} HP"))`.
    ///
    /// # Errors
    /// If the arena is out of memory or over a limit; what was written before that stays.
    ///
    /// # Panics
    /// If a `Display` implementation returns an error, like `format!`.
    #[inline]
    #[track_caller]
    pub fn try_write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> Result<(), ArenaError> {
        match self.write(arguments) {
            Ok(()) => Ok(()),
            Err(Some(error)) => Err(error),
            Err(None) => panic!("a formatting trait implementation returned an error"),
        }
    }

    /// Returns why the arena refused, or nothing if it was not the arena.
    #[inline(always)]
    fn write(&mut self, arguments: fmt::Arguments<'_>) -> Result<(), Option<ArenaError>> {
        let mut writer = Fallible {
            text: self,
            error: None,
        };
        match fmt::write(&mut writer, arguments) {
            Ok(()) => Ok(()),
            Err(fmt::Error) => Err(writer.error),
        }
    }

    /// Formats into a string with room for a label from the start, if it is there.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn try_format(
        arena: &'a FrameArena,
        arguments: fmt::Arguments<'_>,
    ) -> Result<Self, ArenaError> {
        let bytes = FrameVec::with_capacity_of_block(FIRST_BYTES, arena);
        let mut text = Self { bytes };
        text.try_write_fmt(arguments)?;
        Ok(text)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<(), ArenaError> {
        if self.capacity() == 0 && additional < FIRST_BYTES {
            let first = self.arena().block_remaining_bytes().min(FIRST_BYTES);
            if self.bytes.try_reserve_exact(first.max(additional)).is_ok() {
                return Ok(());
            }
        }
        self.bytes.try_reserve(additional)
    }
}

/// A writer that remembers why it failed: `fmt::Error` has no room for the reason.
struct Fallible<'s, 'a> {
    text: &'s mut FrameString<'a>,
    error: Option<ArenaError>,
}

impl Write for Fallible<'_, '_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = &mut self.text.bytes;
        if text.len() > bytes.capacity() - bytes.len() {
            return self.write_str_slow(text);
        }
        // SAFETY: there is room for it.
        unsafe { bytes.append_bytes_within_capacity(text.as_bytes()) };
        Ok(())
    }
}

impl Fallible<'_, '_> {
    #[cold]
    #[inline(never)]
    fn write_str_slow(&mut self, text: &str) -> fmt::Result {
        self.text.try_push_str(text).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

/// For code that writes to any [`Write`]. Like `write!`, it panics with the reason if the arena
/// refuses.
impl Write for FrameString<'_> {
    #[inline]
    #[track_caller]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl Deref for FrameString<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: `bytes` is always UTF-8.
        unsafe { std::str::from_utf8_unchecked(&self.bytes) }
    }
}

impl DerefMut for FrameString<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut str {
        // SAFETY: `bytes` is always UTF-8, and `str` keeps it so.
        unsafe { std::str::from_utf8_unchecked_mut(&mut self.bytes) }
    }
}
