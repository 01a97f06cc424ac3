//! A growing string in an arena.
#![expect(
    unsafe_code,
    reason = "turns bytes that are UTF-8 by construction into `str`"
)]

use std::fmt::{self, Write};
use std::ops::{Deref, DerefMut};

use super::FrameVec;
use crate::arena::FrameArena;
use crate::error::{ArenaError, fail};

/// A string in an arena, for `write!` and for building by pieces.
///
/// ```
/// use std::fmt::Write;
/// use bevy_frame_arena::FrameArena;
///
/// let arena = FrameArena::new(4096);
/// let mut label = arena.string();
/// label.push_str("wave ");
/// write!(label, "{}", 3).unwrap();
/// assert_eq!(&*label, "wave 3");
/// ```
#[derive(Clone)]
pub struct FrameString<'a> {
    /// Always UTF-8.
    bytes: FrameVec<'a, u8>,
}

impl<'a> FrameString<'a> {
    /// Creates an empty string. It allocates with its first character.
    pub fn new_in(arena: &'a FrameArena) -> Self {
        Self {
            bytes: FrameVec::new_in(arena),
        }
    }

    /// Appends a string.
    ///
    /// # Panics
    /// If the memory can't be provided.
    pub fn push_str(&mut self, text: &str) {
        self.try_push_str(text).unwrap_or_else(|error| fail(error));
    }

    /// Appends a string.
    ///
    /// # Errors
    /// If the memory can't be provided; nothing is appended then.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), ArenaError> {
        if self.bytes.capacity() - self.bytes.len() < text.len() {
            let arena: &FrameArena = self.bytes.allocator();
            let room = match self.bytes.capacity() {
                0 => first_room(arena),
                _ => 0,
            };
            arena.try_reserve(&mut self.bytes, room.max(text.len()))?;
        }
        // `extend_from_slice` would copy byte by byte.
        self.bytes.spare_capacity_mut()[..text.len()].write_copy_of_slice(text.as_bytes());
        // SAFETY: as many bytes behind the old length were just written.
        unsafe { self.bytes.set_len(self.bytes.len() + text.len()) };
        Ok(())
    }

    /// Appends a character.
    ///
    /// # Panics
    /// If the memory can't be provided.
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Removes the text and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self
    }

    /// Gives up the string and returns its text, which lives as long as the arena is borrowed.
    pub fn leak(mut self) -> &'a mut str {
        self.bytes.shrink_to_fit();
        let bytes = FrameVec::leak(self.bytes);
        // SAFETY: `bytes` is always UTF-8.
        unsafe { std::str::from_utf8_unchecked_mut(bytes) }
    }

    pub(crate) fn arena(&self) -> &'a FrameArena {
        self.bytes.allocator()
    }

    pub(crate) fn try_format(
        arena: &'a FrameArena,
        arguments: fmt::Arguments<'_>,
    ) -> Result<Self, ArenaError> {
        let mut writer = Fallible {
            text: Self {
                bytes: FrameVec::with_capacity_in(first_room(arena), arena),
            },
            error: None,
        };
        let formatted = writer.write_fmt(arguments);
        match (formatted, writer.error) {
            (_, Some(error)) => Err(error),
            (Err(_), None) => panic!("a formatting trait implementation returned an error"),
            (Ok(()), None) => Ok(writer.text),
        }
    }
}

/// What a string takes at first, if it is there: enough for most labels, which saves the growth in
/// small steps. [`FrameString::leak`] and [`Share`](crate::Share) give back what is left over.
const FIRST_BYTES: usize = 64;

fn first_room(arena: &FrameArena) -> usize {
    arena.chunk_remaining_bytes().min(FIRST_BYTES)
}

/// A writer that remembers why it failed: `fmt::Error` has no room for the reason.
struct Fallible<'a> {
    text: FrameString<'a>,
    error: Option<ArenaError>,
}

impl Write for Fallible<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.try_push_str(text).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

impl Write for FrameString<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_push_str(text).map_err(|_| fmt::Error)
    }
}

impl Deref for FrameString<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        // SAFETY: `bytes` is always UTF-8.
        unsafe { std::str::from_utf8_unchecked(&self.bytes) }
    }
}

impl DerefMut for FrameString<'_> {
    fn deref_mut(&mut self) -> &mut str {
        // SAFETY: `bytes` is always UTF-8, and `str` keeps it so.
        unsafe { std::str::from_utf8_unchecked_mut(&mut self.bytes) }
    }
}

impl fmt::Display for FrameString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for FrameString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl FrameArena {
    /// Creates an empty string. It allocates with its first character.
    pub fn string(&self) -> FrameString<'_> {
        FrameString::new_in(self)
    }
}
