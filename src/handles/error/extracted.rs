//! Why a handle did not resolve in the frames that were extracted.
#![forbid(unsafe_code)]

use std::any::type_name;

use super::HandleError;
use crate::handles::FrameHandle;
use crate::stamp::{self, Stamp, UNSET};

impl HandleError {
    /// Says why `handle` does not resolve in as many extracted frames as `held_frames`, the last of
    /// which has the stamp `last`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_extracted<T: ?Sized>(
        handle: FrameHandle<T>,
        last: Option<Stamp>,
        held_frames: usize,
    ) -> Self {
        let is_of_other_arenas = |last| !stamp::is_same_run(handle.stamp(), last);
        if handle.stamp() == UNSET || last.is_some_and(is_of_other_arenas) {
            return Self::unset_or_foreign(handle, last.and_then(stamp::name_of_run));
        }
        Self::NotExtracted {
            type_name: type_name::<T>(),
            frame: stamp::frame(handle.stamp()),
            extracted_frame: last.map(stamp::frame),
            held_frames,
            made_at: handle.made_at(),
        }
    }
}
