//! Containers in an arena, and the methods that make them. They fail with the arena's error.

mod boxed;
mod map;
mod raw;
mod string;
mod table;
mod vec;

use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

pub use self::boxed::FrameBox;
pub use self::map::{FrameMap, FrameSet};
pub use self::string::FrameString;
pub use self::table::TableMemory;
pub use self::vec::{FrameIntoIter, FrameVec};
use crate::arena::FrameArena;
use crate::error::ArenaError;
pub(crate) use crate::error::or_fail;

/// # Containers that grow
///
/// Each method panics with the text of the [`ArenaError`] if memory is refused, and has a `try_` twin that
/// returns the error.
impl FrameArena {
    /// Creates an empty list. It allocates with its first element.
    #[inline]
    pub fn vec<T>(&self) -> FrameVec<'_, T> {
        FrameVec::new_in(self)
    }

    /// Creates a list with room for `capacity` elements: for lists that grow side by side.
    #[inline]
    #[track_caller]
    pub fn vec_with_capacity<T>(&self, capacity: usize) -> FrameVec<'_, T> {
        or_fail(self.try_vec_with_capacity(capacity))
    }

    /// Creates a list as [`vec_with_capacity`](Self::vec_with_capacity) does, or returns an error.
    #[inline]
    pub fn try_vec_with_capacity<T>(&self, capacity: usize) -> Result<FrameVec<'_, T>, ArenaError> {
        FrameVec::try_with_capacity(capacity, self)
    }

    /// Moves a value into a box. Unlike [`alloc`](Self::alloc), this takes types with a destructor.
    #[inline]
    #[track_caller]
    pub fn boxed<T>(&self, value: T) -> FrameBox<'_, T> {
        or_fail(self.try_boxed(value))
    }

    /// Boxes a value as [`boxed`](Self::boxed) does, or returns an error and drops the value.
    #[inline]
    pub fn try_boxed<T>(&self, value: T) -> Result<FrameBox<'_, T>, ArenaError> {
        FrameBox::try_new_in(value, self)
    }

    /// Creates an empty string. It allocates with its first character.
    #[inline]
    pub fn string(&self) -> FrameString<'_> {
        FrameString::new_in(self)
    }

    /// Collects an iterator into a list. The iterator may use the arena.
    ///
    /// For a slice instead of a list, [`leak`](FrameVec::leak) it. Room for the lower bound of the iterator's
    /// size hint is taken first, even if that bound is wrong.
    #[inline]
    #[track_caller]
    pub fn collect<T>(&self, iter: impl IntoIterator<Item = T>) -> FrameVec<'_, T> {
        or_fail(self.try_collect(iter))
    }

    /// Collects as [`collect`](Self::collect) does, or returns an error
    /// and drops the elements yielded so far.
    #[inline]
    pub fn try_collect<T>(
        &self,
        iter: impl IntoIterator<Item = T>,
    ) -> Result<FrameVec<'_, T>, ArenaError> {
        let iter = iter.into_iter();
        let (least, most) = iter.size_hint();
        // Two branches to the end, which take fewer instructions than one list from either.
        if most == Some(least) {
            let mut vec = FrameVec::with_capacity_of_block(least, self);
            vec.try_extend(iter)?;
            vec.shrink_to_fit();
            return Ok(vec);
        }
        let first = least.max(const { some::<T>() });
        let mut vec = FrameVec::with_capacity_of_block(first, self);
        vec.try_extend(iter)?;
        vec.shrink_to_fit();
        Ok(vec)
    }

    /// Allocates formatted text: `arena.alloc_fmt(format_args!("{hp} HP"))`. To get the error of refused
    /// memory instead of a panic, write to a [`string`](Self::string) with
    /// [`try_write_fmt`](FrameString::try_write_fmt).
    ///
    /// # Panics
    /// If memory is refused, or if a `Display` implementation returns an error, like `format!`.
    #[track_caller]
    pub fn alloc_fmt(&self, arguments: fmt::Arguments<'_>) -> &mut str {
        or_fail(FrameString::try_format(self, arguments)).leak()
    }
}

/// Collecting at the end of a chain of iterators, where `collect` would stand.
///
/// ```
/// use bevy_frame_arena::{CollectIn, FrameArena};
///
/// let arena = FrameArena::new(4096);
/// let even = (0..10).filter(|n| n % 2 == 0).collect_in(&arena);
/// assert_eq!(even, [0, 2, 4, 6, 8]);
/// ```
pub trait CollectIn: Iterator + Sized {
    /// Collects into a list, as [`FrameArena::collect`] does.
    #[inline]
    #[track_caller]
    fn collect_in(self, arena: &FrameArena) -> FrameVec<'_, Self::Item> {
        arena.collect(self)
    }
}

impl<I: Iterator> CollectIn for I {}

/// The first capacity of a list of unknown length, in bytes, if the block has it.
///
/// It saves the growth in small steps. Unused capacity is returned at the end.
const FIRST_BYTES: usize = 1024;

/// Returns how many elements fit into the first bytes.
const fn some<T>() -> usize {
    match size_of::<T>() {
        0 => 0,
        bytes => FIRST_BYTES / bytes,
    }
}

/// Turns a range into indices that are in bounds of `len` elements.
///
/// Each bound is read once: a hostile implementation may return another one the next time.
///
/// # Panics
/// If the range is out of bounds, or ends before it starts.
#[inline]
#[track_caller]
fn checked_range(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => start..end,
        _ => {
            let [start, end] = [start, end].map(|bound| bound.unwrap_or(usize::MAX));
            panic!("range {start}..{end} is out of bounds of a length of {len}")
        }
    }
}

/// Forwards traits of a container to its contents: order, hashing, `Debug`, borrowing.
macro_rules! like_contents {
    ([$($param:ident)?] $container:ty, $contents:ty) => {
        impl<$($param: Eq)?> Eq for $container {}

        impl<$($param: Ord)?> PartialOrd for $container {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<$($param: Ord)?> Ord for $container {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                (**self).cmp(&**other)
            }
        }

        impl<$($param: std::hash::Hash)?> std::hash::Hash for $container {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl<$($param: std::fmt::Debug)?> std::fmt::Debug for $container {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($param)?> AsRef<$contents> for $container {
            fn as_ref(&self) -> &$contents {
                self
            }
        }

        impl<$($param)?> std::borrow::Borrow<$contents> for $container {
            fn borrow(&self) -> &$contents {
                self
            }
        }

        // Bevy's `ParallelSliceMut` is for types with `AsMut`.
        impl<$($param)?> AsMut<$contents> for $container {
            fn as_mut(&mut self) -> &mut $contents {
                self
            }
        }
    };
}

/// Compares each pair of types by their contents.
macro_rules! compared_as_contents {
    ($([$($generics:tt)*] $left:ty, $right:ty;)*) => {$(
        impl<$($generics)*> PartialEq<$right> for $left {
            #[inline]
            fn eq(&self, other: &$right) -> bool {
                self[..] == other[..]
            }
        }
    )*};
}

use {compared_as_contents, like_contents};
