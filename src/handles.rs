//! Handles: names for shared data that can be held anywhere.

mod error;
mod handle;
mod resolve;
mod share;
mod share_container;

pub use self::error::HandleError;
pub use self::handle::FrameHandle;
pub(crate) use self::resolve::resolve_handles;
pub use self::share::Shareable;
