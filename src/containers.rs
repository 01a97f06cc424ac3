//! Containers in an arena: own types, sound by themselves, that fail with the arena's error.

mod boxed;
mod collect;
mod map;
mod range;
mod raw;
mod set;
mod string;
mod vec;

pub use self::boxed::FrameBox;
pub use self::collect::CollectIn;
pub use self::map::FrameMap;
pub use self::set::FrameSet;
pub use self::string::FrameString;
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
