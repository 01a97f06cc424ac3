//! Handles: names for shared data that can be held anywhere.

mod error;
mod handle;
mod lookup;
mod share;
mod share_container;
mod share_slices;
mod share_try_with;
mod shareable;

pub use self::error::HandleError;
pub use self::handle::FrameHandle;
pub use self::shareable::Shareable;
