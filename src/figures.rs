//! All figures that are measured, declared once.
//!
//! A new figure is a field here, the code that the compiler then demands in this file, and a row of the
//! tables in `app/diagnostics.rs` and `app/recorder.rs`.
#![forbid(unsafe_code)]

/// The figures of one period: of all workers, of one worker, or of one line of code.
///
/// [`FrameUsage`](crate::FrameUsage), [`WorkerUsage`](crate::WorkerUsage) and
/// [`SiteUsage`](crate::SiteUsage) deref to it.
///
/// ```
/// use bevy_frame_arena::{Figures, FrameArenas};
///
/// let mut arenas = FrameArenas::default();
/// arenas.local().alloc([0_u64; 100]);
/// arenas.swap();
/// let of_all: Figures = arenas.usage().figures;
/// assert_eq!((of_all.used_bytes, of_all.refusals), (800, 0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct Figures {
    /// Bytes in use when the period ended, with the padding between them.
    pub used_bytes: usize,
    /// The sum of the workers' peaks: the most bytes that each had in use at once in the period. It
    /// exceeds `used_bytes` if boxes or lists were dropped before the period ended.
    pub peak_bytes: usize,
    /// Bytes of the blocks that the arenas held when the period ended: those of all workers, scratch and
    /// tasks, or of one worker.
    pub held_bytes: usize,
    /// Bytes of all blocks from the global allocator; 0 for a worker or a line of code.
    pub reserved_bytes: usize,
    /// Allocations that a worker's limit or the budget refused.
    pub refusals: u64,
    /// Look-ups of stale or foreign handles, by any method. A look-up with `get` of data that may be gone
    /// is not an error.
    pub stale_lookups: u64,
    /// Stale look-ups that panicked: `arenas[handle]`. Only these are warned about.
    pub stale_panics: u64,
}

impl Figures {
    /// Adds the figures of another worker, or of another part, in the same period.
    pub(crate) fn add(&mut self, other: &Self) {
        // Wrapping, because a site may have freed more than it allocated.
        self.combine(other, usize::wrapping_add);
    }

    /// Merges another period: the highest bytes of both, and the sums of the counts.
    #[cfg(feature = "bevy")]
    pub(crate) fn merge(&mut self, other: &Self) {
        self.combine(other, usize::max);
    }

    /// Combines the bytes, and adds the counts.
    fn combine(&mut self, other: &Self, bytes: fn(usize, usize) -> usize) {
        *self = Self {
            used_bytes: bytes(self.used_bytes, other.used_bytes),
            peak_bytes: bytes(self.peak_bytes, other.peak_bytes),
            held_bytes: bytes(self.held_bytes, other.held_bytes),
            reserved_bytes: bytes(self.reserved_bytes, other.reserved_bytes),
            refusals: self.refusals + other.refusals,
            stale_lookups: self.stale_lookups + other.stale_lookups,
            stale_panics: self.stale_panics + other.stale_panics,
        };
    }

    /// Adds the memory of a worker: the figures that are measured for each worker.
    #[inline]
    pub(crate) fn add_memory(&mut self, worker: &Self) {
        self.used_bytes += worker.used_bytes;
        self.peak_bytes += worker.peak_bytes;
        self.held_bytes += worker.held_bytes;
    }

    /// Returns the counts.
    #[cfg(feature = "bevy")]
    pub(crate) fn counts(&self) -> [u64; 3] {
        [self.refusals, self.stale_lookups, self.stale_panics]
    }

    /// Returns these bytes with other counts.
    #[cfg(feature = "bevy")]
    pub(crate) fn with_counts(self, [refusals, stale_lookups, stale_panics]: [u64; 3]) -> Self {
        Self {
            refusals,
            stale_lookups,
            stale_panics,
            ..self
        }
    }
}
