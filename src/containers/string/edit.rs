//! Inserting into a string and removing from it, by whole characters.
#![expect(unsafe_code, reason = "moves bytes of text")]

use std::iter::FusedIterator;
use std::mem;
use std::ops::{Range, RangeBounds};

use super::FrameString;
use crate::containers::checked_range;

/// # Inserting and removing
///
/// As for [`String`], an index or range that is out of bounds or within a character is a panic.
impl FrameString<'_> {
    /// Removes the last character and returns it.
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.len() - last.len_utf8());
        Some(last)
    }

    /// Removes all text beyond the first `len` bytes.
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.assert_boundary(len);
            self.bytes.truncate(len);
        }
    }

    /// Removes the text and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Inserts a character at byte `index`.
    #[track_caller]
    pub fn insert(&mut self, index: usize, character: char) {
        self.insert_str(index, character.encode_utf8(&mut [0; 4]));
    }

    /// Inserts a string at byte `index`.
    #[track_caller]
    pub fn insert_str(&mut self, index: usize, text: &str) {
        self.replace_range(index..index, text);
    }

    /// Removes the character at byte `index` and returns it.
    #[track_caller]
    pub fn remove(&mut self, index: usize) -> char {
        let range = self.range_of_text(index..);
        let removed = self[range].chars().next();
        let removed = removed.expect("there is no character at the end of a text");
        self.replace_range(index..index + removed.len_utf8(), "");
        removed
    }

    /// Replaces a range of bytes by a string.
    #[track_caller]
    pub fn replace_range(&mut self, range: impl RangeBounds<usize>, text: &str) {
        let range = self.range_of_text(range);
        self.reserve(text.len().saturating_sub(range.len()));
        // SAFETY:
        // - the range is in bounds, and bytes need no dropping;
        // - there is room for the difference;
        // - the text is borrowed, so it is not part of this string, which is borrowed mutably.
        unsafe { self.bytes.overwrite(range, text.as_ptr(), text.len()) };
    }

    /// Keeps the characters for which `keep` returns `true`. If it panics, the string is empty.
    pub fn retain(&mut self, mut keep: impl FnMut(char) -> bool) {
        let empty = Self::new_in(self.arena());
        let mut text = mem::replace(self, empty);
        let (mut kept, mut next) = (0, 0);
        while let Some(character) = text[next..].chars().next() {
            let range = next..next + character.len_utf8();
            next = range.end;
            // The gap is all zeros, so that the text is UTF-8 between any two steps.
            text.bytes[range].fill(0);
            if keep(character) {
                kept += character.encode_utf8(&mut text.bytes[kept..next]).len();
            }
        }
        text.truncate(kept);
        *self = text;
    }

    /// Removes a range of bytes and returns an iterator over its characters. The range is removed when
    /// the iterator is dropped, even if it was not used up.
    #[track_caller]
    pub fn drain(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> impl DoubleEndedIterator<Item = char> + FusedIterator {
        let range = self.range_of_text(range);
        Drained {
            left: range.clone(),
            range,
            text: self,
        }
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

    /// # Panics
    /// If the index is within a character, or beyond the text.
    #[track_caller]
    fn assert_boundary(&self, index: usize) {
        assert!(
            self.is_char_boundary(index),
            "byte {index} is within a character"
        );
    }
}

/// The iterator of [`FrameString::drain`]. Dropping it removes the range.
struct Drained<'s, 'a> {
    text: &'s mut FrameString<'a>,
    range: Range<usize>,
    /// The part of the range that was not yielded yet.
    left: Range<usize>,
}

impl Iterator for Drained<'_, '_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let character = self.text[self.left.clone()].chars().next()?;
        self.left.start += character.len_utf8();
        Some(character)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.text[self.left.clone()].chars().size_hint()
    }
}

impl DoubleEndedIterator for Drained<'_, '_> {
    fn next_back(&mut self) -> Option<char> {
        let character = self.text[self.left.clone()].chars().next_back()?;
        self.left.end -= character.len_utf8();
        Some(character)
    }
}

impl FusedIterator for Drained<'_, '_> {}

impl Drop for Drained<'_, '_> {
    fn drop(&mut self) {
        self.text.replace_range(self.range.clone(), "");
    }
}
