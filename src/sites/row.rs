//! The figures of one site, in the table of one arena.
#![forbid(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::place::{AnyPlace, Place};
use super::{Site, SiteUsage};

/// The figures of one site. The owner of the arena alone writes them, so plain loads and stores are
/// enough; stale look-ups alone are counted by any thread.
// Of a size that is quick to multiply with.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Row {
    /// The key of the place, or 0 if the row is free.
    key: AtomicUsize,
    place: OnceLock<AnyPlace>,
    counts: Counts,
    /// What the site took; less than nothing, by wrapping, if it freed more, and while it is open.
    bytes: AtomicUsize,
    /// The most of them at once, as far as something was freed.
    peak_bytes: AtomicUsize,
    refusals: AtomicU32,
    stale_lookups: AtomicU32,
}

const _: () = assert!(size_of::<Row>() == 64);

impl Row {
    #[inline(always)]
    pub(super) fn has_key(&self, key: usize) -> bool {
        self.key.load(Relaxed) == key
    }

    /// Makes a free row that of a place, and returns whether it is now, or was before.
    pub(super) fn claim(&self, place: impl Place) -> bool {
        let is_free = || self.place.set(place.into()).is_ok();
        let is_it = self.has_key(place.key()) || is_free();
        if is_it {
            self.key.store(place.key(), Relaxed);
        }
        is_it
    }

    /// Adds what was counted while the site was open.
    #[inline(always)]
    pub(super) fn add_counts(&self, counts: u64) {
        self.counts.add(counts);
    }

    /// Notes that the site opens when so much is in use: what there is more when it closes is its own.
    #[inline(always)]
    pub(super) fn open_at(&self, used_bytes: usize) {
        let bytes = self.bytes.load(Relaxed).wrapping_sub(used_bytes);
        self.bytes.store(bytes, Relaxed);
    }

    /// Notes that the site closes when so much is in use.
    #[inline(always)]
    pub(super) fn close_at(&self, used_bytes: usize) {
        let bytes = self.bytes.load(Relaxed).wrapping_add(used_bytes);
        self.bytes.store(bytes, Relaxed);
    }

    /// Notes how much was in use while the site was open.
    pub(super) fn note_peak(&self, used_bytes: usize) {
        let own_bytes = self.bytes.load(Relaxed).wrapping_add(used_bytes);
        let most = signed_max(own_bytes, self.peak_bytes.load(Relaxed));
        self.peak_bytes.store(most, Relaxed);
    }

    pub(super) fn note_refusal(&self) {
        self.refusals
            .store(self.refusals.load(Relaxed) + 1, Relaxed);
    }

    /// Counts a stale look-up; any thread may.
    pub(super) fn note_stale(&self) {
        self.stale_lookups.fetch_add(1, Relaxed);
    }

    /// Takes the figures out, if there are any.
    ///
    /// The bytes may be less than nothing, by wrapping: another worker's may make up for it.
    pub(super) fn take(&self) -> Option<SiteUsage> {
        let (look_ups, allocations) = self.counts.both();
        let stale_lookups = self.stale_lookups.load(Relaxed);
        let used_bytes = self.bytes.load(Relaxed);
        if (look_ups, allocations, stale_lookups) == (0, 0, 0) && used_bytes == 0 {
            return None;
        }
        self.counts.replace(0);
        // Leases may be read while the arenas are swapped: what is counted meanwhile stays.
        self.stale_lookups.fetch_sub(stale_lookups, Relaxed);
        self.bytes.store(0, Relaxed);
        let peak_bytes = signed_max(used_bytes, self.peak_bytes.load(Relaxed));
        self.peak_bytes.store(0, Relaxed);
        let refusals = self.refusals.load(Relaxed);
        self.refusals.store(0, Relaxed);
        Some(SiteUsage {
            site: self.place.get().map_or(Site::Others, |&it| it.into()),
            look_ups,
            allocations,
            used_bytes,
            peak_bytes,
            scratch_bytes: 0,
            refusals,
            stale_lookups: stale_lookups.into(),
        })
    }
}

/// Returns the larger of two numbers that may be less than nothing, by wrapping.
fn signed_max(a: usize, b: usize) -> usize {
    a.cast_signed().max(b.cast_signed()).cast_unsigned()
}

/// Look-ups and allocations, which are added up in one go: 32 bits are enough for a frame.
#[derive(Debug, Default)]
pub(super) struct Counts(AtomicU64);

/// One look-up. It has the upper half: allocations are more frequent, and a small number is quicker
/// to add.
pub(super) const LOOK_UP: u64 = 1 << 32;

/// One allocation.
pub(super) const ALLOCATION: u64 = 1;

impl Counts {
    #[inline(always)]
    pub(super) fn add(&self, counts: u64) {
        // By wrapping: an overflow would take billions in one frame.
        self.0
            .store(self.0.load(Relaxed).wrapping_add(counts), Relaxed);
    }

    /// Begins again with these, and returns what there was.
    #[inline(always)]
    pub(super) fn replace(&self, counts: u64) -> u64 {
        let before = self.0.load(Relaxed);
        self.0.store(counts, Relaxed);
        before
    }

    /// Returns look-ups and allocations.
    fn both(&self) -> (u64, u64) {
        let counts = self.0.load(Relaxed);
        (counts / LOOK_UP, counts % LOOK_UP)
    }
}
