//! Errors of allocations, and the pieces of all texts: sizes, numbers of periods, short names of types.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::{self, Write};

/// Why an arena could not provide memory.
///
/// The `try_` methods return it; their plain twins panic with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaError {
    /// The global allocator had no block of this size.
    AllocationFailed {
        /// The requested bytes.
        requested: usize,
    },
    /// The allocation exceeds a limit in the settings.
    Exhausted {
        /// The requested bytes.
        requested: usize,
        /// The requested alignment, which may need padding in addition to the bytes.
        align: usize,
        /// Bytes left below the limit.
        remaining: usize,
        /// The limit.
        limit: ArenaLimit,
        /// The [`type_name`](std::any::type_name) of the arena's pace; `None` for the frame and for a
        /// standalone arena.
        pace: Option<&'static str>,
    },
    /// `len` elements take more bytes than an allocation can have (`isize::MAX`).
    TooLong {
        /// The requested number of elements.
        len: usize,
        /// Bytes of one element.
        element_bytes: usize,
    },
    /// The cell of an element is out of range; see [`share_cells`](crate::FrameCollector::share_cells).
    NoSuchCell {
        /// The cell of the element.
        cell: usize,
        /// The number of cells, which are numbered from 0.
        cells: usize,
    },
}

/// The limit that an allocation exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaLimit {
    /// The limit of one worker: [`worker_limit_bytes`](crate::FrameArenaSettings::worker_limit_bytes).
    Worker {
        /// The limit.
        bytes: usize,
    },
    /// The budget over all workers and generations.
    Budget {
        /// The budget.
        bytes: usize,
    },
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AllocationFailed { requested } => write!(
                f,
                "the global allocator has no block of {} for an arena",
                exactly(requested),
            ),
            Self::Exhausted {
                requested,
                align,
                remaining,
                limit,
                pace,
            } => {
                let (bytes, what, who, setting) = match limit {
                    ArenaLimit::Worker { bytes } => {
                        (bytes, "arena", "this worker uses", "worker_limit_bytes")
                    }
                    ArenaLimit::Budget { bytes } => (
                        bytes,
                        "arena budget",
                        "no further block fits: all workers and generations hold",
                        "budget_bytes",
                    ),
                };
                write!(
                    f,
                    "{}{what}{} exhausted: {} requested, aligned to {align}, and {who} {} of {}; raise \
                     `FrameArenaSettings::{setting}` to {}",
                    if pace.is_none() { "frame " } else { "" },
                    of(pace),
                    exactly(requested),
                    exactly(bytes.saturating_sub(remaining)),
                    exactly(bytes),
                    exactly(enough_for(bytes.saturating_add(requested))),
                )
            }
            Self::TooLong { len, element_bytes } => write!(
                f,
                "{len} elements of {element_bytes} bytes are more than an allocation may have \
                 ({} bytes)",
                isize::MAX
            ),
            Self::NoSuchCell { cell, cells } => write!(
                f,
                "an element has cell {cell}, and there are {cells} cells, numbered from 0"
            ),
        }
    }
}

impl Error for ArenaError {}

/// Returns a limit that leaves some room above a peak.
pub(crate) fn enough_for(peak_bytes: usize) -> usize {
    let with_room = peak_bytes.saturating_add(peak_bytes / 4);
    with_room.checked_next_power_of_two().unwrap_or(with_room)
}

/// Returns the result, or panics with the text of the error at the caller's line.
#[inline(always)]
#[track_caller]
pub(crate) fn or_fail<T>(result: Result<T, ArenaError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fail(error),
    }
}

/// Panics with the text of `error`.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: ArenaError) -> ! {
    panic!("{error}")
}

/// Shows a number of bytes with two digits or more, and the unit: `900 B`, `1.4 KiB`, `16 MiB`.
///
/// The units are those of `bevy_utils::MemorySize`. Its two decimals (`1023.25 KiB`) are left out: a cell
/// of the overlay has room for eight letters, and the third digit changes in every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        if bytes < 1024 {
            return write!(f, "{bytes} B");
        }
        let mut amount = bytes as f64 / 1024.0;
        let mut units = UNITS.iter();
        let mut unit = units.next().unwrap_or(&"");
        // An amount that would be rounded up to 1024 becomes 1 of the next unit.
        while amount >= 1023.5
            && let Some(next) = units.next()
        {
            amount /= 1024.0;
            unit = next;
        }
        // An amount that would be rounded up to 10.0 needs no decimal.
        let digits = usize::from(amount < 9.95);
        write!(f, "{amount:.digits$} {unit}")
    }
}

/// Shows the exact number of bytes: `900 bytes`, `16 MiB`, `5000 bytes (4.9 KiB)`.
fn exactly(bytes: usize) -> impl fmt::Display {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    fmt::from_fn(move |f| match bytes {
        1 => f.write_str("1 byte"),
        bytes if bytes < KIB => write!(f, "{bytes} bytes"),
        bytes if bytes.is_multiple_of(MIB) => write!(f, "{} MiB", bytes / MIB),
        bytes if bytes.is_multiple_of(KIB) => write!(f, "{} KiB", bytes / KIB),
        bytes => write!(f, "{bytes} bytes ({})", Bytes(bytes)),
    })
}

/// A count with its noun, in the singular or plural.
pub(crate) struct Count<'a>(pub(crate) u64, pub(crate) &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = *self;
        let plural = if count == 1 { "" } else { "s" };
        write!(f, "{count} {noun}{plural}")
    }
}

/// A type's name without the paths of its modules: `[Entity]` for `[bevy_ecs::entity::Entity]`.
pub(crate) struct Short(pub(crate) &'static str);

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

/// The resource of the pace with this type name, or of the frame if there is none.
pub(crate) struct Arenas(pub(crate) Option<&'static str>);

impl fmt::Display for Arenas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("`FrameArenas`"),
            Some(pace) => write!(f, "`ArenasOf<{}>`", Short(pace)),
        }
    }
}

/// The resource of a pace other than the frame, introduced by `of`.
pub(crate) fn of(pace: Option<&'static str>) -> impl fmt::Display {
    fmt::from_fn(move |f| match pace {
        None => Ok(()),
        pace => write!(f, " of {}", Arenas(pace)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more_and_a_unit() {
        const KIB: usize = 1 << 10;
        const MIB: usize = 1 << 20;
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (KIB, "1.0 KiB"),
            (KIB * 3 / 2, "1.5 KiB"),
            (10 * KIB - 1, "10 KiB"),
            (170 * KIB, "170 KiB"),
            (MIB - 1, "1.0 MiB"),
            (MIB * 14 / 10, "1.4 MiB"),
            (16 * MIB, "16 MiB"),
            (608 * MIB, "608 MiB"),
            (3 << 30, "3.0 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        assert!(Bytes(usize::MAX).to_string().ends_with("iB"));
    }

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
}
