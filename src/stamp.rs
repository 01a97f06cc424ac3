//! Stamps: numbers that name one use of one generation, and are never given twice.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Names one use of one generation, or of one standalone arena.
pub(crate) type Stamp = u64;

/// The stamp of nothing: of a generation that is not in use, and of a handle that was never set.
pub(crate) const NONE: Stamp = 0;

/// The first stamps of a run are never given, so that the ages of its early periods do not reach
/// into another run.
const NEVER_GIVEN: u64 = 8;

/// Stamps that a run takes from its counter at a time.
const RUN_LENGTH: u64 = 1 << 32;

/// Stamps that a standalone arena takes at a time; a power of two.
const BLOCK_LENGTH: u64 = 1 << 16;

/// The first stamp of standastandalone arenas; those of runs are lower.
const FIRST_BLOCK: Stamp = 1 << 63;

/// The process-wide counter of runs. Zero is never given: it is the stamp of nothing.
static NEXT_RUN: AtomicU64 = AtomicU64::new(NONE + 1);

/// The process-wide counter of blocks, always a multiple of [`BLOCK_LENGTH`].
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(FIRST_BLOCK);

/// Takes `count` stamps below `limit` and returns the first.
fn take(counter: &AtomicU64, count: u64, limit: Stamp) -> Stamp {
    // Uniqueness needs the atomicity of the update alone, so relaxed is enough.
    counter
        .try_update(Relaxed, Relaxed, |next| {
            next.checked_add(count).filter(|&sum| sum <= limit)
        })
        .expect("2^31 `FrameArenas` and 2^47 standalone arenas outlast any process")
}

/// Returns a stamp for a standalone arena.
///
/// The arena owns those that [`after`] gives from it on, too.
pub(crate) fn standalone() -> Stamp {
    take(&NEXT_BLOCK, BLOCK_LENGTH, Stamp::MAX)
}

/// Returns the stamp that follows one of [`standalone`] or of this function; each may be passed once.
pub(crate) fn after(stamp: Stamp) -> Stamp {
    next_in_block(stamp).unwrap_or_else(standalone)
}

/// Returns the stamp that follows, unless that takes another block. No other thread is asked.
#[inline]
pub(crate) fn next_in_block(stamp: Stamp) -> Option<Stamp> {
    let next = stamp.wrapping_add(1);
    (!next.is_multiple_of(BLOCK_LENGTH)).then_some(next)
}

/// Consecutive stamps for the generations of one `FrameArenas`.
///
/// As they are consecutive, the difference of two of them is an age in frames.
#[derive(Debug)]
pub(crate) struct StampRun {
    first: Stamp,
    last_given: Stamp,
}

impl StampRun {
    /// Starts a run.
    pub(crate) fn new() -> Self {
        let first = take(&NEXT_RUN, RUN_LENGTH, FIRST_BLOCK);
        Self {
            first,
            last_given: first + NEVER_GIVEN - 1,
        }
    }

    /// Gives the next stamp.
    pub(crate) fn advance(&mut self) -> Stamp {
        if self.last_given - self.first == RUN_LENGTH - 1 {
            *self = Self::new();
        }
        self.last_given += 1;
        self.last_given
    }

    /// Returns how many stamps ago this run gave `stamp`, if it did.
    pub(crate) fn age(&self, stamp: Stamp) -> Option<u64> {
        (self.first + NEVER_GIVEN..=self.last_given)
            .contains(&stamp)
            .then(|| self.last_given - stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_never_overlap() {
        let mut a = StampRun::new();
        let b = StampRun::new();
        let alone = standalone();
        let given = a.advance();
        assert_eq!(a.age(given), Some(0));
        assert_eq!(a.age(b.last_given), None);
        assert_eq!(a.age(alone), None);
        assert_eq!(a.age(0), None);
    }

    #[test]
    fn blocks_never_overlap() {
        let first = standalone();
        let other = standalone();
        let mut stamp = first;
        for _ in 1..BLOCK_LENGTH {
            stamp = after(stamp);
            assert_ne!(stamp, other);
        }
        assert_eq!(stamp, first + BLOCK_LENGTH - 1);
        assert!(after(stamp) >= other + BLOCK_LENGTH);
    }

    #[test]
    fn an_exhausted_run_continues_with_fresh_stamps() {
        let mut run = StampRun::new();
        let other = StampRun::new();
        run.last_given = run.first + RUN_LENGTH - 1;
        let last = run.last_given;
        let next = run.advance();
        assert!(next > other.last_given + RUN_LENGTH - 1);
        assert_eq!(run.age(last), None);
    }
}
