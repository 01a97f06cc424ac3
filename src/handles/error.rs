//! Why a handle did not resolve, in words for the person who reads the panic.
#![forbid(unsafe_code)]

use std::any::type_name;
use std::error::Error;
use std::fmt::{self, Write};
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
    /// The handle was made by other arenas: of another world, app or pace, or a standalone arena.
    #[non_exhaustive]
    Foreign {
        /// The type that the handle names, as [`type_name`] writes it.
        type_name: &'static str,
        /// Whether a standalone [`FrameArena`](crate::FrameArena) made it.
        is_standalone: bool,
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
                made_at: handle.made_at(),
            },
            None => Self::unset_or_foreign(handle),
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
            Self::unset_or_foreign(handle)
        }
    }

    fn unset_or_foreign<T: ?Sized>(handle: FrameHandle<T>) -> Self {
        let type_name = type_name::<T>();
        match handle.stamp() {
            UNSET => Self::Unset { type_name },
            stamp => Self::Foreign {
                type_name,
                is_standalone: stamp::is_standalone(stamp),
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
            | Self::Foreign { made_at, .. } => made_at,
            Self::Unset { .. } => None,
        }
    }
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Stale {
                type_name,
                age_in_frames,
                frame,
                lives_for_frames,
                made_at,
            } => write!(
                f,
                "stale `FrameHandle<{}>`: made {} ago, in frame {frame}{}, and data lives for {}; \
                 share it again each frame, or take a `FrameLease` to read it for longer",
                Short(type_name),
                Frames(age_in_frames),
                At(made_at),
                Life(lives_for_frames),
            ),
            Self::OtherFrame {
                type_name,
                frame,
                leased_frame,
                made_at,
            } => write!(
                f,
                "`FrameHandle<{}>` of another frame: made in frame {frame}{}, and the lease is of \
                 frame {leased_frame}; lease the handle's own frame with `FrameArenas::lease_of`",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                is_standalone: true,
                made_at,
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made in a standalone `FrameArena`{}; \
                 resolve it with `get` of that arena, before its next reset",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                is_standalone: false,
                made_at,
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made{} by other `FrameArenas`; resolve it with those, \
                 which are another world's or another pace's, or through a `FrameLease` of them",
                Short(type_name),
                At(made_at),
            ),
            Self::Unset { type_name } => write!(
                f,
                "unset `FrameHandle<{}>`: it is `FrameHandle::default()`; store the handle of \
                 something shared in it first, or read it with `get`, which gives `None` then",
                Short(type_name),
            ),
        }
    }
}

impl Error for HandleError {}

/// A type's name without the paths of its modules: `[Entity]` for `[bevy_ecs::entity::Entity]`.
struct Short(&'static str);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while !rest.is_empty() {
            let is_in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let end = rest.find(|c| !is_in_path(c)).unwrap_or(rest.len());
            let (path, behind) = rest.split_at(end);
            f.write_str(path.rsplit("::").next().unwrap_or(path))?;
            let mut behind = behind.chars();
            if let Some(between) = behind.next() {
                f.write_char(between)?;
            }
            rest = behind.as_str();
        }
        Ok(())
    }
}

struct Frames(u64);

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 frame"),
            frames => write!(f, "{frames} frames"),
        }
    }
}

struct Life(u64);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("its own frame alone"),
            2 => f.write_str("its own frame and the next"),
            frames => write!(f, "its own frame and the next {}", frames - 1),
        }
    }
}

struct At(Option<&'static Location<'static>>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, " at {}:{}", line.file(), line.line()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_modules_and_nothing_else() {
        for (name, short) in [
            ("u8", "u8"),
            ("[bevy_ecs::entity::Entity]", "[Entity]"),
            ("alloc::vec::Vec<(a::B, &str), c::D>", "Vec<(B, &str), D>"),
            (
                "dyn core::fmt::Debug + core::marker::Send",
                "dyn Debug + Send",
            ),
            ("größe::Maß", "Maß"),
            ("", ""),
        ] {
            assert_eq!(Short(name).to_string(), short);
        }
    }

    #[test]
    fn numbers_of_frames_are_words() {
        let texts = [1, 2, 3].map(|n| format!("{}: {}", Frames(n), Life(n)));
        assert_eq!(
            texts,
            [
                "1 frame: its own frame alone",
                "2 frames: its own frame and the next",
                "3 frames: its own frame and the next 2",
            ]
        );
    }
}
