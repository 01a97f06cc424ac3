//! How large the next block of an arena is: arithmetic on sizes only.
#![forbid(unsafe_code)]

use super::block::{DATA_ALIGN, HEADER_BYTES};
use super::bump;

/// The smallest block, whatever the settings say.
const MIN_BLOCK_BYTES: usize = 256;

/// A budget is divided into at least this many ordinary blocks, so that every worker finds one.
const BLOCKS_IN_BUDGET: usize = 64;

/// From its 17th block in a period on, an arena gets larger ones: it has outgrown the caches, and a
/// spike should not call the global allocator hundreds of times.
const STEPS: [(usize, u32); 3] = [(32, 5), (16, 3), (0, 0)];

/// The size of a block is not raised beyond this for growth's sake.
const MAX_ROOM_BYTES: usize = 64 << 20;

/// A list that outgrows half a block moves to a block of this many times its size, and grows in place
/// from there. Untouched pages cost addresses only, except where a reserved page counts as memory.
const ROOM: usize = if cfg!(all(unix, target_pointer_width = "64")) {
    8
} else {
    2
};

/// The sizes of blocks, their headers included.
///
/// With ordinary blocks of 128 KiB:
///
/// | for | the arena has | size |
/// |---|--:|--:|
/// | a small allocation | 0 to 15 blocks | 128 KiB |
/// | a small allocation | 16 to 31 blocks | 1 MiB |
/// | a small allocation | 32 blocks or more | 4 MiB |
/// | 200 KiB at once | any | 256 KiB |
/// | a list that grows beyond 64 KiB, to 100 KiB | any | 1 MiB |
/// | a list that grows to 20 MiB | any | 64 MiB |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    ordinary_bytes: usize,
}

/// What a block is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An allocation that keeps its size.
    Fixed,
    /// A list that has outgrown its place and may soon ask for more.
    Growing,
}

/// The sizes that will do: at least `least_bytes`, and `wanted_bytes` where a new block is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The allocation, its padding and the header.
    pub(super) needed_bytes: usize,
    /// The smallest size of a free block to take; a power of two.
    pub(super) least_bytes: usize,
    /// The size of a block to make; a power of two.
    pub(super) wanted_bytes: usize,
}

impl Request {
    /// Returns the bytes that the allocation takes with its padding.
    pub(super) fn data_bytes(self) -> usize {
        self.needed_bytes - HEADER_BYTES
    }
}

impl Sizes {
    /// Returns the sizes for blocks of about `block_bytes`, which are smaller in a small budget.
    pub(super) fn new(block_bytes: usize, budget_bytes: usize) -> Self {
        let largest = (budget_bytes / BLOCKS_IN_BUDGET).max(MIN_BLOCK_BYTES);
        let bytes = block_bytes.clamp(MIN_BLOCK_BYTES, MAX_ROOM_BYTES);
        let largest_power = 1 << largest.ilog2();
        Self {
            ordinary_bytes: bytes.next_power_of_two().min(largest_power),
        }
    }

    pub(super) fn ordinary_bytes(self) -> usize {
        self.ordinary_bytes
    }

    /// Returns the size of the next block of an arena that has `count`, with room for `size` bytes
    /// aligned to `align`; or `None` if no block has it.
    pub(super) fn next(
        self,
        count: usize,
        size: usize,
        align: usize,
        purpose: Purpose,
    ) -> Option<Request> {
        let padding = align.saturating_sub(DATA_ALIGN);
        let needed_bytes = bump::round_up(size)
            .checked_add(padding)?
            .checked_add(HEADER_BYTES)?;
        if purpose == Purpose::Growing && needed_bytes > self.ordinary_bytes / 2 {
            let room = needed_bytes.checked_next_power_of_two()?;
            let wanted_bytes = room.saturating_mul(ROOM).min(MAX_ROOM_BYTES).max(room);
            return Some(Request {
                needed_bytes,
                least_bytes: wanted_bytes,
                wanted_bytes,
            });
        }
        if needed_bytes > self.ordinary_bytes {
            // A list that is a little longer than last time then finds the block of last time.
            let with_spare = needed_bytes.checked_add(needed_bytes / 4)?;
            let bytes = with_spare.checked_next_power_of_two()?;
            return Some(Request {
                needed_bytes,
                least_bytes: bytes,
                wanted_bytes: bytes,
            });
        }
        let (_, shift) = STEPS[STEPS.iter().position(|step| count >= step.0).unwrap_or(0)];
        Some(Request {
            needed_bytes,
            least_bytes: self.ordinary_bytes,
            wanted_bytes: self.ordinary_bytes << shift,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;

    fn sizes() -> Sizes {
        Sizes::new(128 * KIB, usize::MAX)
    }

    fn wanted(count: usize, size: usize, purpose: Purpose) -> usize {
        let request = sizes().next(count, size, 8, purpose);
        request.expect("a block of this size").wanted_bytes
    }

    #[test]
    fn the_table_in_the_docs_is_true() {
        for (count, bytes) in [(0, 128 * KIB), (15, 128 * KIB), (16, MIB), (31, MIB)] {
            assert_eq!(wanted(count, 8, Purpose::Fixed), bytes, "{count} blocks");
        }
        assert_eq!(wanted(32, 8, Purpose::Fixed), 4 * MIB);
        assert_eq!(wanted(usize::MAX, 8, Purpose::Fixed), 4 * MIB);
        assert_eq!(wanted(40, 200 * KIB, Purpose::Fixed), 256 * KIB);
        if ROOM == 8 {
            assert_eq!(wanted(0, 100 * KIB, Purpose::Growing), MIB);
            assert_eq!(wanted(0, 20 * MIB, Purpose::Growing), 64 * MIB);
        }
        assert_eq!(wanted(0, 60 * KIB, Purpose::Growing), 128 * KIB);
        assert_eq!(wanted(0, 100 * MIB, Purpose::Growing), 128 * MIB);
    }

    #[test]
    fn a_request_has_room_for_what_is_needed() {
        for shift in 0..usize::BITS {
            for size in [1_usize << shift, (1 << shift) + 1, usize::MAX >> shift] {
                if size > isize::MAX as usize {
                    continue;
                }
                for align in [1, 64, 128, 4096, 1 << 29] {
                    for purpose in [Purpose::Fixed, Purpose::Growing] {
                        let Some(it) = sizes().next(7, size, align, purpose) else {
                            assert!(size > isize::MAX as usize / 2);
                            continue;
                        };
                        assert!(it.needed_bytes >= size + HEADER_BYTES);
                        assert!(it.least_bytes >= it.needed_bytes);
                        assert!(it.wanted_bytes >= it.least_bytes);
                        assert!(it.wanted_bytes.is_power_of_two());
                    }
                }
            }
        }
    }

    #[test]
    fn a_budget_has_room_for_many_blocks() {
        for (budget, bytes) in [
            (0, 256),
            (100 * KIB, KIB),
            (MIB, 16 * KIB),
            (10 * MIB, 128 * KIB),
            (usize::MAX, 128 * KIB),
        ] {
            assert_eq!(Sizes::new(128 * KIB, budget).ordinary_bytes(), bytes);
        }
    }

    #[test]
    fn hostile_block_sizes_are_clamped() {
        assert_eq!(Sizes::new(0, usize::MAX).ordinary_bytes(), 256);
        assert_eq!(
            Sizes::new(usize::MAX, usize::MAX).ordinary_bytes(),
            64 * MIB
        );
        assert_eq!(Sizes::new(100_000, usize::MAX).ordinary_bytes(), 128 * KIB);
    }
}
