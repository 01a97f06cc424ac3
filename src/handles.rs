//! Handles: names for shared data that can be held anywhere.

mod handle;
mod share;

pub use self::handle::{FrameHandle, StaleHandle};
pub use self::share::Share;
