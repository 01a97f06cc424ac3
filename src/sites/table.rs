//! The sites of one arena, counted by the thread that owns it.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::place::{Line, Place};
use super::row::{ALLOCATION, Counts, LOOK_UP, Row};
use super::{SiteList, SiteUsage};

/// How many rows there are: as many as `known` has bits.
const ROWS: usize = u64::BITS as usize;

/// The row of all sites for which there was no other.
const OTHERS: usize = 0;

/// From the mark of a row to that of the next one.
const ROW_STEP: usize = align_of::<usize>();

/// How many rows may be tried for a site. So a full table is not searched from end to end.
const TRIES: usize = 8;

/// The sites that asked for one arena, in this period; or those that looked stale handles up.
///
/// One site is open: the one that asked last. As long as it asks again, there is nothing to do but to
/// count. The bytes it took are known when another one opens, or the period ends, from what is in use
/// then. A site keeps its row when the period ends, so that a game that is warm finds each at once.
///
/// All is atomic so that the swap reads it through a shared reference; the owner alone writes
/// meanwhile, so plain loads and stores are enough.
#[derive(Debug)]
pub(crate) struct SiteTable {
    /// The key of the open site.
    open_key: AtomicUsize,
    /// The mark of its row. A key that has the first row it could have is a mark, too, which saves the
    /// arithmetic.
    open: AtomicUsize,
    /// What it asked for since it opened.
    counts: Counts,
    /// The most bytes in use, as far as something was freed since it opened. It may be of before, if
    /// it is no more than what was in use when the site opened.
    peak_bytes: AtomicUsize,
    /// A bit for each row that has a site.
    known: AtomicU64,
    rows: [Row; ROWS],
}

impl Default for SiteTable {
    fn default() -> Self {
        Self {
            open_key: AtomicUsize::new(0),
            open: AtomicUsize::new(OTHERS * ROW_STEP),
            counts: Counts::default(),
            peak_bytes: AtomicUsize::new(0),
            known: AtomicU64::new(0),
            rows: std::array::from_fn(|_| Row::default()),
        }
    }
}

impl SiteTable {
    /// Counts a look-up by a line, if it is the one that asked last.
    #[inline(always)]
    pub(crate) fn asks_again(&self, line: Line) -> bool {
        let is_open = self.is_open(line);
        if is_open {
            self.counts.add(LOOK_UP);
        }
        is_open
    }

    /// Counts a look-up by another line: what was taken so far was for the one before, and what is
    /// taken from now on is for this one.
    #[inline(always)]
    pub(crate) fn open(&self, line: Line, used_bytes: impl FnOnce() -> usize) -> bool {
        let used_bytes = used_bytes();
        let row = &self.rows[row_at(line.key())];
        let was_freed = self.peak_bytes.load(Relaxed) > used_bytes;
        if !row.has_key(line.key()) || was_freed {
            return false;
        }
        self.close(used_bytes, LOOK_UP);
        row.open_at(used_bytes);
        self.set_open(line, line.key());
        true
    }

    /// Notes that the arena was taken as scratch; it is empty.
    #[inline(always)]
    pub(crate) fn take_scratch(&self, place: impl Place) {
        if self.is_open(place) {
            self.counts.add(LOOK_UP);
        } else {
            self.open_slowly(place, 0);
        }
    }

    /// Counts an allocation.
    #[inline(always)]
    pub(crate) fn note_allocation(&self) {
        self.counts.add(ALLOCATION);
    }

    /// Notes how much is in use, before some of it is freed.
    #[inline(always)]
    pub(crate) fn note_peak(&self, used_bytes: impl FnOnce() -> usize) {
        let used_bytes = used_bytes();
        if used_bytes > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(used_bytes, Relaxed);
        }
    }

    /// Notes that a limit refused memory to the site that asked last.
    #[cold]
    pub(crate) fn note_refusal(&self) {
        self.open_row().note_refusal();
    }

    /// Notes that a line looked a handle up that is stale.
    ///
    /// Any number of threads may do this at once. Two that come with a new site may take a row each,
    /// and the list adds them up.
    #[cold]
    pub(crate) fn note_stale(&self, line: Line) {
        self.rows[self.row_of(line)].note_stale();
    }

    /// Moves the figures of the period that ends to a list.
    pub(crate) fn end_period(&self, used_bytes: usize, list: &mut SiteList) {
        self.note_peak_of_open();
        self.close(used_bytes, 0);
        // The next period begins with nothing in use, and with the same site open.
        self.for_each_taken(|site| list.add(site));
    }

    /// Moves the figures of a period of scratch to a list.
    pub(crate) fn end_scratch_period(&self, list: &mut SiteList) {
        self.note_peak_of_open();
        self.close(0, 0);
        self.for_each_taken(|site| {
            list.add(SiteUsage {
                used_bytes: 0,
                peak_bytes: 0,
                scratch_bytes: site.peak_bytes,
                ..site
            });
        });
    }

    #[inline(always)]
    fn is_open(&self, place: impl Place) -> bool {
        self.open_key.load(Relaxed) == place.key()
    }

    #[inline(always)]
    fn set_open(&self, place: impl Place, mark: usize) {
        self.open_key.store(place.key(), Relaxed);
        self.open.store(mark, Relaxed);
    }

    /// Opens a site that is new, or that does not have the first row it could have, or that comes when
    /// something was freed.
    #[cold]
    #[inline(never)]
    pub(crate) fn open_slowly(&self, place: impl Place, used_bytes: usize) {
        let index = self.row_of(place);
        self.note_peak_of_open();
        self.close(used_bytes, LOOK_UP);
        self.rows[index].open_at(used_bytes);
        self.set_open(place, index * ROW_STEP);
    }

    #[inline(always)]
    fn open_row(&self) -> &Row {
        &self.rows[row_at(self.open.load(Relaxed))]
    }

    /// Gives the open site what it took, and begins to count for the next one.
    #[inline(always)]
    fn close(&self, used_bytes: usize, counts: u64) {
        let row = self.open_row();
        row.add_counts(self.counts.replace(counts));
        row.close_at(used_bytes);
    }

    /// Gives the open site the most that was in use, as far as something was freed: otherwise it is
    /// what is in use when it closes.
    fn note_peak_of_open(&self) {
        let row = self.open_row();
        row.note_peak(self.peak_bytes.load(Relaxed));
        self.peak_bytes.store(0, Relaxed);
    }

    /// Returns the row of a place; that of others if there is none left.
    fn row_of(&self, place: impl Place) -> usize {
        let first = row_at(place.key());
        let mut tried = (first..first + TRIES).map(|index| index % ROWS);
        let found = tried.find(|&index| index != OTHERS && self.rows[index].claim(place));
        let index = found.unwrap_or(OTHERS);
        self.known.fetch_or(1 << index, Relaxed);
        index
    }

    /// Takes the figures out of all rows that have any.
    fn for_each_taken(&self, mut work: impl FnMut(SiteUsage)) {
        let mut left = self.known.load(Relaxed);
        while left != 0 {
            let index = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(site) = self.rows[index].take() {
                work(site);
            }
        }
    }
}

/// Returns the row of a mark, or the one to try first for a key. Locations are of three words, and lie
/// side by side.
#[inline(always)]
fn row_at(mark: usize) -> usize {
    (mark / ROW_STEP) % ROWS
}
