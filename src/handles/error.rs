//! Why a handle did not resolve, with a text for panics.
#![forbid(unsafe_code)]

use std::any::type_name;
use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::panic::Location;

use super::FrameHandle;
use crate::error::{Arenas, Count, Of, Short};
use crate::stamp::{self, Stamp, UNSET};

/// Why a handle did not resolve.
///
/// [`FrameArenas::resolve`](crate::FrameArenas::resolve) returns it, and indexing panics with its
/// text, which names the type of the handle, its age, and a remedy. In debug builds it also
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
/// assert!(matches!(error, HandleError::Stale { age_in_periods: 2, .. }));
/// assert!(error.to_string().starts_with("stale `FrameHandle<[i32]>`: made 2 frames ago"));
///
/// let never_set = FrameHandle::<str>::default();
/// assert!(matches!(arenas.resolve(never_set), Err(HandleError::Unset { .. })));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// The handle was made too many periods ago: its data is gone.
    #[non_exhaustive]
    Stale {
        /// The [`type_name`] of the handle's data.
        type_name: &'static str,
        /// The age of the handle in periods.
        age_in_periods: u64,
        /// The period in which the handle was made.
        period: u64,
        /// The lifetime of data in periods, including the one in which it is made.
        lives_for_periods: u64,
        /// The [`type_name`] of the pace; `None` for the frame.
        pace: Option<&'static str>,
        /// The line that made the handle; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made in a period other than the leased one.
    #[non_exhaustive]
    OtherFrame {
        /// The [`type_name`] of the handle's data.
        type_name: &'static str,
        /// The period in which the handle was made.
        period: u64,
        /// The leased period.
        leased_period: u64,
        /// The line that made the handle; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made in a frame other than the extracted ones; see `ExtractedFrame`.
    #[non_exhaustive]
    NotExtracted {
        /// The [`type_name`] of the handle's data.
        type_name: &'static str,
        /// The frame in which the handle was made.
        period: u64,
        /// The frame extracted last; `None` if nothing was extracted.
        extracted_frame: Option<u64>,
        /// The maximum number of extracted frames that are held.
        held_frames: usize,
        /// The line that made the handle; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle was made by other arenas: of another world, app or pace, a standalone arena,
    /// scratch, or a task arena.
    #[non_exhaustive]
    Foreign {
        /// The [`type_name`] of the handle's data.
        type_name: &'static str,
        /// Whether a standalone [`FrameArena`](crate::FrameArena) made it.
        is_standalone: bool,
        /// Whether [`Scratch`](crate::Scratch) made it.
        is_scratch: bool,
        /// Whether a [`TaskArena`](crate::TaskArena) made it.
        is_task: bool,
        /// The [`type_name`] of the pace in which it was made; `None` for the frame, or if unknown.
        made_in: Option<&'static str>,
        /// The [`type_name`] of the pace in which it was looked up; `None` for the frame.
        read_in: Option<&'static str>,
        /// The line that made the handle; `None` in release builds.
        made_at: Option<&'static Location<'static>>,
    },
    /// The handle is `FrameHandle::default()`: it was never set.
    #[non_exhaustive]
    Unset {
        /// The [`type_name`] of the handle's data.
        type_name: &'static str,
    },
}

impl HandleError {
    /// Returns why `handle` does not resolve in arenas whose current generation has the stamp `now`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_arenas<T: ?Sized>(
        handle: FrameHandle<T>,
        now: Stamp,
        lives_for_periods: u64,
    ) -> Self {
        match stamp::age(handle.stamp(), now) {
            Some(age_in_periods) => Self::Stale {
                type_name: type_name::<T>(),
                age_in_periods,
                period: stamp::period(handle.stamp()),
                lives_for_periods,
                pace: stamp::name_of_run(now),
                made_at: handle.made_at(),
            },
            None => Self::unset_or_foreign(handle, stamp::name_of_run(now)),
        }
    }

    /// Returns why `handle` does not resolve in the generation with the stamp `leased`.
    #[cold]
    #[inline(never)]
    pub(crate) fn in_lease<T: ?Sized>(handle: FrameHandle<T>, leased: Stamp) -> Self {
        if stamp::is_same_run(handle.stamp(), leased) {
            Self::OtherFrame {
                type_name: type_name::<T>(),
                period: stamp::period(handle.stamp()),
                leased_period: stamp::period(leased),
                made_at: handle.made_at(),
            }
        } else {
            Self::unset_or_foreign(handle, stamp::name_of_run(leased))
        }
    }

    /// Returns why `handle` does not resolve in the last `held_frames` extracted frames. The last one has
    /// the stamp `last`.
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
            period: stamp::period(handle.stamp()),
            extracted_frame: last.map(stamp::period),
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

    /// Returns the age of a stale handle in periods.
    pub fn age_in_periods(&self) -> Option<u64> {
        match *self {
            Self::Stale { age_in_periods, .. } => Some(age_in_periods),
            _ => None,
        }
    }

    /// Returns the line that made the handle; `None` in release builds, and if the handle is unset.
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

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = At(self.made_at());
        match *self {
            Self::Stale {
                type_name,
                age_in_periods,
                period: number,
                lives_for_periods,
                pace,
                ..
            } => {
                let (name, of, period) = (Short(type_name), Of(pace), period_of(pace));
                let age = Count(age_in_periods, period);
                let life = Life(lives_for_periods, period);
                let cause = if age_in_periods > lives_for_periods {
                    "its maker may pause"
                } else {
                    "its reader may be late"
                };
                write!(
                    f,
                    "stale `FrameHandle<{name}>`: made {age} ago, in {period} {number}{of}{at}, and data \
                     lives for {life}; share it again each {period}, look it up with `get` if {cause}, or take \
                     a `FrameLease` to keep it for longer"
                )?;
                // A handle records neither its maker nor its reader.
                match pace.map(|pace| pace.ends_with("::FixedStep")) {
                    None => f.write_str(
                        "; if a fixed step reads this message or replaces this list, allocate it in \
                         `ArenasOf<FixedStep>`: not every frame has a step",
                    ),
                    Some(true) => f.write_str(
                        "; if a frame reads this message, allocate it in `FrameArenas`: a slow frame has \
                         several steps",
                    ),
                    Some(false) if lives_for_periods == 1 => f.write_str(
                        "; if it is of a level that has ended, remove it with the level, e.g. in `OnExit`",
                    ),
                    Some(false) => Ok(()),
                }
            }
            Self::OtherFrame {
                type_name,
                period,
                leased_period,
                ..
            } => write!(
                f,
                "`FrameHandle<{}>` of another frame: made in frame {period}{at}, and the lease is of \
                 frame {leased_period}; lease the handle's own frame with `FrameArenas::lease_of`",
                Short(type_name),
            ),
            Self::NotExtracted {
                type_name,
                period: frame,
                extracted_frame,
                held_frames,
                ..
            } => write!(
                f,
                "`FrameHandle<{}>` of a frame that is not extracted: made in frame {frame}{at}, and {}",
                Short(type_name),
                Extracted(frame, extracted_frame, held_frames),
            ),
            Self::Foreign {
                type_name,
                is_standalone,
                is_scratch,
                is_task,
                made_in,
                read_in,
                ..
            } => {
                write!(f, "foreign `FrameHandle<{}>`: made", Short(type_name))?;
                if is_standalone {
                    write!(
                        f,
                        " in a standalone `FrameArena`{at}; resolve it with `get` of that arena, before \
                         its next reset"
                    )
                } else if is_scratch {
                    write!(
                        f,
                        " in scratch{at}, whose memory is free again when its guard drops; make data for other \
                         readers in `FrameArenas::local`, and share it there"
                    )
                } else if is_task {
                    write!(
                        f,
                        " in a `TaskArena`{at}; resolve it with `memory` of the `TaskResult` of that \
                         arena, or pass the result to `FrameArenas::adopt`"
                    )
                } else if made_in.is_none() && read_in.is_none() {
                    write!(
                        f,
                        "{at} by other `FrameArenas`; resolve it with those, which are another world's or \
                         another pace's, or through a `FrameLease` of them"
                    )
                } else {
                    let (made_in, read_in) = (Arenas(made_in), Arenas(read_in));
                    write!(
                        f,
                        " in {made_in}{at}, and looked up in {read_in}; look it up where it was made, or \
                         make it where it is read"
                    )
                }
            }
            Self::Unset { type_name } => write!(
                f,
                "unset `FrameHandle<{}>`: it is `FrameHandle::default()`; store the handle of \
                 something shared in it first, or read it with `get`, which returns `None`",
                Short(type_name),
            ),
        }
    }
}

/// The frames that were extracted instead of the handle's own, and the advice.
struct Extracted(u64, Option<u64>, usize);

impl fmt::Display for Extracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(made, last, held) = *self;
        let Some(last) = last else {
            return f.write_str(
                "nothing was extracted: there was no extract yet, the main world has no \
                 `FrameArenas`, or `set_extract` was called after `App::finish` and replaced the \
                 hand-over",
            );
        };
        match made.cmp(&last) {
            Ordering::Less => write!(
                f,
                "that is {} before the last one that was extracted, of which {held} {} held; \
                 extract the handle again, or raise `FrameArenaSubAppPlugin::frames`",
                Count(last - made, "frame"),
                if held == 1 { "is" } else { "are" },
            ),
            Ordering::Equal | Ordering::Greater => write!(
                f,
                "frame {last} was extracted last, and the main world is already past it"
            ),
        }
    }
}

fn period_of(pace: Option<&str>) -> &'static str {
    match pace {
        None => "frame",
        Some(_) => "period",
    }
}

/// The lifetime of data in frames or periods.
struct Life(u64, &'static str);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, period) = self;
        match count {
            1 => write!(f, "its own {period} only"),
            2 => write!(f, "its own {period} and the next"),
            count => write!(f, "its own {period} and the next {}", count - 1),
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
    fn numbers_of_frames_are_words() {
        let texts = [1, 2, 3].map(|n| format!("{}: {}", Count(n, "frame"), Life(n, "frame")));
        assert_eq!(
            texts,
            [
                "1 frame: its own frame only",
                "2 frames: its own frame and the next",
                "3 frames: its own frame and the next 2",
            ]
        );
    }
}
