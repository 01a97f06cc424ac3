//! The main world's frame, as another world reads it.
#![forbid(unsafe_code)]

use std::ops::Index;

use bevy_ecs::resource::Resource;

use crate::arenas::{FrameArenas, FrameLease};
use crate::handles::{FrameHandle, HandleError};

/// The main world's frame, in the world of a sub-app: resolves the handles made in it.
///
/// It is there from [`FrameArenaSubAppPlugin`](crate::FrameArenaSubAppPlugin) on, and stands for
/// the frame extracted last. Handles of earlier frames do not resolve, unless the plugin says
/// [`frames: 2`](crate::FrameArenaSubAppPlugin::frames): then those of the frame before do, for
/// motion vectors, temporal effects, and lists that are made every other frame.
#[derive(Resource, Debug)]
#[doc(alias = "render world")]
pub struct ExtractedFrame {
    /// The last first.
    leases: Vec<FrameLease>,
    /// How many there may be.
    frames: usize,
}

impl ExtractedFrame {
    /// Creates one that holds up to this many frames, and none yet.
    pub(super) fn holding(frames: usize) -> Self {
        let frames = frames.max(1);
        Self {
            // No capacity for them: a number that means all frames must not be asked of memory.
            leases: Vec::new(),
            frames,
        }
    }

    /// Takes the current frame in, and lets the oldest go if there are too many.
    pub(super) fn extract(&mut self, arenas: Option<&FrameArenas>) {
        let Some(arenas) = arenas else {
            self.leases.clear();
            return;
        };
        let lease = arenas.lease();
        let is_new = self.leases.first().map(FrameLease::stamp) != Some(lease.stamp());
        if is_new {
            self.leases.truncate(self.frames - 1);
            self.leases.insert(0, lease);
        }
    }

    /// Returns what a handle names, if it was made in an extracted frame.
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn get<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        let found = self.leases.iter().find_map(|lease| lease.find(handle));
        if let (None, Some(lease)) = (found, self.lease()) {
            lease.count_miss(handle, || self.why_not(handle));
        }
        found
    }

    /// Returns what a handle names, or why it does not resolve.
    ///
    /// # Errors
    /// If the handle was not made in an extracted frame, was made by other arenas than the main
    /// world's, or was never set; see [`HandleError`].
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn resolve<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<&T, HandleError> {
        self.get(handle).ok_or_else(|| self.why_not(handle))
    }

    /// Returns the list that a handle names, or an empty one where the handle does not resolve.
    ///
    /// ```
    /// # use bevy_frame_arena::{ExtractedFrame, FrameHandle};
    /// let frame = ExtractedFrame::default();
    /// assert_eq!(frame.slice(FrameHandle::<[u32]>::default()), []);
    /// ```
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn slice<T>(&self, handle: FrameHandle<[T]>) -> &[T] {
        self.get(handle).unwrap_or_default()
    }

    /// Returns the text that a handle names, or `""` where the handle does not resolve.
    ///
    /// ```
    /// # use bevy_frame_arena::{ExtractedFrame, FrameHandle};
    /// let frame = ExtractedFrame::default();
    /// assert_eq!(frame.text(FrameHandle::default()), "");
    /// ```
    #[inline]
    #[cfg_attr(any(debug_assertions, feature = "sites"), track_caller)]
    pub fn text(&self, handle: FrameHandle<str>) -> &str {
        self.get(handle).unwrap_or_default()
    }

    /// Returns the lease on the frame extracted last, or `None` if nothing was extracted: before
    /// the first extract, and while the main world has no [`FrameArenas`].
    ///
    /// A clone of it can move into a task. It keeps the frame from being recycled for as long as
    /// it lives.
    #[inline]
    pub fn lease(&self) -> Option<&FrameLease> {
        self.leases.first()
    }

    /// Returns the lease on the frame that a handle was made in, which may be the one before.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn lease_of<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<&FrameLease, HandleError> {
        let mut leases = self.leases.iter();
        leases
            .find(|lease| lease.stamp() == handle.stamp())
            .ok_or_else(|| self.why_not(handle))
    }

    /// Returns the number of the frame extracted last, in the main world: its
    /// [`FrameArenas::frame`].
    pub fn frame(&self) -> Option<u64> {
        self.lease().map(FrameLease::frame)
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        let last = self.lease().map(FrameLease::stamp);
        HandleError::in_extracted(handle, last, self.frames)
    }
}

impl Default for ExtractedFrame {
    fn default() -> Self {
        Self::holding(1)
    }
}

impl<T: ?Sized> Index<FrameHandle<T>> for ExtractedFrame {
    type Output = T;

    /// # Panics
    /// If the handle was not made in an extracted frame, was made by other arenas than the main
    /// world's, or was never set: with the text of [`HandleError`].
    #[inline]
    #[track_caller]
    fn index(&self, handle: FrameHandle<T>) -> &T {
        match self.resolve(handle) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }
}
