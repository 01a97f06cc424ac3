//! Sites: which line of the game, or which system, asked for memory.
//!
//! Only the feature `sites` counts. Without it, [`IS_ON`] is false: every method returns at once, a
//! table holds nothing, and nothing of this is on the path of an allocation.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::figures::Figures;

/// Whether sites are counted.
pub(crate) const IS_ON: bool = cfg!(feature = "sites");

/// Sites that one arena can tell apart; all others are one.
const MAX_SITES: usize = 64;

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

    /// Returns the site of a system. `known` keeps it from the first call on.
    #[cfg(feature = "bevy")]
    #[inline(always)]
    pub(crate) fn of_system(name: &str, known: &mut Option<&'static str>) -> Self {
        if !IS_ON {
            return Self::Others;
        }
        Self::System(known.get_or_insert_with(|| lasting(name)))
    }
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

/// The figures of one site in a frame: see [`FrameUsage::sites`](crate::FrameUsage::sites). It
/// derefs to [`Figures`].
///
/// - `used_bytes` is what a worker's use grew by between this look-up and the worker's next one, or
///   the end of the frame. The figures of all sites add up to those of the frame. A site that frees
///   more than it allocates is reported as 0, so the sum can exceed them.
/// - `peak_bytes` includes what was freed again before the next look-up.
/// - If a worker runs another system while it waits in this one, what this one allocates afterwards
///   counts for the other one's site, up to the next look-up here.
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
#[non_exhaustive]
pub struct SiteUsage {
    /// The line, or the system.
    pub site: Site,
    /// How often the arena was asked for.
    pub look_ups: u64,
    /// Bytes of [scratch](crate::Scratch): the most that a guard taken here had in use at once; of each
    /// worker's arenas the highest figure, added up.
    pub scratch_bytes: usize,
    /// The figures of the frame's own memory.
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

    fn is_empty(&self) -> bool {
        *self == Self::of(self.site)
    }
}

impl Deref for SiteUsage {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

/// Adds the figures of a site to those that other workers have of it.
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

/// Sorts a list to which all workers have been added: those that took most come first.
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

/// The sites that asked for one arena in this period, or that looked stale handles up.
///
/// One site is open: the one that asked last. The bytes it took are known when another one opens, or
/// when the period ends. The owner of the arena and the swap lock it in turn, so nobody waits.
///
/// What the global allocator has no memory for is not recorded.
#[derive(Debug, Default)]
pub(crate) struct SiteTable(OnceLock<Vec<Mutex<Rows>>>);

#[derive(Debug, Default)]
struct Rows {
    /// Sites keep their row when a period ends: a warm game allocates nothing here.
    rows: Vec<SiteUsage>,
    open: usize,
    /// The bytes that were in use when it opened.
    opened_at: usize,
    /// The most bytes in use since then, as far as something was freed.
    peak_bytes: usize,
}

impl SiteTable {
    /// Counts a look-up: what is taken from now on is for this site.
    #[inline(always)]
    pub(crate) fn open(&self, site: Site, used_bytes: impl FnOnce() -> usize) {
        if let Some(mut rows) = self.rows() {
            rows.open(site, used_bytes());
        }
    }

    /// Notes how much is in use, before some of it is freed.
    #[inline(always)]
    pub(crate) fn note_peak(&self, used_bytes: impl FnOnce() -> usize) {
        if let Some(mut rows) = self.rows() {
            rows.peak_bytes = rows.peak_bytes.max(used_bytes());
        }
    }

    /// Notes that a limit refused memory to the open site.
    #[inline(always)]
    pub(crate) fn note_refusal(&self) {
        // An arena that was not asked for by a line has no site.
        if let Some(mut rows) = self.rows()
            && let open = rows.open
            && let Some(row) = rows.rows.get_mut(open)
        {
            row.figures.refusals += 1;
        }
    }

    /// Notes that a line looked a stale handle up. Any number of threads may do this at once.
    #[inline(always)]
    pub(crate) fn note_stale(&self, site: Site) {
        if let Some(mut rows) = self.rows()
            && let Some(index) = rows.row_of(site)
        {
            rows.rows[index].figures.stale_lookups += 1;
        }
    }

    /// Moves the figures of the period that ends to a list.
    #[inline(always)]
    pub(crate) fn end_period(&self, used_bytes: usize, list: &mut Vec<SiteUsage>) {
        if let Some(mut rows) = self.rows() {
            rows.take(used_bytes, |usage| add_to(list, usage));
        }
    }

    /// Moves the figures of a period of scratch to a list.
    #[inline(always)]
    pub(crate) fn end_scratch_period(&self, list: &mut Vec<SiteUsage>) {
        if let Some(mut rows) = self.rows() {
            rows.take(0, |usage| {
                let scratch_bytes = usage.peak_bytes;
                let figures = Figures {
                    used_bytes: 0,
                    peak_bytes: 0,
                    ..usage.figures
                };
                add_to(
                    list,
                    SiteUsage {
                        scratch_bytes,
                        figures,
                        ..usage
                    },
                );
            });
        }
    }

    /// Returns the rows, if the feature is on.
    #[inline(always)]
    fn rows(&self) -> Option<MutexGuard<'_, Rows>> {
        if IS_ON { self.find_rows() } else { None }
    }

    fn find_rows(&self) -> Option<MutexGuard<'_, Rows>> {
        if self.0.get().is_none() {
            let mut table = Vec::new();
            table.try_reserve_exact(1).ok()?;
            table.push(Mutex::default());
            // Another thread may have been first.
            drop(self.0.set(table));
        }
        let rows = self.0.get()?.first()?;
        Some(rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Rows {
    fn open(&mut self, site: Site, used_bytes: usize) {
        let is_open = self.rows.get(self.open).is_some_and(|it| it.site == site);
        if !is_open {
            self.close(used_bytes);
            self.open = self.row_of(site).unwrap_or(usize::MAX);
        }
        if let Some(row) = self.rows.get_mut(self.open) {
            row.look_ups += 1;
        }
    }

    /// Gives the open site what it took.
    fn close(&mut self, used_bytes: usize) {
        let most_bytes = self.peak_bytes.max(used_bytes);
        if let Some(row) = self.rows.get_mut(self.open) {
            // By wrapping: it may have freed more than it took.
            let before = row.figures.used_bytes.wrapping_sub(self.opened_at);
            let own_peak = before.wrapping_add(most_bytes).cast_signed();
            let peak = own_peak.max(row.figures.peak_bytes.cast_signed());
            row.figures.peak_bytes = peak.cast_unsigned();
            row.figures.used_bytes = before.wrapping_add(used_bytes);
        }
        self.opened_at = used_bytes;
        self.peak_bytes = 0;
    }

    fn row_of(&mut self, site: Site) -> Option<usize> {
        let known = |site| self.rows.iter().position(|row| row.site == site);
        let is_full = self.rows.len() >= MAX_SITES - 1;
        let site = match known(site) {
            Some(index) => return Some(index),
            None if is_full => Site::Others,
            None => site,
        };
        known(site).or_else(|| {
            self.rows.try_reserve(1).ok()?;
            self.rows.push(SiteUsage::of(site));
            Some(self.rows.len() - 1)
        })
    }

    /// Takes the figures out. The next period begins with nothing in use, and the same site open.
    fn take(&mut self, used_bytes: usize, mut add: impl FnMut(SiteUsage)) {
        self.close(used_bytes);
        self.opened_at = 0;
        for row in &mut self.rows {
            if !row.is_empty() {
                add(*row);
                *row = SiteUsage::of(row.site);
            }
        }
    }
}

/// Returns a copy of a name that stays for ever: figures that a game has copied name it.
#[cfg(feature = "bevy")]
#[cold]
fn lasting(name: &str) -> &'static str {
    // One for each name, however many worlds have such a system.
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().copied().find(|known| *known == name);
    known.unwrap_or_else(|| {
        let name = Box::leak(Box::from(name));
        names.push(name);
        name
    })
}
