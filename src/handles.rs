//! Handles: names for shared data that can be held anywhere.

mod error;
mod handle;
mod lookup;
mod origin;
mod share;
mod share_container;
mod share_slices;
mod share_try_with;
mod shareable;

pub use self::error::{HandleError, StepCrossing};
pub use self::handle::FrameHandle;
pub(crate) use self::origin::Origin;
#[cfg(debug_assertions)]
pub(crate) use self::origin::{Moment, next_moment};
pub use self::shareable::Shareable;
