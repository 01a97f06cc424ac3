//! Handles: names for shared data that can be held anywhere.

mod handle;
mod share;
mod share_container;

pub use self::handle::{FrameHandle, StaleHandle};
