//! The main world's frame, as another world reads it.
#![forbid(unsafe_code)]

use std::ops::Index;

use bevy_ecs::resource::Resource;

use crate::arenas::{FrameArenas, FrameLease};
use crate::handles::FrameHandle;

/// The main world's frame, in the world of a sub-app: resolves the handles made in it.
///
/// It is there from [`FrameArenaSubAppPlugin`](crate::FrameArenaSubAppPlugin) on, and stands for the frame extracted last.
/// Handles of earlier frames do not resolve: a lease on two frames would keep the main world from
/// recycling either.
#[derive(Resource, Debug, Default)]
pub struct ExtractedFrame {
    lease: Option<(u64, FrameLease)>,
}

impl ExtractedFrame {
    pub(super) fn of(arenas: Option<&FrameArenas>) -> Self {
        Self {
            lease: arenas.map(|arenas| (arenas.frame(), arenas.lease())),
        }
    }

    /// Returns what a handle names, if it was made in the extracted frame.
    #[inline]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.lease()?.get(handle)
    }

    /// Returns the lease, or `None` if nothing was extracted: before the first extract, and while
    /// the main world has no [`FrameArenas`].
    ///
    /// A clone of it can move into a task. It keeps the frame from being recycled for as long as
    /// it lives.
    #[inline]
    pub fn lease(&self) -> Option<&FrameLease> {
        self.lease.as_ref().map(|(_, lease)| lease)
    }

    /// Returns the number of the frame in the main world: its [`FrameArenas::frame`].
    pub fn frame(&self) -> Option<u64> {
        self.lease.as_ref().map(|(frame, _)| *frame)
    }
}

impl<T: ?Sized> Index<FrameHandle<T>> for ExtractedFrame {
    type Output = T;

    /// # Panics
    /// If the handle was not made in the extracted frame.
    #[track_caller]
    fn index(&self, handle: FrameHandle<T>) -> &T {
        self.get(handle).expect(
            "an `ExtractedFrame` resolves the handles that the main world made in the frame it \
             extracted last",
        )
    }
}
