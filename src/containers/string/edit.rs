//! Changing text in the middle, and turning bytes into text and back.
#![expect(
    unsafe_code,
    reason = "turns bytes that are UTF-8 by construction into `str`"
)]

use std::iter::FusedIterator;
use std::mem;
use std::ops::{Range, RangeBounds};
use std::ptr::NonNull;
use std::str::Utf8Error;

use super::FrameString;
use crate::arena::FrameArena;
use crate::containers::vec::{FrameDrain, FrameVec};
use crate::containers::{FrameBox, checked_range};

/// # Inserting and removing
impl FrameString<'_> {
    /// Inserts a character at byte `index`.
    ///
    /// # Panics
    /// As for [`replace_range`](Self::replace_range).
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "12";
    /// label.insert(0, '€');
    /// assert_eq!(label, "€12");
    /// ```
    #[track_caller]
    pub fn insert(&mut self, index: usize, character: char) {
        self.insert_str(index, character.encode_utf8(&mut [0; 4]));
    }

    /// Inserts a string at byte `index`.
    ///
    /// # Panics
    /// As for [`replace_range`](Self::replace_range).
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "wave 3";
    /// label.insert_str(4, " no.");
    /// assert_eq!(label, "wave no. 3");
    /// ```
    #[track_caller]
    pub fn insert_str(&mut self, index: usize, text: &str) {
        self.replace_range(index..index, text);
    }

    /// Removes the character at byte `index` and returns it.
    ///
    /// # Panics
    /// If `index` is the end of the text, beyond it, or within a character.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "€12";
    /// assert_eq!(label.remove(0), '€');
    /// assert_eq!(label, "12");
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> char {
        let range = self.range_of_text(index..);
        let removed = self[range].chars().next();
        let removed = removed.expect("there is no character at the end of a text");
        self.replace_range(index..index + removed.len_utf8(), "");
        removed
    }

    /// Replaces a range of bytes by a string.
    ///
    /// # Panics
    /// If the range is out of bounds, or starts or ends within a character; or if the arena is out
    /// of memory or over a limit, see [`ArenaError`](crate::ArenaError).
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "wave 3 of 9";
    /// label.replace_range(5..6, "four");
    /// assert_eq!(label, "wave four of 9");
    /// ```
    #[track_caller]
    pub fn replace_range(&mut self, range: impl RangeBounds<usize>, text: &str) {
        let range = self.range_of_text(range);
        self.reserve(text.len().saturating_sub(range.len()));
        let bytes = NonNull::from(text.as_bytes()).cast();
        // SAFETY:
        // - the range is in bounds, and bytes need no dropping;
        // - there is room for the difference;
        // - the text is borrowed, so it is not part of this string, which is borrowed mutably.
        unsafe { self.bytes.overwrite(range, bytes, text.len()) };
    }

    /// Keeps the characters for which `keep` returns `true`.
    ///
    /// If `keep` panics, the string is empty.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "1 000 €";
    /// label.retain(|character| !character.is_whitespace());
    /// assert_eq!(label, "1000€");
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(char) -> bool) {
        // Taken out: a panic must not leave a part of a character behind.
        let empty = FrameVec::new_in(self.arena());
        let mut bytes = mem::replace(&mut self.bytes, empty);
        let (mut kept, mut next) = (0, 0);
        // SAFETY: the bytes from `next` on are unchanged, and `next` is between two characters.
        while let Some(character) = unsafe { str::from_utf8_unchecked(&bytes[next..]) }
            .chars()
            .next()
        {
            let range = next..next + character.len_utf8();
            next = range.end;
            if keep(character) {
                let len = range.len();
                bytes.copy_within(range, kept);
                kept += len;
            }
        }
        bytes.truncate(kept);
        self.bytes = bytes;
    }

    /// Removes a range of bytes and returns an iterator over its characters.
    ///
    /// # Panics
    /// If the range is out of bounds, or starts or ends within a character.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "wave €3";
    /// assert!(label.drain(4..8).eq([' ', '€']));
    /// assert_eq!(label, "wave3");
    /// ```
    #[track_caller]
    pub fn drain(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> impl DoubleEndedIterator<Item = char> + FusedIterator {
        let range = self.range_of_text(range);
        DrainedText(self.bytes.drain(range))
    }

    /// Turns a range into indices that are in bounds and between characters.
    #[track_caller]
    fn range_of_text(&self, range: impl RangeBounds<usize>) -> Range<usize> {
        let range = checked_range(range, self.len());
        for index in [range.start, range.end] {
            self.assert_boundary(index);
        }
        range
    }
}

/// The characters of bytes that are taken out of a string, one by one.
struct DrainedText<'s, 'a>(FrameDrain<'s, 'a, u8>);

impl DrainedText<'_, '_> {
    fn text(&self) -> &str {
        // SAFETY: the range was between characters, and whole ones were taken from either end.
        unsafe { str::from_utf8_unchecked(self.0.as_slice()) }
    }
}

impl Iterator for DrainedText<'_, '_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let character = self.text().chars().next()?;
        self.0.nth(character.len_utf8() - 1);
        Some(character)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.text().chars().size_hint()
    }
}

impl DoubleEndedIterator for DrainedText<'_, '_> {
    fn next_back(&mut self) -> Option<char> {
        let character = self.text().chars().next_back()?;
        self.0.nth_back(character.len_utf8() - 1);
        Some(character)
    }
}

impl FusedIterator for DrainedText<'_, '_> {}

/// # From and into bytes
impl<'a> FrameString<'a> {
    /// Turns bytes into a string, without copying them.
    ///
    /// # Errors
    /// If they are not UTF-8; the bytes are dropped then.
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameString};
    /// let arena = FrameArena::new(4096);
    /// let label = FrameString::from_utf8(arena.collect(*b"wave 3"))?;
    /// assert_eq!(label, "wave 3");
    /// # Ok::<(), std::str::Utf8Error>(())
    /// ```
    pub fn from_utf8(bytes: FrameVec<'a, u8>) -> Result<Self, Utf8Error> {
        str::from_utf8(&bytes)?;
        Ok(Self { bytes })
    }

    /// Copies bytes into a string, with `U+FFFD` in place of what is not UTF-8.
    ///
    /// # Panics
    /// If the arena is out of memory or over a limit; see [`ArenaError`](crate::ArenaError).
    ///
    /// ```
    /// # use bevy_frame_arena::{FrameArena, FrameString};
    /// let arena = FrameArena::new(4096);
    /// let name = FrameString::from_utf8_lossy_in(b"Ferr\xFFs", &arena);
    /// assert_eq!(name, "Ferr\u{FFFD}s");
    /// ```
    #[track_caller]
    pub fn from_utf8_lossy_in(bytes: &[u8], arena: &'a FrameArena) -> Self {
        let mut text = Self::with_capacity_in(bytes.len(), arena);
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Returns the bytes of the text, as a list.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push('w');
    /// assert_eq!(label.into_bytes(), [b'w']);
    /// ```
    pub fn into_bytes(self) -> FrameVec<'a, u8> {
        self.bytes
    }

    /// Turns the string into a box of its text.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label += "wave 3";
    /// assert_eq!(&*label.into_boxed_str(), "wave 3");
    /// ```
    pub fn into_boxed_str(mut self) -> FrameBox<'a, str> {
        let arena = self.arena();
        self.bytes.shrink_to_fit();
        let text = NonNull::from(self.leak());
        // SAFETY: the string gave up its text, which is at the start of a block of its arena.
        unsafe { FrameBox::from_raw(text, arena) }
    }

    /// Gives up the string and returns its text, which lives as long as the arena is borrowed.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArena;
    /// let arena = FrameArena::new(4096);
    /// let mut label = arena.string();
    /// label.push_str("wave 3");
    /// let label: &mut str = label.leak();
    /// assert_eq!(label, "wave 3");
    /// ```
    #[inline]
    pub fn leak(mut self) -> &'a mut str {
        self.bytes.shrink_to_fit();
        // SAFETY: `bytes` is always UTF-8.
        unsafe { str::from_utf8_unchecked_mut(self.bytes.leak()) }
    }
}
