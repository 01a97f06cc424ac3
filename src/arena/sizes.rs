//! The size of an arena's next block: arithmetic on sizes only.
#![forbid(unsafe_code)]

use std::alloc::Layout;

use super::block::{DATA_ALIGN, HEADER_BYTES};
use super::bump;

/// The smallest size of ordinary blocks, even if the settings ask for less.
const MIN_BLOCK_BYTES: usize = 256;

/// A budget is divided into at least this many ordinary blocks, so that every worker gets one.
const BLOCKS_IN_BUDGET: usize = 64;

/// Room to grow does not raise a block above this size.
const MAX_ROOM_BYTES: usize = 64 << 20;

/// A list that outgrows half an ordinary block moves to a block of this many times its size, and grows in
/// place from there. Untouched pages cost only addresses, except on systems that count reserved pages as
/// memory.
const ROOM: usize = if cfg!(all(unix, target_pointer_width = "64")) {
    8
} else {
    2
};

/// The sizes of blocks, their headers included.
///
/// With ordinary blocks of 128 KiB, and first ones of 8 KiB:
///
/// | for | the arena has | size |
/// |---|--:|--:|
/// | a small allocation | no block | 8 KiB |
/// | a small allocation | 1, 2, 3 blocks | 16, 32, 64 KiB |
/// | a small allocation | 4 to 15 blocks | 128 KiB |
/// | a small allocation | 16 to 31 blocks | 1 MiB |
/// | a small allocation | 32 blocks or more | 4 MiB |
/// | 200 KiB at once | any | 256 KiB |
/// | a list that grows, up to 64 KiB | any | 128 KiB |
/// | a list that grows beyond 64 KiB, to 100 KiB | any | 1 MiB |
/// | a list that grows to 20 MiB | any | 64 MiB |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    ordinary_bytes: usize,
    /// The first block of an arena, if the allocation fits into it.
    first_bytes: usize,
    /// Doublings from the first block to an ordinary one.
    grades: usize,
    /// Room to grow does not raise a block above this size.
    room_bytes: usize,
}

/// The purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An allocation that keeps its size.
    Fixed,
    /// A list that has outgrown its memory and may soon need more.
    Growing,
}

/// The acceptable sizes: a free block of at least `least_bytes`, or a new one of `wanted_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The bytes of the allocation, its padding and the header.
    pub(super) needed_bytes: usize,
    /// The smallest acceptable size of a free block; a power of two.
    pub(super) least_bytes: usize,
    /// The size of a new block; a power of two.
    pub(super) wanted_bytes: usize,
}

impl Request {
    /// Returns the bytes of the allocation and its padding.
    pub(super) fn data_bytes(self) -> usize {
        self.needed_bytes - HEADER_BYTES
    }
}

impl Sizes {
    /// Returns the sizes for ordinary blocks of about `block_bytes`, or smaller ones in a small budget. The
    /// first block of an arena has at most `first_bytes`.
    pub(super) fn new(block_bytes: usize, budget_bytes: usize, first_bytes: usize) -> Self {
        let largest = (budget_bytes / BLOCKS_IN_BUDGET).max(MIN_BLOCK_BYTES);
        let bytes = block_bytes.clamp(MIN_BLOCK_BYTES, MAX_ROOM_BYTES);
        let largest_power = 1 << largest.ilog2();
        let ordinary_bytes = bytes.next_power_of_two().min(largest_power);
        let first_bytes = first_bytes.clamp(MIN_BLOCK_BYTES, ordinary_bytes);
        let first_bytes = 1 << first_bytes.ilog2();
        Self {
            ordinary_bytes,
            first_bytes,
            grades: (ordinary_bytes / first_bytes).ilog2() as usize,
            room_bytes: MAX_ROOM_BYTES,
        }
    }

    /// Returns the sizes for workers that may use at most `limit_bytes` each. More room than that is useless.
    pub(super) fn with_worker_limit(self, limit_bytes: usize) -> Self {
        let limit_bytes = limit_bytes.saturating_add(HEADER_BYTES).min(MAX_ROOM_BYTES);
        Self {
            room_bytes: limit_bytes.next_power_of_two(),
            ..self
        }
    }

    pub(super) fn ordinary_bytes(self) -> usize {
        self.ordinary_bytes
    }

    pub(super) fn first_bytes(self) -> usize {
        self.first_bytes
    }

    /// Returns the size of a small arena's next block: each is twice as large as the one before, up to the
    /// ordinary size. So a worker that needs little holds little.
    fn graded_bytes(self, count: usize) -> usize {
        self.first_bytes << count.min(self.grades)
    }

    /// Returns the size of the next block of an arena that holds `count` blocks, with room for `layout`.
    /// Returns `None` on overflow.
    pub(super) fn next(self, count: usize, layout: Layout, purpose: Purpose) -> Option<Request> {
        let padding = layout.align().saturating_sub(DATA_ALIGN);
        let needed_bytes = bump::round_up(layout.size())
            .checked_add(padding)?
            .checked_add(HEADER_BYTES)?;
        if purpose == Purpose::Growing && needed_bytes > self.ordinary_bytes / 2 {
            let room = needed_bytes.checked_next_power_of_two()?;
            let wanted_bytes = room.saturating_mul(ROOM).min(self.room_bytes).max(room);
            return Some(Request {
                needed_bytes,
                least_bytes: wanted_bytes,
                wanted_bytes,
            });
        }
        if needed_bytes > self.ordinary_bytes {
            // The spare lets a list that is a little longer than last time reuse the same block.
            let with_spare = needed_bytes.checked_add(needed_bytes / 4)?;
            let bytes = with_spare.checked_next_power_of_two()?;
            return Some(Request {
                needed_bytes,
                least_bytes: bytes,
                wanted_bytes: bytes,
            });
        }
        let bytes = match purpose {
            // The list goes on in place there. The block that it leaves is given back.
            Purpose::Growing => self.ordinary_bytes,
            Purpose::Fixed => match self.graded_bytes(count) {
                bytes if bytes >= needed_bytes => bytes,
                _ => needed_bytes.next_power_of_two(),
            },
        };
        // An arena with many blocks has outgrown the caches, and a spike should not call the global allocator
        // hundreds of times.
        let shift = match count {
            0..16 => 0,
            16..32 => 3,
            _ => 5,
        };
        Some(Request {
            needed_bytes,
            least_bytes: bytes,
            wanted_bytes: bytes << shift,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;

    fn sizes() -> Sizes {
        Sizes::new(128 * KIB, usize::MAX, 8 * KIB)
    }

    fn wanted(count: usize, size: usize, purpose: Purpose) -> usize {
        let layout = Layout::from_size_align(size, 8).expect("a small size");
        let request = sizes().next(count, layout, purpose);
        request.expect("a block of this size").wanted_bytes
    }

    #[test]
    fn the_table_in_the_docs_is_true() {
        for (count, bytes) in [(0, 8), (1, 16), (3, 64), (4, 128), (15, 128), (16, 1024)] {
            assert_eq!(
                wanted(count, 8, Purpose::Fixed),
                bytes * KIB,
                "{count} blocks"
            );
        }
        assert_eq!(wanted(31, 8, Purpose::Fixed), MIB);
        assert_eq!(wanted(32, 8, Purpose::Fixed), 4 * MIB);
        assert_eq!(wanted(0, 20 * KIB, Purpose::Fixed), 32 * KIB);
        assert_eq!(wanted(1, 100 * KIB, Purpose::Fixed), 128 * KIB);
        assert_eq!(wanted(0, 8, Purpose::Growing), 128 * KIB);
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
                        let Ok(layout) = Layout::from_size_align(size, align) else {
                            continue;
                        };
                        let Some(it) = sizes().next(7, layout, purpose) else {
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
            assert_eq!(
                Sizes::new(128 * KIB, budget, usize::MAX).ordinary_bytes(),
                bytes
            );
        }
    }

    #[test]
    fn hostile_block_sizes_are_clamped() {
        assert_eq!(Sizes::new(0, usize::MAX, 0).ordinary_bytes(), 256);
        assert_eq!(
            Sizes::new(usize::MAX, usize::MAX, 0).ordinary_bytes(),
            64 * MIB
        );
        assert_eq!(
            Sizes::new(100_000, usize::MAX, 0).ordinary_bytes(),
            128 * KIB
        );
    }
}
