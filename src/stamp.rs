//! Stamps: numbers that name one use of one generation, and are never given twice.
#![forbid(unsafe_code)]

#[cfg_attr(
    not(any(feature = "bevy", test)),
    expect(dead_code, reason = "paces are made by an app")
)]
mod names;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use self::names::{RunName, name_of_run};

/// Names one use of one generation, or of one standalone arena.
pub(crate) type Stamp = u64;

/// The stamp of a handle that was never set. No generation and no arena ever has it.
pub(crate) const UNSET: Stamp = 0;

/// The stamp of a generation that is not in use. No handle ever has it: nobody allocates there.
pub(crate) const SPARE: Stamp = Stamp::MAX;

/// Stamps that a run takes from its counter at a time.
const RUN_LENGTH: u64 = 1 << 32;

/// Stamps at the start of a run that are never given, so that the stamps of up to this many
/// frames before a run's first one are no other run's, nor [`UNSET`].
const MARGIN: u64 = 3;

/// Stamps that a standalone arena takes at a time; a power of two.
const BLOCK_LENGTH: u64 = 1 << 16;

/// The first stamp of standalone arenas; those of runs are lower.
const FIRST_BLOCK: Stamp = 1 << 63;

/// The first stamp of scratch; those of standalone arenas are lower.
const FIRST_SCRATCH: Stamp = FIRST_BLOCK + (1 << 62);

/// The first stamp of task arenas; those of scratch are lower.
const FIRST_TASK: Stamp = FIRST_SCRATCH + (1 << 61);

/// The first stamp of the first run.
const FIRST_RUN: Stamp = UNSET + 1;

/// The process-wide counter of runs. [`UNSET`] is never given.
static NEXT_RUN: AtomicU64 = AtomicU64::new(FIRST_RUN);

/// The process-wide counter of blocks, always a multiple of [`BLOCK_LENGTH`].
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(FIRST_BLOCK);

/// The process-wide counter of blocks for scratch, always a multiple of [`BLOCK_LENGTH`].
static NEXT_SCRATCH: AtomicU64 = AtomicU64::new(FIRST_SCRATCH);

/// The process-wide counter of [`pool`]: zero is never given.
static NEXT_POOL: AtomicU64 = AtomicU64::new(1);

/// The process-wide counter of blocks for task arenas, always a multiple of [`BLOCK_LENGTH`].
static NEXT_TASK: AtomicU64 = AtomicU64::new(FIRST_TASK);

/// Takes `count` stamps below `limit` and returns the first.
fn take(counter: &AtomicU64, count: u64, limit: Stamp) -> Stamp {
    // Uniqueness needs the atomicity of the update alone, so relaxed is enough.
    counter
        .try_update(Relaxed, Relaxed, |next| {
            next.checked_add(count).filter(|&sum| sum <= limit)
        })
        .expect("2^31 `FrameArenas`, 2^45 lone arenas and 2^40 pools outlast any process")
}

/// Returns a stamp for a standalone arena.
///
/// The arena owns those that [`after`] gives from it on, too.
pub(crate) fn standalone() -> Stamp {
    take(&NEXT_BLOCK, BLOCK_LENGTH, FIRST_SCRATCH)
}

/// Returns a stamp for an arena of scratch, as [`standalone`] does for others.
pub(crate) fn scratch() -> Stamp {
    take(&NEXT_SCRATCH, BLOCK_LENGTH, FIRST_TASK)
}

/// Returns a stamp for a task arena, as [`standalone`] does for others.
pub(crate) fn task() -> Stamp {
    // The largest number itself, `SPARE`, is never given.
    take(&NEXT_TASK, BLOCK_LENGTH, Stamp::MAX)
}

/// Returns a number below `limit` for a pool, which is no stamp, and never reused.
pub(crate) fn pool(limit: u64) -> u64 {
    take(&NEXT_POOL, 1, limit)
}

/// Whether a standalone arena has, or had, this stamp.
pub(crate) fn is_standalone(stamp: Stamp) -> bool {
    (FIRST_BLOCK..FIRST_SCRATCH).contains(&stamp)
}

/// Whether an arena of scratch has, or had, this stamp.
pub(crate) fn is_scratch(stamp: Stamp) -> bool {
    (FIRST_SCRATCH..FIRST_TASK).contains(&stamp)
}

/// Whether a task arena has, or had, this stamp.
pub(crate) fn is_task(stamp: Stamp) -> bool {
    (FIRST_TASK..SPARE).contains(&stamp)
}

/// Returns the number of the frame that a run gave `stamp` to, counted from the run's first.
pub(crate) fn frame(stamp: Stamp) -> u64 {
    (stamp.wrapping_sub(FIRST_RUN) % RUN_LENGTH).saturating_sub(MARGIN)
}

/// Whether one run gave both stamps, so that they name frames of the same `FrameArenas`.
pub(crate) fn is_same_run(a: Stamp, b: Stamp) -> bool {
    let is_of_a_run = |stamp| (FIRST_RUN..FIRST_BLOCK).contains(&stamp);
    let run = |stamp| (stamp - FIRST_RUN) / RUN_LENGTH;
    is_of_a_run(a) && is_of_a_run(b) && run(a) == run(b)
}

/// Returns how many stamps before `now` the same run gave `stamp`, if it did.
pub(crate) fn age(stamp: Stamp, now: Stamp) -> Option<u64> {
    if is_same_run(stamp, now) {
        now.checked_sub(stamp)
    } else {
        None
    }
}

/// Returns the stamp that follows one of [`standalone`], [`scratch`], [`task`] or of this function;
/// each may be passed once.
#[inline]
pub(crate) fn after(stamp: Stamp) -> Stamp {
    next_in_block(stamp).unwrap_or_else(|| in_another_block(stamp))
}

/// Returns the first stamp of a new block, for the kind of arena that has `stamp`.
#[cold]
pub(crate) fn in_another_block(stamp: Stamp) -> Stamp {
    if is_task(stamp) {
        task()
    } else if is_scratch(stamp) {
        scratch()
    } else {
        standalone()
    }
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
            last_given: first + MARGIN - 1,
        }
    }

    /// Gives the next stamp.
    pub(crate) fn advance(&mut self) -> Stamp {
        if self.last_given - self.first == RUN_LENGTH - 1 {
            *self = Self::new();
        } else {
            self.last_given += 1;
        }
        self.last_given
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
        let later = a.advance();
        assert_eq!(age(given, later), Some(1));
        assert_eq!(age(later, given), None);
        assert_eq!((frame(given), frame(later)), (0, 1));
        for foreign in [b.last_given, alone, UNSET, SPARE] {
            assert_eq!(age(foreign, later), None);
            assert_eq!(age(later, foreign), None);
        }
        assert!(is_standalone(alone) && !is_standalone(given) && !is_standalone(SPARE));
    }

    #[test]
    fn the_frames_before_a_runs_first_have_the_stamps_of_nobody() {
        let mut before = StampRun::new();
        before.last_given = before.first + RUN_LENGTH - 1;
        let mut run = StampRun::new();
        let first = run.advance();
        // A run ends with its last stamp, given or not.
        assert!(is_same_run(run.first, run.first + RUN_LENGTH - 1));
        assert!(!is_same_run(run.first, run.first - 1));
        assert!(!is_same_run(run.first, run.first + RUN_LENGTH));
        // Data lives for three frames at most, so this is older than any that is held.
        assert!(first - before.last_given > 3);
        const { assert!(FIRST_RUN + MARGIN - UNSET > 3) };
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
    fn scratch_is_told_from_standalone_arenas_in_all_its_blocks() {
        let alone = [standalone(), in_another_block(standalone())];
        let first = scratch();
        let last = first + BLOCK_LENGTH - 1;
        for stamp in [first, last, after(last), in_another_block(first)] {
            assert!(is_scratch(stamp) && !is_standalone(stamp));
            assert!(!alone.contains(&stamp));
        }
        assert_ne!(after(last), first);
        for stamp in alone.into_iter().chain([FIRST_RUN, UNSET, SPARE]) {
            assert!(!is_scratch(stamp));
        }
    }

    #[test]
    fn task_arenas_are_told_from_all_others() {
        let first = task();
        let last = first + BLOCK_LENGTH - 1;
        for stamp in [first, last, after(last), in_another_block(first)] {
            assert!(is_task(stamp) && !is_scratch(stamp) && !is_standalone(stamp));
        }
        for stamp in [standalone(), scratch(), FIRST_RUN, UNSET, SPARE] {
            assert!(!is_task(stamp));
        }
    }

    #[test]
    fn an_exhausted_run_continues_with_fresh_stamps() {
        let mut run = StampRun::new();
        let other = StampRun::new();
        run.last_given = run.first + RUN_LENGTH - 1;
        let last = run.last_given;
        let next = run.advance();
        assert!(next > other.last_given + RUN_LENGTH - 1);
        assert_eq!(age(last, next), None);
        assert_eq!(frame(next), 0);
    }
}
