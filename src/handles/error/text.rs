//! The words of each error.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use super::HandleError;
use crate::error::{Arenas, Of, Short};

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Stale {
                type_name,
                age_in_frames,
                frame,
                lives_for_frames,
                pace,
                made_at,
            } => {
                let period = period_of(pace);
                write!(
                    f,
                    "stale `FrameHandle<{}>`: made {} ago, in {period} {frame}{}{}, and data lives \
                     for {}; {}",
                    Short(type_name),
                    Count(age_in_frames, period),
                    Of(pace),
                    At(made_at),
                    Life(lives_for_frames, period),
                    StaleAdvice(pace),
                )
            }
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
            Self::NotExtracted {
                type_name,
                frame,
                extracted_frame,
                held_frames,
                made_at,
            } => write!(
                f,
                "`FrameHandle<{}>` of a frame that is not extracted: made in frame {frame}{}, and \
                 {}",
                Short(type_name),
                At(made_at),
                Extracted(frame, extracted_frame, held_frames),
            ),
            Self::Foreign {
                type_name,
                is_standalone: true,
                made_at,
                ..
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made in a standalone `FrameArena`{}; \
                 resolve it with `get` of that arena, before its next reset",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                is_scratch: true,
                made_at,
                ..
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made in scratch{}, whose memory is free again when its \
                 guard drops; what others read is made in `FrameArenas::local`, and shared from there",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                is_task: true,
                made_at,
                ..
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made in a `TaskArena`{}; resolve it with `memory` of the \
                 `TaskResult` of that arena, or pass the result to `FrameArenas::adopt`",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                made_in: None,
                read_in: None,
                made_at,
                ..
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made{} by other `FrameArenas`; resolve it with those, \
                 which are another world's or another pace's, or through a `FrameLease` of them",
                Short(type_name),
                At(made_at),
            ),
            Self::Foreign {
                type_name,
                made_in,
                read_in,
                made_at,
                ..
            } => write!(
                f,
                "foreign `FrameHandle<{}>`: made in {}{}, and looked up in {}; look it up where it \
                 was made, or make it where it is read",
                Short(type_name),
                Arenas(made_in),
                At(made_at),
                Arenas(read_in),
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

/// What to do about a stale handle.
///
/// Which side of a fixed step made it is not recorded, so a handle of the frame gets the cure for
/// steps as well.
struct StaleAdvice(Option<&'static str>);

impl fmt::Display for StaleAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = period_of(self.0);
        write!(
            f,
            "share it again each {period}, or take a `FrameLease` to read it for longer"
        )?;
        match self.0 {
            None => f.write_str(
                "; if a fixed step makes or reads it, allocate it in `ArenasOf<FixedStep>`, as not \
                 every frame has a step",
            ),
            Some(_) => Ok(()),
        }
    }
}

/// What was extracted instead of a frame, and what to do.
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
                "frame {last} was extracted last: the main world has got on since"
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

/// A number of frames or periods.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, period) = self;
        let plural = if *count == 1 { "" } else { "s" };
        write!(f, "{count} {period}{plural}")
    }
}

/// For how many frames or periods data lives.
struct Life(u64, &'static str);

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, period) = self;
        match count {
            1 => write!(f, "its own {period} alone"),
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
                "1 frame: its own frame alone",
                "2 frames: its own frame and the next",
                "3 frames: its own frame and the next 2",
            ]
        );
    }
}
