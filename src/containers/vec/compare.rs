//! Lists are compared, hashed and shown like the slices they hold.
#![forbid(unsafe_code)]

use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::FrameVec;

/// Each side is compared as a slice.
macro_rules! compared_as_slices {
    ($([$($generics:tt)*] $left:ty, $right:ty;)*) => {$(
        impl<T: PartialEq<U>, U, $($generics)*> PartialEq<$right> for $left {
            #[inline]
            fn eq(&self, other: &$right) -> bool {
                self[..] == other[..]
            }
        }
    )*};
}

compared_as_slices! {
    [] FrameVec<'_, T>, FrameVec<'_, U>;
    [] FrameVec<'_, T>, [U];
    [] FrameVec<'_, T>, &[U];
    [] FrameVec<'_, T>, &mut [U];
    [] FrameVec<'_, T>, Vec<U>;
    [const N: usize] FrameVec<'_, T>, [U; N];
    [const N: usize] FrameVec<'_, T>, &[U; N];
    [] [T], FrameVec<'_, U>;
    [] &[T], FrameVec<'_, U>;
    [] &mut [T], FrameVec<'_, U>;
    [] Vec<T>, FrameVec<'_, U>;
    [const N: usize] [T; N], FrameVec<'_, U>;
}

impl<T: Eq> Eq for FrameVec<'_, T> {}

impl<'b, T: PartialOrd> PartialOrd<FrameVec<'b, T>> for FrameVec<'_, T> {
    fn partial_cmp(&self, other: &FrameVec<'b, T>) -> Option<Ordering> {
        self[..].partial_cmp(&other[..])
    }
}

impl<T: Ord> Ord for FrameVec<'_, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self[..].cmp(&other[..])
    }
}

impl<T: Hash> Hash for FrameVec<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for FrameVec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl<T> AsRef<[T]> for FrameVec<'_, T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T> AsMut<[T]> for FrameVec<'_, T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T> Borrow<[T]> for FrameVec<'_, T> {
    fn borrow(&self) -> &[T] {
        self
    }
}

impl<T> BorrowMut<[T]> for FrameVec<'_, T> {
    fn borrow_mut(&mut self) -> &mut [T] {
        self
    }
}
