//! Strings are compared, hashed and shown like the text they hold.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::AddAssign;

use super::FrameString;

impl fmt::Display for FrameString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Debug for FrameString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Clones into the same arena.
impl Clone for FrameString<'_> {
    #[track_caller]
    fn clone(&self) -> Self {
        let mut clone = Self::with_capacity_in(self.len(), self.arena());
        clone.push_str(self);
        clone
    }

    #[track_caller]
    fn clone_from(&mut self, source: &Self) {
        self.clear();
        self.push_str(source);
    }
}

/// Appends a string.
impl AddAssign<&str> for FrameString<'_> {
    #[track_caller]
    fn add_assign(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Extend<char> for FrameString<'_> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = char>>(&mut self, iter: I) {
        for character in iter {
            self.push(character);
        }
    }
}

impl<'e> Extend<&'e str> for FrameString<'_> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'e str>>(&mut self, iter: I) {
        for text in iter {
            self.push_str(text);
        }
    }
}

/// Each side is compared as text.
macro_rules! compared_as_text {
    ($($left:ty, $right:ty;)*) => {$(
        impl PartialEq<$right> for $left {
            #[inline]
            fn eq(&self, other: &$right) -> bool {
                self[..] == other[..]
            }
        }
    )*};
}

compared_as_text! {
    FrameString<'_>, FrameString<'_>;
    FrameString<'_>, str;
    FrameString<'_>, &str;
    FrameString<'_>, String;
    str, FrameString<'_>;
    &str, FrameString<'_>;
    String, FrameString<'_>;
}

impl Eq for FrameString<'_> {}

impl<'b> PartialOrd<FrameString<'b>> for FrameString<'_> {
    fn partial_cmp(&self, other: &FrameString<'b>) -> Option<Ordering> {
        Some((**self).cmp(&**other))
    }
}

impl Ord for FrameString<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for FrameString<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl AsRef<str> for FrameString<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for FrameString<'_> {
    fn borrow(&self) -> &str {
        self
    }
}
