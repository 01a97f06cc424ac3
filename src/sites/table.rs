//! The sites of one arena, counted by the thread that owns it.
#![forbid(unsafe_code)]

use std::panic::Location;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::{SiteList, SiteUsage};

/// How many rows there are; a power of two.
const ROWS: usize = 64;

/// The row of all sites for which there was no other.
const OTHERS: usize = 0;

/// How many rows may be tried for a site. So a full table is not searched from end to end.
const TRIES: usize = 8;

/// The sites that asked for one arena, in this period; or those that looked stale handles up.
///
/// A site keeps its row when the period ends, so that a game that is warm finds each at once. All is
/// atomic so that the swap reads it through a shared reference; the owner alone writes meanwhile, so
/// plain loads and stores are enough.
#[derive(Debug)]
pub(crate) struct SiteTable {
    /// The row of the site that asked last; before that, any: nothing was taken yet.
    open: AtomicUsize,
    /// The bytes in use when it asked.
    used_before: AtomicUsize,
    rows: [Row; ROWS],
}

// Of a size that is quick to multiply with.
#[derive(Debug)]
#[repr(align(64))]
struct Row {
    /// The address of the location, or 0 if the row is free.
    key: AtomicUsize,
    location: OnceLock<&'static Location<'static>>,
    look_ups: AtomicUsize,
    /// What the sites took; less than nothing, by wrapping, if they freed more.
    bytes: AtomicUsize,
    refusals: AtomicU32,
    stale_lookups: AtomicU64,
}

impl Default for SiteTable {
    fn default() -> Self {
        Self {
            open: AtomicUsize::new(OTHERS),
            used_before: AtomicUsize::new(0),
            rows: [const { Row::free() }; ROWS],
        }
    }
}

impl SiteTable {
    /// Notes that the caller asked for the arena: what was taken since the last time was for whoever
    /// asked then, and what is taken from now on is for the caller.
    #[inline]
    #[track_caller]
    pub(crate) fn look_up(&self, used_bytes: impl FnOnce() -> usize) {
        let index = self.row_of(Location::caller());
        self.close(used_bytes());
        self.open(index);
    }

    /// Notes that the caller took the arena as scratch.
    #[inline]
    #[track_caller]
    pub(crate) fn take_scratch(&self) {
        self.open(self.row_of(Location::caller()));
    }

    /// Notes how much scratch was in use, for the site that took it.
    #[inline]
    pub(crate) fn note_scratch(&self, bytes: impl FnOnce() -> usize) {
        let most = &self.open_row().bytes;
        most.store(most.load(Relaxed).max(bytes()), Relaxed);
    }

    /// Notes that a limit refused memory to the site that asked last.
    #[cold]
    pub(crate) fn note_refusal(&self) {
        let refusals = &self.open_row().refusals;
        refusals.store(refusals.load(Relaxed) + 1, Relaxed);
    }

    /// Notes that the caller looked a handle up that is stale.
    ///
    /// Any number of threads may do this at once. Two that come with a new site may take a row each,
    /// and the list adds them up.
    #[cold]
    #[track_caller]
    pub(crate) fn note_stale(&self) {
        let row = &self.rows[self.row_of(Location::caller())];
        row.stale_lookups.fetch_add(1, Relaxed);
    }

    /// Moves the figures of the period that ends to a list.
    pub(crate) fn end_period(&self, used_bytes: usize, list: &mut SiteList) {
        self.close(used_bytes);
        self.used_before.store(0, Relaxed);
        let rows = self.rows.iter().filter_map(Row::take);
        list.extend(rows.map(|(site, used_bytes)| SiteUsage { used_bytes, ..site }));
    }

    /// Moves the figures of a period of scratch to a list.
    pub(crate) fn end_scratch_period(&self, list: &mut SiteList) {
        let rows = self.rows.iter().filter_map(Row::take);
        list.extend(rows.map(|(site, scratch_bytes)| SiteUsage {
            scratch_bytes,
            ..site
        }));
    }

    #[inline]
    fn open(&self, index: usize) {
        add(&self.rows[index % ROWS].look_ups, 1);
        self.open.store(index, Relaxed);
    }

    #[inline]
    fn open_row(&self) -> &Row {
        &self.rows[self.open.load(Relaxed) % ROWS]
    }

    /// Counts what was taken since the last look-up.
    #[inline]
    fn close(&self, used_bytes: usize) {
        let taken = used_bytes.wrapping_sub(self.used_before.load(Relaxed));
        add(&self.open_row().bytes, taken);
        self.used_before.store(used_bytes, Relaxed);
    }

    #[inline]
    fn row_of(&self, site: &'static Location<'static>) -> usize {
        let key = ptr::from_ref(site).addr();
        let first = first_row(key);
        if self.rows[first].key.load(Relaxed) == key {
            first
        } else {
            self.find_row(site)
        }
    }

    #[cold]
    #[inline(never)]
    fn find_row(&self, site: &'static Location<'static>) -> usize {
        let key = ptr::from_ref(site).addr();
        let tried = (0..TRIES).map(|step| (first_row(key) + step) % ROWS);
        let mut suitable = tried.filter(|&index| {
            let row = &self.rows[index];
            index != OTHERS && (row.key.load(Relaxed) == key || row.location.set(site).is_ok())
        });
        let index = suitable.next().unwrap_or(OTHERS);
        if index != OTHERS {
            self.rows[index].key.store(key, Relaxed);
        }
        index
    }
}

impl Row {
    const fn free() -> Self {
        Self {
            key: AtomicUsize::new(0),
            location: OnceLock::new(),
            look_ups: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            refusals: AtomicU32::new(0),
            stale_lookups: AtomicU64::new(0),
        }
    }

    /// Takes the figures out, if there are any: the site, and the bytes.
    fn take(&self) -> Option<(SiteUsage, usize)> {
        let look_ups = self.look_ups.load(Relaxed) as u64;
        let stale_lookups = self.stale_lookups.load(Relaxed);
        if look_ups == 0 && stale_lookups == 0 {
            return None;
        }
        self.look_ups.store(0, Relaxed);
        // Leases may be read while the arenas are swapped: what is counted meanwhile stays.
        self.stale_lookups.fetch_sub(stale_lookups, Relaxed);
        let bytes = self.bytes.load(Relaxed);
        self.bytes.store(0, Relaxed);
        let refusals = self.refusals.load(Relaxed);
        self.refusals.store(0, Relaxed);
        let location = self.location.get();
        let site = SiteUsage {
            file: location.map_or("", |it| it.file()),
            line: location.map_or(0, |it| it.line()),
            look_ups,
            used_bytes: 0,
            scratch_bytes: 0,
            refusals,
            stale_lookups,
        };
        Some((site, bytes))
    }
}

/// Adds to a number that nobody else writes.
#[inline]
fn add(number: &AtomicUsize, more: usize) {
    number.store(number.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Returns the row to try first. Locations are of three words, and lie side by side.
#[inline]
fn first_row(key: usize) -> usize {
    (key / align_of::<Location>()) % ROWS
}
