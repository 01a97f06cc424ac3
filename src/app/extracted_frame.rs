//! The main world's frame, as another world reads it.
#![forbid(unsafe_code)]

use bevy_ecs::resource::Resource;

use crate::arenas::{FrameArenas, FrameLease, Outcome};
use crate::handles::{FrameHandle, HandleError, resolve_handles};

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

    /// Returns the data of a handle, and does not count it if there is none.
    #[inline]
    fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.leases.iter().find_map(|lease| lease.find(handle))
    }

    #[track_caller]
    fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        if let Some(lease) = self.lease() {
            lease.count_stale(outcome, why);
        }
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
    #[track_caller]
    pub fn lease_of<T: ?Sized>(&self, handle: FrameHandle<T>) -> Result<&FrameLease, HandleError> {
        let mut leases = self.leases.iter();
        match leases.find(|lease| lease.stamp() == handle.stamp()) {
            Some(lease) => Ok(lease),
            None => {
                self.count_miss(Outcome::Handled, handle);
                Err(self.why_not(handle))
            }
        }
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

resolve_handles! {
    /// Returns the data of a handle, if it was made in an extracted frame.
    ///
    /// ```
    /// # use bevy_frame_arena::{ExtractedFrame, FrameHandle};
    /// let frame = ExtractedFrame::default();
    /// assert_eq!(frame.get(FrameHandle::<u32>::default()), None);
    /// ```
    ExtractedFrame
}
