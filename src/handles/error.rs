//! Why a handle did not resolve, with a text for panics.
#![forbid(unsafe_code)]

use std::any::type_name;
use std::error::Error;
use std::fmt;
use std::panic::Location;

use super::FrameHandle;
use crate::error::{Arenas, Count, Short, of};
use crate::stamp::{self, Lone, Stamp};

/// Why a handle did not resolve.
///
/// [`FrameArenas::resolve`](crate::FrameArenas::resolve) returns it, and indexing panics with its
/// text. The text names the type of the handle, the reason, and a remedy: the handle is stale, was made in
/// other arenas or in another frame than the leased or extracted one, or was never set. In debug builds the
/// text also names the line that made the handle.
///
/// ```
/// use bevy_frame_arena::{FrameArenas, FrameHandle};
///
/// let mut arenas = FrameArenas::default();
/// let list = arenas.local().share_slice_copy(&[1, 2, 3]);
/// arenas.swap();
/// arenas.swap();
/// let error = arenas.resolve(list).unwrap_err();
/// assert_eq!(error.age_in_periods(), Some(2));
/// assert!(error.to_string().starts_with("stale `FrameHandle<[i32]>`: made 2 frames ago"));
///
/// let error = arenas.resolve(FrameHandle::<str>::default()).unwrap_err();
/// assert!(error.to_string().starts_with("unset `FrameHandle<str>`"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleError {
    type_name: &'static str,
    /// The period in which the handle was made.
    period: u64,
    made_at: Option<&'static Location<'static>>,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The handle was made too many periods ago: its data is gone.
    Stale {
        age_in_periods: u64,
        lives_for_periods: u64,
        /// The type name of the pace; `None` for the frame.
        pace: Option<&'static str>,
    },
    /// The handle was made in a period other than the leased one.
    OtherFrame {
        leased_period: u64,
    },
    /// The handle was made in a frame other than the extracted ones.
    #[cfg_attr(not(feature = "bevy"), expect(dead_code, reason = "an app extracts"))]
    NotExtracted {
        last_frame: Option<u64>,
        held_frames: usize,
    },
    /// The handle was made by other arenas.
    Foreign {
        /// The kind of arena that made it, unless it was a worker of other `FrameArenas`.
        lone: Option<Lone>,
        /// The type names of the paces in which it was made and looked up; `None` for the frame, or if
        /// unknown.
        made_in: Option<&'static str>,
        read_in: Option<&'static str>,
    },
    Unset,
}

impl HandleError {
    /// Returns why `handle` does not resolve in arenas whose current generation has the stamp `now`.
    pub(crate) fn in_arenas<T: ?Sized>(
        handle: FrameHandle<T>,
        now: Stamp,
        lives_for_periods: u64,
    ) -> Self {
        let stale = Reason::Stale {
            age_in_periods: now.saturating_sub(handle.stamp()),
            lives_for_periods,
            pace: stamp::name_of_run(now),
        };
        Self::new(handle, Some(now), stale)
    }

    /// Returns why `handle` does not resolve in the generation with the stamp `leased`.
    pub(crate) fn in_lease<T: ?Sized>(handle: FrameHandle<T>, leased: Stamp) -> Self {
        let leased_period = stamp::period(leased);
        Self::new(handle, Some(leased), Reason::OtherFrame { leased_period })
    }

    /// Returns why `handle` does not resolve in the last `held_frames` extracted frames. The last one has
    /// the stamp `last`.
    #[cfg(feature = "bevy")]
    pub(crate) fn in_extracted<T: ?Sized>(
        handle: FrameHandle<T>,
        last: Option<Stamp>,
        held_frames: usize,
    ) -> Self {
        let not_extracted = Reason::NotExtracted {
            last_frame: last.map(stamp::period),
            held_frames,
        };
        Self::new(handle, last, not_extracted)
    }

    /// `own` is the reason for a handle of the same run as the stamp `read_in`, if there is one.
    #[cold]
    #[inline(never)]
    fn new<T: ?Sized>(handle: FrameHandle<T>, read_in: Option<Stamp>, own: Reason) -> Self {
        let made_in = handle.stamp();
        let reason = match read_in {
            _ if handle.is_unset() => Reason::Unset,
            Some(read_in) if !stamp::is_same_run(made_in, read_in) => Reason::Foreign {
                lone: stamp::lone(made_in),
                made_in: stamp::name_of_run(made_in),
                read_in: stamp::name_of_run(read_in),
            },
            _ => own,
        };
        Self {
            type_name: type_name::<T>(),
            period: stamp::period(made_in),
            made_at: handle.made_at(),
            reason,
        }
    }

    /// Returns the age in periods if the handle is stale, and `None` if it does not resolve for another
    /// reason.
    pub fn age_in_periods(&self) -> Option<u64> {
        match self.reason {
            Reason::Stale { age_in_periods, .. } => Some(age_in_periods),
            _ => None,
        }
    }

    /// Returns the line that made the handle; `None` in release builds, and if the handle is unset.
    pub fn made_at(&self) -> Option<&'static Location<'static>> {
        self.made_at
    }
}

impl Error for HandleError {}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, made, at) = (Short(self.type_name), self.period, at(self.made_at));
        match self.reason {
            Reason::Stale {
                age_in_periods,
                lives_for_periods,
                pace,
            } => {
                let (of, period) = (of(pace), if pace.is_none() { "frame" } else { "period" });
                let age = Count(age_in_periods, period);
                let life = life(lives_for_periods, period);
                let cause = if age_in_periods > lives_for_periods {
                    "its maker may pause"
                } else {
                    "its reader may be late"
                };
                write!(
                    f,
                    "stale `FrameHandle<{name}>`: made {age} ago, in {period} {made}{of}{at}, and data \
                     lives for {life}; share it again each {period}, look it up with `get` if {cause}, or take \
                     a `FrameLease` to keep it for longer"
                )?;
                // A handle records neither its maker nor its reader.
                f.write_str(match pace.map(|pace| pace.ends_with("::FixedStep")) {
                    None => {
                        "; if a fixed step reads this message or replaces this list, allocate it in \
                         `ArenasOf<FixedStep>`: not every frame has a step"
                    }
                    Some(true) => {
                        "; if a frame reads this message, allocate it in `FrameArenas`: a slow frame has \
                         several steps"
                    }
                    Some(false) if lives_for_periods == 1 => {
                        "; if it is of a level that has ended, remove it with the level, e.g. in `OnExit`"
                    }
                    Some(false) => "",
                })
            }
            Reason::OtherFrame { leased_period } => write!(
                f,
                "`FrameHandle<{name}>` of another frame: made in frame {made}{at}, and the lease is of \
                 frame {leased_period}; lease the handle's own frame with `FrameArenas::lease_of`",
            ),
            Reason::NotExtracted {
                last_frame,
                held_frames,
            } => write!(
                f,
                "`FrameHandle<{name}>` of a frame that is not extracted: made in frame {made}{at}, and {}",
                extracted(made, last_frame, held_frames),
            ),
            Reason::Foreign {
                lone,
                made_in,
                read_in,
            } => {
                let (place, advice) = match lone {
                    Some(Lone::Standalone) => (
                        " in a standalone `FrameArena`",
                        "resolve it with `get` of that arena, before its next reset",
                    ),
                    Some(Lone::Scratch) => (
                        " in scratch",
                        "its memory is free again when its guard drops; make data for other readers in \
                         `FrameArenas::local`, and share it there",
                    ),
                    Some(Lone::Task) => (
                        " in a `TaskArena`",
                        "resolve it with `memory` of the `TaskResult` of that arena, or pass the result to \
                         `FrameArenas::adopt`",
                    ),
                    None if made_in.is_none() && read_in.is_none() => (
                        " by other `FrameArenas`",
                        "resolve it with those, which are another world's or another pace's, or through a \
                         `FrameLease` of them",
                    ),
                    None => {
                        return write!(
                            f,
                            "foreign `FrameHandle<{name}>`: made in {}{at}, and looked up in {}; look it up \
                             where it was made, or make it where it is read",
                            Arenas(made_in),
                            Arenas(read_in),
                        );
                    }
                };
                write!(
                    f,
                    "foreign `FrameHandle<{name}>`: made{place}{at}; {advice}"
                )
            }
            Reason::Unset => write!(
                f,
                "unset `FrameHandle<{name}>`: it is `FrameHandle::default()`; store the handle of \
                 something shared in it first, or read it with `get`, which returns `None`",
            ),
        }
    }
}

/// The frames that were extracted instead of the handle's own, and the advice.
fn extracted(made: u64, last: Option<u64>, held: usize) -> impl fmt::Display {
    fmt::from_fn(move |f| match last {
        None => f.write_str(
            "nothing was extracted: there was no extract yet, the main world has no \
             `FrameArenas`, or `set_extract` was called after `App::finish` and replaced the \
             hand-over",
        ),
        Some(last) if made < last => write!(
            f,
            "that is {} before the last one that was extracted, of which {held} {} held; \
             extract the handle again, or raise `FrameArenaSubAppPlugin::frames`",
            Count(last - made, "frame"),
            if held == 1 { "is" } else { "are" },
        ),
        Some(last) => write!(
            f,
            "frame {last} was extracted last, and the main world is already past it"
        ),
    })
}

/// The lifetime of data in frames or periods.
fn life(count: u64, period: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| match count {
        1 => write!(f, "its own {period} only"),
        2 => write!(f, "its own {period} and the next"),
        count => write!(f, "its own {period} and the next {}", count - 1),
    })
}

fn at(line: Option<&'static Location<'static>>) -> impl fmt::Display {
    fmt::from_fn(move |f| match line {
        Some(line) => write!(f, " at {}:{}", line.file(), line.line()),
        None => Ok(()),
    })
}
