//! Sites: which line of the game asked for memory.
//!
//! Two sets of types with the same methods: with the feature `sites` they count, without it they are
//! empty, and so is what they compile to.
#![forbid(unsafe_code)]

#[cfg(not(feature = "sites"))]
mod blind;
#[cfg(feature = "sites")]
mod list;
#[cfg(feature = "sites")]
mod table;

use std::fmt;

#[cfg(not(feature = "sites"))]
pub use self::blind::SiteList;
#[cfg(not(feature = "sites"))]
pub(crate) use self::blind::SiteTable;
#[cfg(feature = "sites")]
pub use self::list::SiteList;
#[cfg(feature = "sites")]
pub(crate) use self::table::SiteTable;

/// What one line of the game asked for in a frame: see [`FrameUsage::sites`](crate::FrameUsage::sites).
///
/// A site is a line that calls [`FrameArenas::local`](crate::FrameArenas::local),
/// [`scratch`](crate::FrameArenas::scratch), or a method of a [`FrameCollector`](crate::FrameCollector)
/// that asks for memory. A function of yours that only passes the arena on can be `#[track_caller]`:
/// then its callers are the sites. Systems with the parameter `Scratch` have one site together, in
/// this crate. Each worker keeps about sixty sites apart.
///
/// ```
/// # #[cfg(feature = "sites")] {
/// use bevy_frame_arena::FrameArenas;
///
/// let mut arenas = FrameArenas::default();
/// let arena = arenas.local();
/// arena.alloc([0_u64; 100]);
/// arenas.swap();
///
/// let most = arenas.usage().sites[0];
/// assert_eq!((most.file, most.used_bytes), (file!(), 800));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteUsage {
    /// The file, as the compiler names it: `src/cull.rs`. It is empty for the line that stands for
    /// all sites that a worker had no room for.
    pub file: &'static str,
    /// The line in the file.
    pub line: u32,
    /// How often the arena was asked for.
    pub look_ups: u64,
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
    /// Bytes of [scratch](crate::Scratch): the most that a guard taken here had in use when it was
    /// reset or dropped; of each worker's arenas the highest figure, added up.
    pub scratch_bytes: usize,
    /// Allocations that a limit refused: each counts for the site that `used_bytes` would have.
    pub refusals: u32,
    /// Look-ups of stale or foreign handles.
    pub stale_lookups: u64,
}

impl SiteUsage {
    /// Whether both are figures of one line.
    #[cfg(feature = "sites")]
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (self.line, self.file) == (other.line, other.file)
    }
}

/// The place: `src/cull.rs:12`.
impl fmt::Display for SiteUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file {
            "" => f.write_str("other lines"),
            file => write!(f, "{file}:{}", self.line),
        }
    }
}
