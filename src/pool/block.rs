//! The slots of a pool, and the blocks they are made in.
#![forbid(unsafe_code)]

use std::mem;
use std::num::NonZeroU64;

use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec;

use super::PoolError;

/// About as many bytes as a block has: few enough that making one is not felt.
const BLOCK_BYTES: usize = 4 << 10;

/// Where the slots of large values would be too few for a block of that size.
const MIN_BLOCK_SLOTS: usize = 8;

/// Room for a value.
pub(super) enum Slot<T> {
    Vacant {
        /// The number of the next vacant slot.
        next: u32,
    },
    Taken {
        /// Names the value; it is not zero, so that a slot is no larger for being vacant or not.
        stamp: NonZeroU64,
        value: T,
    },
}

impl<T> Slot<T> {
    /// Whether the value with this stamp is here.
    #[inline]
    pub(super) fn has(&self, wanted: NonZeroU64) -> bool {
        matches!(self, Self::Taken { stamp, .. } if *stamp == wanted)
    }

    /// Takes the value out, if there is one; the slot is vacant then.
    #[inline]
    pub(super) fn vacate(&mut self, next: u32) -> Option<T> {
        match mem::replace(self, Self::Vacant { next }) {
            Self::Taken { value, .. } => Some(value),
            Self::Vacant { .. } => None,
        }
    }
}

/// Returns how many slots a block has: a power of two, so that finding one takes no division.
pub(super) const fn block_slots<T>() -> usize {
    let fitting = BLOCK_BYTES / size_of::<Slot<T>>();
    if fitting < MIN_BLOCK_SLOTS {
        MIN_BLOCK_SLOTS
    } else {
        1 << fitting.ilog2()
    }
}

/// Makes a block of vacant slots, which are in no list yet.
pub(super) fn new_block<T, A: Allocator>(
    slots: usize,
    allocator: A,
) -> Result<Vec<Slot<T>, A>, PoolError> {
    let mut block = Vec::new_in(allocator);
    block
        .try_reserve_exact(slots)
        .map_err(|_| PoolError::OutOfMemory {
            requested_bytes: slots.saturating_mul(size_of::<Slot<T>>()),
        })?;
    block.resize_with(slots, || Slot::Vacant { next: 0 });
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_costs_eight_bytes_more_than_its_value() {
        assert_eq!(size_of::<Slot<u64>>(), 16);
        assert_eq!(size_of::<Slot<[u64; 8]>>(), 72);
        assert_eq!(size_of::<Slot<String>>(), 8 + size_of::<String>());
    }

    #[test]
    fn blocks_are_powers_of_two_and_not_too_small() {
        assert_eq!(block_slots::<u64>(), 256);
        assert_eq!(block_slots::<[u64; 8]>(), 32);
        assert_eq!(block_slots::<[u64; 10_000]>(), MIN_BLOCK_SLOTS);
        assert!(block_slots::<()>().is_power_of_two());
    }
}
