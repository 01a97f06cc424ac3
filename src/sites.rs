//! Sites: the lines and systems of the game that request memory.
//!
//! Sites are counted only with the feature `sites`. Without it, [`IS_ON`] is false: every method returns
//! at once, tables are empty, and allocations cost nothing extra.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::fmt;
use std::mem;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::figures::Figures;

/// Whether sites are counted.
pub(crate) const IS_ON: bool = cfg!(feature = "sites");

/// The maximum number of sites per arena, including the one that counts all others.
const MAX_SITES: usize = 64;

/// The origin of allocations: usually a line of the game.
///
/// A function that only passes the arena on can be `#[track_caller]`, so that its callers are the sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", reflect(opaque, Clone, Debug, PartialEq))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub enum Site {
    /// A line that calls [`FrameArenas::local`](crate::FrameArenas::local),
    /// [`scratch`](crate::FrameArenas::scratch), or a method of a
    /// [`FrameCollector`](crate::FrameCollector) that requests memory.
    Line {
        /// The file as in [`Location::file`], e.g. `src/cull.rs`.
        file: &'static str,
        /// The line in the file.
        line: u32,
    },
    /// A system that has [`Scratch`](crate::Scratch) as a parameter, by its name.
    ///
    /// Bevy keeps the names only with its feature `debug`. Without it, all these systems are one site,
    /// whose name mentions the missing feature.
    System(&'static str),
    /// Sites that did not fit into a worker's table (64 entries).
    Others,
}

impl Site {
    /// Returns the line of the caller.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn caller() -> Self {
        let caller = Location::caller();
        Self::Line {
            file: caller.file(),
            line: caller.line(),
        }
    }
}

/// Writes `src/cull.rs:12`, `system game::cull`, or `other lines`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::System(name) => write!(f, "system {name}"),
            Self::Others => f.write_str("other lines"),
        }
    }
}

/// The figures of one site in a period: see [`FrameUsage::sites`](crate::FrameUsage::sites). It derefs to
/// [`Figures`].
///
/// - `used_bytes` is the growth of a worker's used memory between a look-up at this site and the worker's
///   next look-up, or the end of the period. The sum over all sites is that of the period, or more: a
///   site that frees more than it allocates counts as 0.
/// - `peak_bytes` includes memory that was freed before the next look-up.
/// - If a worker runs another system while it waits in this one, later allocations of this one count for
///   the other system's site, up to the next look-up here.
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
/// assert_eq!(most.look_ups, 1);
/// assert_eq!((most.used_bytes, most.peak_bytes), (800, 1000));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct SiteUsage {
    /// The line, or the system.
    pub site: Site,
    /// The number of look-ups of an arena at this site.
    pub look_ups: u64,
    /// Bytes of [scratch](crate::Scratch): the highest peak of each scratch arena taken at this site,
    /// summed over all arenas.
    pub scratch_bytes: usize,
    /// The figures. Their bytes do not include scratch.
    pub figures: Figures,
}

impl SiteUsage {
    fn of(site: Site) -> Self {
        Self {
            site,
            look_ups: 0,
            scratch_bytes: 0,
            figures: Figures::default(),
        }
    }
}

impl Deref for SiteUsage {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

/// Adds the figures of a site to those of the same site in other workers.
fn add_to(list: &mut Vec<SiteUsage>, usage: SiteUsage) {
    match list.iter_mut().find(|it| it.site == usage.site) {
        Some(sum) => {
            sum.look_ups += usage.look_ups;
            sum.scratch_bytes += usage.scratch_bytes;
            sum.figures.add(&usage.figures);
        }
        None => list.push(usage),
    }
}

/// Moves the figures of another list to this one.
#[inline(always)]
pub(crate) fn append(list: &mut Vec<SiteUsage>, other: &mut Vec<SiteUsage>) {
    if IS_ON {
        other.drain(..).for_each(|usage| add_to(list, usage));
    }
}

/// Finishes a list of all workers' sites: negative `used_bytes` become 0, and the largest sites come
/// first.
#[inline(always)]
pub(crate) fn finish(list: &mut [SiteUsage]) {
    if !IS_ON {
        return;
    }
    for site in list.iter_mut() {
        let bytes = &mut site.figures.used_bytes;
        *bytes = bytes.cast_signed().max(0).cast_unsigned();
    }
    list.sort_unstable_by_key(|site| {
        let figures = (site.used_bytes, site.scratch_bytes, site.look_ups);
        (Reverse(figures), site.site)
    });
}

/// The sites that looked up one arena in this period, or stale handles.
///
/// One site is open: that of the last look-up. Its bytes are computed when another site opens or the
/// period ends. The owner of the arena and the swap lock the table in turn, so an arena's lock is never
/// contended.
///
/// Nothing is allocated or freed while the lock is held: a custom global allocator may look the arena up as
/// well. If it has no memory for a table, nothing is recorded.
#[derive(Debug, Default)]
pub(crate) struct SiteTable(OnceLock<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    /// Has the capacity for all sites. They keep their rows when a period ends.
    rows: Vec<SiteUsage>,
    open: usize,
    /// The bytes in use when the open site was opened.
    opened_at: usize,
    /// The highest use since then, recorded before memory was freed.
    peak_bytes: usize,
}

impl SiteTable {
    /// Counts a look-up: memory taken from now on counts for this site.
    #[inline(always)]
    pub(crate) fn open(&self, site: Site, used_bytes: impl FnOnce() -> usize) {
        if let Some(mut rows) = self.rows() {
            rows.open(site, used_bytes());
        }
    }

    /// Records the bytes in use, before some of them are freed.
    #[inline(always)]
    pub(crate) fn note_peak(&self, used_bytes: impl FnOnce() -> usize) {
        if let Some(mut rows) = self.rows() {
            rows.peak_bytes = rows.peak_bytes.max(used_bytes());
        }
    }

    /// Records that a limit refused memory to the open site.
    #[inline(always)]
    pub(crate) fn note_refusal(&self) {
        if let Some(mut rows) = self.rows()
            && let Some(row) = rows.open_row()
        {
            row.figures.refusals += 1;
        }
    }

    /// Records the look-up of a stale handle. Any number of threads may call this at once.
    #[inline(always)]
    pub(crate) fn note_stale(&self, site: Site) {
        if let Some(mut rows) = self.rows() {
            let index = rows.index_of(site);
            rows.rows[index].figures.stale_lookups += 1;
        }
    }

    /// Moves the figures of the ending period to a list. `used_bytes` are in use; `None` is for scratch, of which
    /// only the peaks count. The next period begins with nothing in use, and the same site open.
    #[inline(always)]
    pub(crate) fn end_period(&self, used_bytes: Option<usize>, list: &mut Vec<SiteUsage>) {
        if IS_ON {
            // Before the lock is taken.
            list.reserve(MAX_SITES);
        }
        if let Some(mut rows) = self.rows() {
            rows.close(used_bytes.unwrap_or(0));
            rows.opened_at = 0;
            for row in &mut rows.rows {
                let empty = SiteUsage::of(row.site);
                let mut usage = mem::replace(row, empty);
                if usage == empty {
                    continue;
                }
                if used_bytes.is_none() {
                    usage.scratch_bytes = mem::take(&mut usage.figures.peak_bytes);
                    usage.figures.used_bytes = 0;
                }
                add_to(list, usage);
            }
        }
    }

    /// Returns the rows, if the feature is on.
    #[inline(always)]
    fn rows(&self) -> Option<MutexGuard<'_, Rows>> {
        if IS_ON { self.find_rows() } else { None }
    }

    fn find_rows(&self) -> Option<MutexGuard<'_, Rows>> {
        if self.0.get().is_none() {
            let mut rows = Rows::default();
            rows.rows.try_reserve_exact(MAX_SITES).ok()?;
            // Another thread may have been first, or a look-up by the allocator.
            drop(self.0.set(Mutex::new(rows)));
        }
        let rows = self.0.get()?.lock();
        Some(rows.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Rows {
    /// Returns the row of the open site. An arena without a look-up has none.
    fn open_row(&mut self) -> Option<&mut SiteUsage> {
        self.rows.get_mut(self.open)
    }

    fn open(&mut self, site: Site, used_bytes: usize) {
        if self.open_row().is_none_or(|row| row.site != site) {
            self.close(used_bytes);
            self.open = self.index_of(site);
        }
        self.rows[self.open].look_ups += 1;
    }

    /// Adds the bytes taken since the open site was opened to its row.
    fn close(&mut self, used_bytes: usize) {
        let opened_at = mem::replace(&mut self.opened_at, used_bytes);
        let most_bytes = mem::take(&mut self.peak_bytes).max(used_bytes);
        if let Some(row) = self.open_row() {
            // Wrapping, because it may have freed more than it allocated.
            let before = row.figures.used_bytes.wrapping_sub(opened_at);
            let own_peak = before.wrapping_add(most_bytes).cast_signed();
            let peak = own_peak.max(row.figures.peak_bytes.cast_signed());
            row.figures.peak_bytes = peak.cast_unsigned();
            row.figures.used_bytes = before.wrapping_add(used_bytes);
        }
    }

    /// Returns the row of a site, or the last row if there are too many sites.
    fn index_of(&mut self, site: Site) -> usize {
        let known = self.rows.iter().position(|row| row.site == site);
        known.unwrap_or_else(|| match self.rows.len() {
            MAX_SITES => MAX_SITES - 1,
            index => {
                let is_last = index == MAX_SITES - 1;
                let site = if is_last { Site::Others } else { site };
                self.rows.push(SiteUsage::of(site));
                index
            }
        })
    }
}

/// Returns a copy of a name that is never freed, because copied figures may refer to it at any time.
#[cfg(feature = "bevy")]
#[cold]
pub(crate) fn lasting(name: &str) -> &'static str {
    // One copy per name, however many worlds have such a system.
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().copied().find(|known| *known == name);
    known.unwrap_or_else(|| {
        let name = Box::leak(Box::from(name));
        names.push(name);
        name
    })
}
