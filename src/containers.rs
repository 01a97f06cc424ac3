//! Containers in an arena: own types, sound by themselves, that fail with the arena's error.

mod boxed;
mod collect;
mod map;
mod raw;
mod set;
mod string;
mod table;
mod vec;

use std::ops::{Bound, Range, RangeBounds};

pub use self::boxed::FrameBox;
pub use self::collect::CollectIn;
pub use self::map::FrameMap;
pub use self::set::FrameSet;
pub use self::string::FrameString;
pub use self::table::TableMemory;
pub use self::vec::{FrameDrain, FrameIntoIter, FrameVec};
use crate::error::{ArenaError, fail};

/// Returns the result, or panics with the text of the error at the caller's line.
#[inline(always)]
#[track_caller]
fn or_fail<T>(result: Result<T, ArenaError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fail(error),
    }
}

/// Turns a range into indices that are in bounds of `len` elements.
///
/// It asks for each bound once: an implementation may answer differently the next time.
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
        _ => out_of_bounds(start, end, len),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_bounds(start: Option<usize>, end: Option<usize>, len: usize) -> ! {
    let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
    panic!("range {start}..{end} does not lie within a length of {len}")
}
