//! A growing string in an arena.
#![expect(
    unsafe_code,
    reason = "turns bytes that are UTF-8 by construction into `str`"
)]

use std::fmt::{self, Write};
use std::ops::{AddAssign, Deref, DerefMut};

use super::{FrameVec, compared_as_contents, like_contents, or_fail};
use crate::arena::FrameArena;
use crate::error::ArenaError;

/// A string in an arena, with the common methods of [`String`]: for `write!` and for text built of pieces.
///
/// [`FrameArena::string`] makes one. `write!` works without an import.
///
/// # Panics
/// Every method that needs memory panics with the text of the [`ArenaError`] if the arena is out of memory
/// or over a limit. `write!` panics at its own line. [`try_write_fmt`](Self::try_write_fmt) and the other
/// `try_` twins return the error.
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

/// The first capacity of a string, if the block has it: enough for most labels, which saves the growth
/// in small steps. [`FrameString::leak`] and [`FrameString::share`] return the rest.
const FIRST_BYTES: usize = 64;

/// # Appending
impl<'a> FrameString<'a> {
    #[inline]
    pub(super) const fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            bytes: FrameVec::new_in(arena),
        }
    }

    #[inline]
    pub(crate) const fn arena(&self) -> &'a FrameArena {
        self.bytes.arena()
    }

    /// Returns the number of bytes that fit before the string grows.
    #[inline]
    pub const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the text, as `&string[..]` does.
    #[inline]
    pub fn as_str(&self) -> &str {
        self
    }

    /// Makes room for at least `additional` more bytes.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Makes room as [`reserve`](Self::reserve) does, or returns an error and changes nothing.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), ArenaError> {
        self.bytes.try_reserve(additional)
    }

    /// Appends a string.
    #[inline]
    #[track_caller]
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends as [`push_str`](Self::push_str) does, or returns an error and appends nothing.
    #[inline]
    pub fn try_push_str(&mut self, text: &str) -> Result<(), ArenaError> {
        self.bytes.try_extend_from_slice(text.as_bytes())
    }

    /// Appends a character.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Appends formatted text: `write!(string, "…")` calls this.
    ///
    /// # Errors
    /// If a `Display` implementation returns an error; text written before that stays.
    #[track_caller]
    pub fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> fmt::Result {
        or_fail(self.write(arguments))
    }

    /// Appends formatted text, or returns an error; text written before that stays:
    /// `string.try_write_fmt(format_args!("{hp} HP"))`.
    ///
    /// # Panics
    /// If a `Display` implementation returns an error, like `format!`.
    #[inline]
    #[track_caller]
    pub fn try_write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> Result<(), ArenaError> {
        self.write(arguments)?
            .expect("a formatting trait implementation returned an error");
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, arguments: fmt::Arguments<'_>) -> Result<fmt::Result, ArenaError> {
        let mut writer = Fallible {
            text: self,
            refusal: Ok(()),
        };
        match fmt::write(&mut writer, arguments) {
            Ok(()) => Ok(Ok(())),
            Err(error) => writer.refusal.map(|()| Err(error)),
        }
    }

    /// Formats into a string that has room for a label from the start, if the block has it.
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
}

/// # Removing, and giving it away
impl<'a> FrameString<'a> {
    /// Removes the last character and returns it.
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.len() - last.len_utf8());
        Some(last)
    }

    /// Removes all text beyond the first `len` bytes.
    ///
    /// # Panics
    /// If that is within a character.
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            assert!(
                self.is_char_boundary(len),
                "byte {len} is within a character"
            );
            self.bytes.truncate(len);
        }
    }

    /// Removes the text and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Gives up the string and returns its text, which lives as long as the arena is borrowed.
    #[inline]
    pub fn leak(mut self) -> &'a mut str {
        self.bytes.shrink_to_fit();
        // SAFETY: `bytes` is always UTF-8.
        unsafe { str::from_utf8_unchecked_mut(self.bytes.leak()) }
    }
}

/// A writer that keeps the arena's error, because `fmt::Error` carries no reason.
struct Fallible<'s, 'a> {
    text: &'s mut FrameString<'a>,
    refusal: Result<(), ArenaError>,
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
        self.refusal = self.text.try_push_str(text);
        self.refusal.map_err(|_| fmt::Error)
    }
}

/// For code that writes to any [`Write`]. Like `write!`, it panics if memory is refused.
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

impl fmt::Display for FrameString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Clones into the same arena.
impl Clone for FrameString<'_> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            bytes: self.bytes.clone(),
        }
    }
}

/// Appends a string.
impl AddAssign<&str> for FrameString<'_> {
    #[track_caller]
    fn add_assign(&mut self, text: &str) {
        self.push_str(text);
    }
}

like_contents! { [] FrameString<'_>, str }

compared_as_contents! {
    [] FrameString<'_>, FrameString<'_>;
    [] FrameString<'_>, str;
    [] FrameString<'_>, &str;
    [] FrameString<'_>, String;
    [] str, FrameString<'_>;
    [] &str, FrameString<'_>;
}
