//! Why a handle did not resolve, in words for the person who reads the panic.
#![forbid(unsafe_code)]

mod text;

use std::any::type_name;
use std::error::Error;
use std::panic::Location;

use super::FrameHandle;
use crate::stamp::{self, Stamp, UNSET};

/// Why a handle did not resolve.
///
/// [`FrameArenas::resolve`](crate::FrameArenas::resolve) returns it, and indexing panics with its
/// text, which names the type of the handle, its age, and what to do. In debug builds it also
/// names the line that made the handle.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, FrameHandle, HandleError};
///
/// let mut arenas = FrameArenas::default();
/// let list = arenas.local().share_slice_copy(&[1, 2, 3]);
/// arenas.swap();
/// arenas.swap();
/// let error = arenas.resolve(list).unwrap_err();
/// assert!(matches!(error, HandleError::Stale { age_in_frames: 2, .. }));
/// assert!(error.to_string().starts_with("stale `FrameHandle<[i32]>`: made 2 frames ago"));
///
/// let never_set = FrameHandle::<str>::default();
/// assert!(matches!(arenas.resolve(never_set), Err(HandleError::Unset { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The handle was made too many frames ago: its data is gone.
    #[non_exhaustive]
    Stale {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
        /// How many frames ago the handle was made.
        age_in_frames: u64,
        /// The frame it was made in.
        frame: u64,
        /// For how many frames data lives, the one it is made in included.
        lives_for_frames: u64,
        /// The type of the pace, as [`type_name`] writes it, if it is not the frame: frames are
        /// periods then.
        pace: Option<&'static str>,
        /// Where the handle was made; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made in another frame than the one that was leased.
    #[non_exhaustive]
    OtherFrame {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
        /// The frame the handle was made in.
        frame: u64,
        /// The frame that was leased.
        leased_frame: u64,
        /// Where the handle was made; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made in another frame than those that were extracted: see
    /// `ExtractedFrame`.
    #[non_exhaustive]
    NotExtracted {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
        /// The frame the handle was made in.
        frame: u64,
        /// The frame that was extracted last; `None` if there was none.
        extracted_frame: Option<u64>,
        /// How many frames are held.
        held_frames: usize,
        /// Where the handle was made; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made by other arenas: of another world, app or pace, a standalone arena,
    /// scratch, or a task arena.
    #[non_exhaustive]
    Foreign {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
        /// Whether a standalone [`FrameArena`](crate::FrameArena) made it.
        is_standalone: bool,
        /// Whether [`Scratch`](crate::Scratch) made it.
        is_scratch: bool,
        /// Whether a [`TaskArena`](crate::TaskArena) made it.
        is_task: bool,
        /// The type of the pace that made it, as [`type_name`] writes it; `None` if it is the
        /// frame, or unknown.
        made_in: Option<&'static str>,
        /// The type of the pace that it was looked up in; `None` if it is the frame.
        read_in: Option<&'static str>,
        /// Where the handle was made; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle is `FrameHandle::default()`: it was never set.
    #[non_exhaustive]
    Unset {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
    },
}

impl HandleError {
    /// Says why `handle` does not resolve in arenas whose current generation has the stamp `now`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_arenas<T: ?Sized>(
        handle: FrameHandle<T>,
        now: Stamp,
        lives_for_frames: u64,
    ) -> Self {
        match stamp::age(handle.stamp(), now) {
            Some(age_in_frames) => Self::Stale {
                type_name: type_name::<T>(),
                age_in_frames,
                frame: stamp::frame(handle.stamp()),
                lives_for_frames,
                pace: stamp::name_of_run(now),
                made_at: handle.made_at(),
            },
            None => Self::unset_or_foreign(handle, stamp::name_of_run(now)),
        }
    }

    /// Says why `handle` does not resolve in the generation with the stamp `leased`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_lease<T: ?Sized>(handle: FrameHandle<T>, leased: Stamp) -> Self {
        if stamp::is_same_run(handle.stamp(), leased) {
            Self::OtherFrame {
                type_name: type_name::<T>(),
                frame: stamp::frame(handle.stamp()),
                leased_frame: stamp::frame(leased),
                made_at: handle.made_at(),
            }
        } else {
            Self::unset_or_foreign(handle, stamp::name_of_run(leased))
        }
    }

    /// Says why `handle` does not resolve in as many extracted frames as `held_frames`, the last of
    /// which has the stamp `last`.
    #[cfg(feature = "bevy")]
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

    fn unset_or_foreign<T: ?Sized>(handle: FrameHandle<T>, read_in: Option<&'static str>) -> Self {
        let type_name = type_name::<T>();
        match handle.stamp() {
            UNSET => Self::Unset { type_name },
            stamp => Self::Foreign {
                type_name,
                is_standalone: stamp::is_standalone(stamp),
                is_scratch: stamp::is_scratch(stamp),
                is_task: stamp::is_task(stamp),
                made_in: stamp::name_of_run(stamp),
                read_in,
                made_at: handle.made_at(),
            },
        }
    }

    /// Returns how many frames ago a stale handle was made.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let mut arenas = FrameArenas::default();
    /// let handle = arenas.local().share(7);
    /// (0..5).for_each(|_| arenas.swap());
    /// assert_eq!(arenas.resolve(handle).unwrap_err().age_in_frames(), Some(5));
    /// ```
    pub fn age_in_frames(&self) -> Option<u64> {
        match *self {
            Self::Stale { age_in_frames, .. } => Some(age_in_frames),
            _ => None,
        }
    }

    /// Returns the line that made the handle: in debug builds, if it was set.
    ///
    /// ```
    /// # use bevy_frame_arena::FrameArenas;
    /// # let mut arenas = FrameArenas::default();
    /// let handle = arenas.local().share(7);
    /// (0..2).for_each(|_| arenas.swap());
    /// let made_at = arenas.resolve(handle).unwrap_err().made_at();
    /// assert_eq!(made_at.is_some(), cfg!(debug_assertions));
    /// ```
    pub fn made_at(&self) -> Option<&'static Location<'static>> {
        match *self {
            Self::Stale { made_at, .. }
            | Self::OtherFrame { made_at, .. }
            | Self::NotExtracted { made_at, .. }
            | Self::Foreign { made_at, .. } => made_at,
            Self::Unset { .. } => None,
        }
    }
}

impl Error for HandleError {}
