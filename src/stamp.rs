//! Stamps: unique numbers, never reused, for each use of a generation or an arena.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::settings::LivesFor;

/// Identifies one use of one generation, or of one standalone arena.
pub(crate) type Stamp = u64;

/// The stamp of a handle that was never set. No generation and no arena ever has it.
pub(crate) const UNSET: Stamp = 0;

/// The stamp of a generation that is not in use. No handle ever has it, because nothing is allocated there.
pub(crate) const SPARE: Stamp = Stamp::MAX;

// An unset handle must not resolve in a spare generation.
const _: () = assert!(SPARE != UNSET);

/// Stamps that a run takes from its counter at a time.
const RUN_LENGTH: u64 = 1 << 32;

/// Stamps at the start of a run that are never issued. The stamps just before the first one that a run issues
/// therefore belong to no other run, and are not [`UNSET`].
const MARGIN: u64 = 3;

// `Ring::holds` looks back as far as data lives. With a longer life it would match stamps of another run.
const _: () = assert!(MARGIN >= LivesFor::LONGEST.periods() as u64);

/// Stamps that a standalone arena takes at a time; a power of two.
const BLOCK_LENGTH: u64 = 1 << 16;

/// The first stamp of standalone arenas; those of runs are lower.
const FIRST_BLOCK: Stamp = 1 << 63;

/// The first stamps of each kind of [`Lone`] arena, in order, and the end, which is never issued.
const LONE: [Stamp; 4] = [
    FIRST_BLOCK,
    FIRST_BLOCK + (1 << 62),
    FIRST_BLOCK + (1 << 62) + (1 << 61),
    Stamp::MAX,
];

/// The first stamp of the first run.
const FIRST_RUN: Stamp = UNSET + 1;

// The process-wide counters. None issues zero, and those of blocks are multiples of `BLOCK_LENGTH`.
static NEXT_RUN: AtomicU64 = AtomicU64::new(FIRST_RUN);
static NEXT_LONE: [AtomicU64; 3] = [
    AtomicU64::new(LONE[0]),
    AtomicU64::new(LONE[1]),
    AtomicU64::new(LONE[2]),
];
static NEXT_POOL: AtomicU64 = AtomicU64::new(1);

/// Takes `count` stamps below `limit` and returns the first.
fn take(counter: &AtomicU64, count: u64, limit: Stamp) -> Stamp {
    // Uniqueness needs only the atomicity of the update, so relaxed is enough.
    counter
        .try_update(Relaxed, Relaxed, |next| {
            next.checked_add(count).filter(|&sum| sum <= limit)
        })
        .expect("2^31 `FrameArenas`, 2^45 standalone arenas and 2^40 pools outlast any process")
}

/// An arena that is not one of a generation: it owns a block of stamps, and takes the next one at each reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lone {
    Standalone,
    Scratch,
    Task,
}

impl Lone {
    /// Takes a block of stamps and returns the first. The arena also owns those that [`after`] returns from
    /// it on.
    pub(crate) fn block(self) -> Stamp {
        let kind = self as usize;
        take(&NEXT_LONE[kind], BLOCK_LENGTH, LONE[kind + 1])
    }
}

/// Returns a number below `limit` for a pool: unique, never reused, and not a stamp.
pub(crate) fn pool(limit: u64) -> u64 {
    take(&NEXT_POOL, 1, limit)
}

/// Returns the kind of lone arena that has, or had, this stamp.
pub(crate) fn lone(stamp: Stamp) -> Option<Lone> {
    let kinds = [Lone::Standalone, Lone::Scratch, Lone::Task];
    kinds
        .into_iter()
        .find(|&kind| (LONE[kind as usize]..LONE[kind as usize + 1]).contains(&stamp))
}

/// Returns whether a task arena has, or had, this stamp.
pub(crate) fn is_task(stamp: Stamp) -> bool {
    lone(stamp) == Some(Lone::Task)
}

/// Returns the number of the period that a run issued `stamp` for, counted from the run's first.
pub(crate) fn period(stamp: Stamp) -> u64 {
    (stamp.wrapping_sub(FIRST_RUN) % RUN_LENGTH).saturating_sub(MARGIN)
}

/// Returns whether one run issued both stamps, so that they are periods of the same `FrameArenas`.
pub(crate) fn is_same_run(a: Stamp, b: Stamp) -> bool {
    let is_of_a_run = |stamp| (FIRST_RUN..FIRST_BLOCK).contains(&stamp);
    let run = |stamp| (stamp - FIRST_RUN) / RUN_LENGTH;
    is_of_a_run(a) && is_of_a_run(b) && run(a) == run(b)
}

/// Returns the stamp that follows one of a lone arena. Each may be passed once.
#[inline]
pub(crate) fn after(stamp: Stamp) -> Stamp {
    next_in_block(stamp).unwrap_or_else(|| in_another_block(stamp))
}

#[cold]
fn in_another_block(stamp: Stamp) -> Stamp {
    lone(stamp).unwrap_or(Lone::Standalone).block()
}

/// Returns the stamp that follows, unless that takes another block. This needs no other thread.
#[inline]
pub(crate) fn next_in_block(stamp: Stamp) -> Option<Stamp> {
    let next = stamp.wrapping_add(1);
    (!next.is_multiple_of(BLOCK_LENGTH)).then_some(next)
}

/// Consecutive stamps for the generations of one `FrameArenas`.
///
/// As they are consecutive, the difference of two of them is an age in periods.
#[derive(Debug)]
pub(crate) struct StampRun {
    first: Stamp,
    last_issued: Stamp,
}

impl StampRun {
    /// Starts a run.
    pub(crate) fn new() -> Self {
        let first = take(&NEXT_RUN, RUN_LENGTH, FIRST_BLOCK);
        Self {
            first,
            last_issued: first + MARGIN - 1,
        }
    }

    /// Returns the next stamp.
    pub(crate) fn advance(&mut self) -> Stamp {
        if self.last_issued - self.first == RUN_LENGTH - 1 {
            *self = Self::new();
        } else {
            self.last_issued += 1;
        }
        self.last_issued
    }
}

/// A stamp of each run that has a name, and the name: for the texts of errors. Free entries are [`UNSET`].
///
/// Its length is fixed because a list that grows would call the user's global allocator, which may resolve
/// a stale handle. Further runs would have no name in texts.
static NAMED: Mutex<Names> = Mutex::new([(UNSET, ""); 256]);

type Names = [(Stamp, &'static str); 256];

fn named() -> MutexGuard<'static, Names> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a run, for as long as this value lives.
#[derive(Debug)]
pub(crate) struct RunName(Stamp);

impl RunName {
    /// Names the run that issued `stamp`.
    #[cfg_attr(
        not(any(feature = "bevy", test)),
        expect(dead_code, reason = "paces are made by an app")
    )]
    pub(crate) fn new(stamp: Stamp, name: &'static str) -> Self {
        let mut named = named();
        if let Some(free) = named.iter_mut().find(|entry| entry.0 == UNSET) {
            *free = (stamp, name);
        }
        Self(stamp)
    }
}

impl Drop for RunName {
    fn drop(&mut self) {
        let mut named = named();
        for entry in named.iter_mut().filter(|entry| entry.0 == self.0) {
            entry.0 = UNSET;
        }
    }
}

/// Returns the name of the run that issued `stamp`, if it has one.
pub(crate) fn name_of_run(stamp: Stamp) -> Option<&'static str> {
    let named = named();
    let of_run = named.iter().find(|&&(other, _)| is_same_run(stamp, other));
    of_run.map(|&(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_never_overlap() {
        let mut a = StampRun::new();
        let b = StampRun::new();
        let alone = Lone::Standalone.block();
        let issued = a.advance();
        let later = a.advance();
        assert_eq!(later - issued, 1);
        assert!(is_same_run(issued, later));
        assert_eq!((period(issued), period(later)), (0, 1));
        for foreign in [b.last_issued, alone, UNSET, SPARE] {
            assert!(!is_same_run(foreign, later));
            assert!(!is_same_run(later, foreign));
        }
    }

    #[test]
    fn the_stamps_before_a_runs_first_belong_to_no_run() {
        let mut before = StampRun::new();
        before.last_issued = before.first + RUN_LENGTH - 1;
        let mut run = StampRun::new();
        let first = run.advance();
        // A run ends with its last stamp, issued or not.
        assert!(is_same_run(run.first, run.first + RUN_LENGTH - 1));
        assert!(!is_same_run(run.first, run.first - 1));
        assert!(!is_same_run(run.first, run.first + RUN_LENGTH));
        // Older than any data that is held.
        let longest = LivesFor::LONGEST.periods() as u64;
        assert!(first - before.last_issued > longest);
        assert!(FIRST_RUN + MARGIN - UNSET > longest);
    }

    #[test]
    fn lone_arenas_have_stamps_of_their_own_kind_in_all_blocks() {
        for kind in [Lone::Standalone, Lone::Scratch, Lone::Task] {
            let [first, other] = [kind.block(), kind.block()];
            let mut stamp = first;
            for _ in 1..BLOCK_LENGTH {
                stamp = after(stamp);
                assert_ne!(stamp, other);
            }
            assert_eq!(stamp, first + BLOCK_LENGTH - 1);
            assert!(after(stamp) >= other + BLOCK_LENGTH);
            for stamp in [first, stamp, after(stamp), other] {
                assert_eq!(lone(stamp), Some(kind));
            }
        }
        for stamp in [UNSET, FIRST_RUN, FIRST_BLOCK - 1, SPARE] {
            assert_eq!(lone(stamp), None);
        }
    }

    #[test]
    fn an_exhausted_run_continues_with_fresh_stamps() {
        let mut run = StampRun::new();
        let other = StampRun::new();
        run.last_issued = run.first + RUN_LENGTH - 1;
        let last = run.last_issued;
        let next = run.advance();
        assert!(next > other.last_issued + RUN_LENGTH - 1);
        assert!(!is_same_run(last, next));
        assert_eq!(period(next), 0);
    }

    #[test]
    fn a_run_has_its_name_while_that_lives() {
        let [mut a, mut b] = [StampRun::new(), StampRun::new()];
        let (first, other) = (a.advance(), b.advance());
        let name = RunName::new(first, "a");
        assert_eq!(name_of_run(a.advance()), Some("a"));
        assert_eq!(name_of_run(other), None);
        drop(name);
        assert_eq!(name_of_run(first), None);
    }
}
