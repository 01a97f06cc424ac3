//! How large the next chunk is: arithmetic on sizes alone.
#![forbid(unsafe_code)]

use std::cell::Cell;

use crate::settings::OverflowPolicy;

/// A chunk that is made for growth is never smaller than this, or a capacity of no bytes would set
/// the pace.
const MIN_GROWTH_BYTES: usize = 1 << 10;

/// A chunk is never made larger than this for growth's sake alone.
const MAX_GROWTH_BYTES: usize = 64 << 20;

/// A first chunk takes at most this part of what a budget has left, so that the workers that come
/// later find some.
const FIRST_PART: usize = 16;

/// Any other chunk takes at most this part.
const GROWTH_PART: usize = 2;

/// A chunk that is larger than planned, for a single allocation, has room for this part more. A list
/// that is a little longer than ever before then fits into the chunk of its last time, where it would
/// otherwise get another one, and another, which are all kept.
const SPARE_PART: usize = 4;

/// Decides how large chunks are.
///
/// With a capacity of 1 MiB, and nothing but small allocations:
///
/// | chunk | policy | left in the budget | size |
/// |---|---|--:|--:|
/// | first | `Grow` | no budget | 1 MiB |
/// | second, third, fourth | `Grow` | no budget | 1, 2, 4 MiB |
/// | any after 64 MiB | `Grow` | no budget | 64 MiB |
/// | first | `Grow` | 8 MiB | 512 KiB |
/// | second, third, fourth | `Grow` | 7.5, 6.5, 4.5 MiB | 1, 2, 2.25 MiB |
/// | second, for 3 MiB at once | `Grow` | no budget | 3.75 MiB |
/// | second, for 3 MiB at once | `Grow` | 4 MiB | 3 MiB |
/// | first | `Fail` | 8 MiB | 1 MiB |
/// | second | `Fail` | any | none |
pub(super) struct Growth {
    policy: OverflowPolicy,
    /// The size of the first chunk that the settings ask for.
    capacity_bytes: usize,
    /// The size of the first chunk: larger after a trim that left more than that in use.
    first_bytes: usize,
    /// The size of the next chunk that is not the first.
    next_bytes: Cell<usize>,
}

impl Growth {
    pub(super) fn new(policy: OverflowPolicy, capacity_bytes: usize) -> Self {
        Self {
            policy,
            capacity_bytes,
            first_bytes: capacity_bytes,
            next_bytes: Cell::new(capacity_bytes.max(MIN_GROWTH_BYTES)),
        }
    }

    /// Returns the size of the first chunk as planned.
    pub(super) fn first_bytes(&self) -> usize {
        self.first_bytes
    }

    /// Whether one chunk is all there is.
    pub(super) fn is_limited(&self) -> bool {
        self.policy == OverflowPolicy::Fail
    }

    /// Returns the size of a chunk with room for `needed` bytes, where `left` bytes are left in the
    /// budget; or `None` where a hard limit forbids it.
    ///
    /// The size is not rounded; `limit` is the first chunk's size as it is made.
    pub(super) fn size_of_chunk(
        &self,
        is_first: bool,
        needed: usize,
        limit: usize,
        left: usize,
    ) -> Option<usize> {
        if self.is_limited() {
            return (is_first && needed <= limit).then_some(self.first_bytes);
        }
        let (planned, part) = if is_first {
            (self.first_bytes, FIRST_PART)
        } else {
            (self.next_bytes.get(), GROWTH_PART)
        };
        let wanted = if needed > planned {
            needed.saturating_add(needed / SPARE_PART)
        } else {
            planned
        };
        Some(wanted.min(left / part).max(needed))
    }

    /// Returns the size to try after the global allocator, or another worker, has left no room for
    /// a chunk of `refused` bytes.
    pub(super) fn smaller(&self, refused: usize, needed: usize) -> Option<usize> {
        (refused > needed && !self.is_limited()).then(|| (refused / 2).max(needed))
    }

    /// Notes that a chunk was made that is not the first.
    ///
    /// What a single large allocation took does not set the pace.
    pub(super) fn advance(&self) {
        let next = self.next_bytes.get();
        let doubled = next.saturating_mul(2).min(MAX_GROWTH_BYTES.max(next));
        self.next_bytes.set(doubled);
    }

    /// Starts anew, with a first chunk that has room for `expected_bytes`.
    pub(super) fn restart(&mut self, expected_bytes: usize) {
        self.first_bytes = match self.policy {
            OverflowPolicy::Grow => self.capacity_bytes.max(expected_bytes),
            OverflowPolicy::Fail => self.capacity_bytes,
        };
        self.next_bytes.set(self.first_bytes.max(MIN_GROWTH_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const KIB: usize = 1 << 10;
    const NO_BUDGET: usize = usize::MAX;

    fn growth(policy: OverflowPolicy) -> Growth {
        Growth::new(policy, MIB)
    }

    /// Sizes of the chunks that are made one after the other within a budget.
    fn sizes(growth: &Growth, mut left: usize, needed: usize, count: usize) -> Vec<usize> {
        let size = |index| {
            let size = growth.size_of_chunk(index == 0, needed, MIB, left)?;
            left = left.checked_sub(size)?;
            if index > 0 {
                growth.advance();
            }
            Some(size)
        };
        (0..count).map_while(size).collect()
    }

    #[test]
    fn the_table_in_the_docs_is_true() {
        let grow = || growth(OverflowPolicy::Grow);
        assert_eq!(
            sizes(&grow(), NO_BUDGET, 8, 4),
            [MIB, MIB, 2 * MIB, 4 * MIB]
        );
        assert_eq!(sizes(&grow(), NO_BUDGET, 8, 20)[19], 64 * MIB);
        assert_eq!(
            sizes(&grow(), 8 * MIB, 8, 4),
            [512 * KIB, MIB, 2 * MIB, 9 * MIB / 4]
        );
        let large = |left| grow().size_of_chunk(false, 3 * MIB, MIB, left);
        assert_eq!(large(NO_BUDGET), Some(15 * MIB / 4));
        assert_eq!(large(4 * MIB), Some(3 * MIB));
        // What is as large as planned needs nothing to spare.
        assert_eq!(grow().size_of_chunk(true, MIB, MIB, NO_BUDGET), Some(MIB));
        let limited = growth(OverflowPolicy::Fail);
        assert_eq!(limited.size_of_chunk(true, 8, MIB, 8 * MIB), Some(MIB));
        assert_eq!(limited.size_of_chunk(true, MIB + 1, MIB, 8 * MIB), None);
        assert_eq!(limited.size_of_chunk(false, 8, MIB, 8 * MIB), None);
    }

    #[test]
    fn a_budget_is_used_up_in_few_chunks() {
        let growth = Growth::new(OverflowPolicy::Grow, 16 * MIB);
        let sizes = sizes(&growth, 15 * MIB, 128, 1000);
        assert!(sizes.len() < 30, "{} chunks", sizes.len());
        assert!(sizes.iter().sum::<usize>() > 15 * MIB - 256);
    }

    #[test]
    fn many_first_chunks_fit_into_a_budget() {
        let mut left = 64 * MIB;
        for _ in 0..128 {
            let growth = Growth::new(OverflowPolicy::Grow, 16 * MIB);
            left -= growth.size_of_chunk(true, 8, MIB, left).expect("no limit");
        }
        assert!(left > 8 * KIB, "{left}");
    }

    #[test]
    fn what_was_refused_is_halved_down_to_what_is_needed() {
        let growth = growth(OverflowPolicy::Grow);
        assert_eq!(growth.smaller(MIB, 8), Some(MIB / 2));
        assert_eq!(growth.smaller(12, 8), Some(8));
        assert_eq!(growth.smaller(8, 8), None);
        assert_eq!(self::growth(OverflowPolicy::Fail).smaller(MIB, 8), None);
    }

    #[test]
    fn a_restart_expects_what_it_is_told_but_no_less_than_the_capacity() {
        let mut growth = growth(OverflowPolicy::Grow);
        growth.advance();
        growth.restart(3 * MIB);
        assert_eq!(
            (growth.first_bytes(), growth.next_bytes.get()),
            (3 * MIB, 3 * MIB)
        );
        growth.restart(0);
        assert_eq!((growth.first_bytes(), growth.next_bytes.get()), (MIB, MIB));
        let mut limited = self::growth(OverflowPolicy::Fail);
        limited.restart(3 * MIB);
        assert_eq!(limited.first_bytes(), MIB);
        let mut of_nothing = Growth::new(OverflowPolicy::Grow, 0);
        of_nothing.restart(0);
        assert_eq!(of_nothing.next_bytes.get(), MIN_GROWTH_BYTES);
    }
}
