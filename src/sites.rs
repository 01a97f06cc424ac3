//! Sites: which line of the game, or which system, asked for memory.
//!
//! Two sets of types with the same methods: with the feature `sites` they count, without it they are
//! empty, and so is what they compile to.
#![forbid(unsafe_code)]

#[cfg(not(feature = "sites"))]
mod blind;
#[cfg(feature = "sites")]
mod list;
#[cfg(feature = "sites")]
mod place;
#[cfg(feature = "sites")]
mod row;
#[cfg(all(feature = "sites", feature = "bevy"))]
mod system;
#[cfg(feature = "sites")]
mod table;

use std::fmt;

#[cfg(not(feature = "sites"))]
pub use self::blind::SiteList;
#[cfg(all(not(feature = "sites"), feature = "bevy"))]
pub(crate) use self::blind::SystemPlace;
#[cfg(not(feature = "sites"))]
pub(crate) use self::blind::{Line, Place, SiteTable};
#[cfg(feature = "sites")]
pub use self::list::SiteList;
#[cfg(feature = "sites")]
pub(crate) use self::place::{Line, Place};
#[cfg(all(feature = "sites", feature = "bevy"))]
pub(crate) use self::system::SystemPlace;
#[cfg(feature = "sites")]
pub(crate) use self::table::SiteTable;

/// Who asked for memory: a line of the game, mostly.
///
/// A function of yours that only passes the arena on can be `#[track_caller]`: then its callers are
/// the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Site {
    /// A line that calls [`FrameArenas::local`](crate::FrameArenas::local),
    /// [`scratch`](crate::FrameArenas::scratch), or a method of a
    /// [`FrameCollector`](crate::FrameCollector) that asks for memory.
    Line {
        /// The file, as the compiler names it: `src/cull.rs`.
        file: &'static str,
        /// The line in the file.
        line: u32,
    },
    /// A system that has [`Scratch`](crate::Scratch) as a parameter, by its name.
    ///
    /// Bevy keeps the names with its feature `debug`. Without it, all these systems are one site, with
    /// a name that says so.
    System(&'static str),
    /// All for which a worker had no room in its table, which is for about sixty.
    Others,
}

/// `src/cull.rs:12`, `system game::cull`, or `other lines`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::System(name) => write!(f, "system {name}"),
            Self::Others => f.write_str("other lines"),
        }
    }
}

/// What one site asked for in a frame: see [`FrameUsage::sites`](crate::FrameUsage::sites).
///
/// ```
/// # #[cfg(feature = "sites")] {
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let arena = arenas.local();
/// arena.alloc([0_u64; 100]);
/// drop(arena.boxed([0_u64; 25]));
/// arenas.swap();
///
/// let most = arenas.usage().sites[0];
/// assert!(most.site.to_string().starts_with(file!()));
/// assert_eq!((most.look_ups, most.allocations), (1, 2));
/// assert_eq!((most.used_bytes, most.peak_bytes), (800, 1000));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteUsage {
    /// The line, or the system.
    pub site: Site,
    /// How often the arena was asked for.
    pub look_ups: u64,
    /// How often memory was taken from it. Each counts for the site that `used_bytes` would have;
    /// what grows where it lies does not count again.
    pub allocations: u64,
    /// Bytes of the frame's memory.
    ///
    /// They are what a worker's use grew by between this look-up and the worker's next one, or the end
    /// of the frame. So the figures of all sites add up to
    /// [`used_bytes`](crate::FrameUsage::used_bytes), and
    /// - what is freed in between does not count;
    /// - if a worker runs another system while it waits in this one, what this one allocates
    ///   afterwards counts for the other one's site, up to the next look-up here;
    /// - a site that freed more than it took, of what others took, has 0, and the sum is larger.
    pub used_bytes: usize,
    /// The most bytes, of those that `used_bytes` counts, that each worker had in use at once, added
    /// up: what was freed again in the frame is in it.
    pub peak_bytes: usize,
    /// Bytes of [scratch](crate::Scratch): the most that a guard taken here had in use at once; of each
    /// worker's arenas the highest figure, added up.
    pub scratch_bytes: usize,
    /// Allocations that a limit refused: each counts for the site that `used_bytes` would have.
    pub refusals: u32,
    /// Look-ups of stale or foreign handles.
    pub stale_lookups: u64,
}
