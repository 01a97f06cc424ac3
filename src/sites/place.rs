//! The place of a site, as the table knows it.
#![forbid(unsafe_code)]

use std::panic::Location;
use std::ptr;

use super::Site;

/// Where memory is asked for: of a kind that the compiler knows, so that it fits into registers.
pub(crate) trait Place: Copy + Into<AnyPlace> {
    /// Returns the address of the place, which tells it from others. It is not 0.
    fn key(self) -> usize;
}

/// A line of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line(&'static Location<'static>);

impl Line {
    /// Returns the line of the caller.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn caller() -> Self {
        Self(Location::caller())
    }
}

impl Place for Line {
    #[inline(always)]
    fn key(self) -> usize {
        ptr::from_ref(self.0).addr()
    }
}

/// A place of any kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyPlace {
    Line(&'static Location<'static>),
    #[cfg(feature = "bevy")]
    System(&'static str),
}

impl From<Line> for AnyPlace {
    fn from(Line(location): Line) -> Self {
        Self::Line(location)
    }
}

impl From<AnyPlace> for Site {
    fn from(place: AnyPlace) -> Self {
        match place {
            AnyPlace::Line(location) => Self::Line {
                file: location.file(),
                line: location.line(),
            },
            #[cfg(feature = "bevy")]
            AnyPlace::System(name) => Self::System(name),
        }
    }
}
