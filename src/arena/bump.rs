//! The arithmetic of bump allocation, on addresses only.
#![forbid(unsafe_code)]

/// Every cursor is a multiple of this, so that most types need no padding.
pub(super) const CURSOR_ALIGN: usize = 8;

/// The highest address at which a block may end.
///
/// It is checked once per block, so that a bump can add a size to a cursor without checking for wrap-around:
///
/// - with 64-bit addresses, any valid `Layout` and its padding fit above it;
/// - with narrower addresses, sizes and alignments up to [`SMALL_BYTES`] do, and larger sums are checked.
pub(super) const MAX_ADDRESS: usize = if ADDRESSES_ARE_WIDE {
    usize::MAX >> 2
} else {
    usize::MAX - 2 * SMALL_BYTES
};

const ADDRESSES_ARE_WIDE: bool = usize::BITS >= 64;
const SMALL_BYTES: usize = 64 * 1024;

/// The addresses of an allocation: `cursor <= start <= next <= end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bump {
    /// The start of the allocation.
    pub(super) start: usize,
    /// The new cursor.
    pub(super) next: usize,
}

/// Places `size` bytes, aligned to `align`, between `cursor` and `end`, if they fit.
///
/// `size` and `align` must be those of a valid `Layout`, `cursor` must be a multiple of [`CURSOR_ALIGN`], and
/// `cursor <= end <= MAX_ADDRESS` must hold. The size is rounded up rather than the sum, which keeps the
/// chain of dependent operations short.
#[inline(always)]
pub(super) const fn bump(cursor: usize, end: usize, size: usize, align: usize) -> Option<Bump> {
    let (start, next) = if ADDRESSES_ARE_WIDE || (size <= SMALL_BYTES && align <= SMALL_BYTES) {
        let mask = align - 1;
        let start = cursor.wrapping_add(mask) & !mask;
        (start, start.wrapping_add(round_up(size)))
    } else {
        match place_checked(cursor, size, align) {
            Some(place) => place,
            None => return None,
        }
    };
    if next > end {
        return None;
    }
    Some(Bump { start, next })
}

/// Returns the start and the end of an allocation, or `None` if a sum overflows.
const fn place_checked(cursor: usize, size: usize, align: usize) -> Option<(usize, usize)> {
    let mask = align - 1;
    let Some(above) = cursor.checked_add(mask) else {
        return None;
    };
    let start = above & !mask;
    match start.checked_add(round_up(size)) {
        Some(next) => Some((start, next)),
        None => None,
    }
}

/// Rounds the size of a valid `Layout` up to a multiple of [`CURSOR_ALIGN`].
#[inline(always)]
pub(super) const fn round_up(size: usize) -> usize {
    size.wrapping_add(CURSOR_ALIGN - 1) & !(CURSOR_ALIGN - 1)
}

/// Returns the alignment that padding must provide: 1 if the cursor's own suffices.
#[inline(always)]
pub(super) const fn beyond_cursor(align: usize) -> usize {
    if align <= CURSOR_ALIGN { 1 } else { align }
}

/// Checks that [`bump`] returns the lowest aligned start, or `None` if the allocation would end out of
/// bounds.
///
/// # Panics
/// If it returns anything else.
#[cfg(any(test, kani))]
fn check(cursor: usize, end: usize, size: usize, align: usize) {
    let place = || {
        let start = cursor.checked_next_multiple_of(align)?;
        let next = start.checked_add(size.checked_next_multiple_of(CURSOR_ALIGN)?)?;
        (next <= end).then_some(Bump { start, next })
    };
    assert!(bump(cursor, end, size, align) == place());
}

/// Checks the sums of [`place_checked`], up to the highest address.
///
/// # Panics
/// If it returns anything else.
#[cfg(any(test, kani))]
fn check_sums(cursor: usize, size: usize, align: usize) {
    let place = || {
        let start = cursor.checked_next_multiple_of(align)?;
        let size = size.checked_next_multiple_of(CURSOR_ALIGN)?;
        Some((start, start.checked_add(size)?))
    };
    assert!(place_checked(cursor, size, align) == place());
}

#[cfg(kani)]
mod proofs {
    use std::alloc::Layout;

    use super::*;

    #[kani::proof]
    fn every_layout_is_placed_at_the_lowest_place_or_refused() {
        let (cursor, end): (usize, usize) = (kani::any(), kani::any());
        let (size, shift): (usize, u32) = (kani::any(), kani::any());
        kani::assume(shift < usize::BITS && Layout::from_size_align(size, 1 << shift).is_ok());
        kani::assume(cursor % CURSOR_ALIGN == 0 && cursor <= end && end <= MAX_ADDRESS);
        check(cursor, end, size, 1 << shift);
    }

    #[kani::proof]
    fn sums_that_are_checked_are_right_or_refused() {
        let (cursor, size, shift): (usize, usize, u32) = (kani::any(), kani::any(), kani::any());
        kani::assume(shift < usize::BITS && Layout::from_size_align(size, 1 << shift).is_ok());
        kani::assume(cursor % CURSOR_ALIGN == 0);
        check_sums(cursor, size, 1 << shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: usize = 1 << 20;

    #[test]
    fn small_alignments_need_no_padding() {
        for align in [1, 2, 4, 8] {
            assert_eq!(
                bump(64, END, 3, align),
                Some(Bump {
                    start: 64,
                    next: 72
                })
            );
        }
    }

    #[test]
    fn large_alignments_are_by_address() {
        for shift in 4..19 {
            let align = 1 << shift;
            let bump = bump(8, END, 16, align).expect("there is room");
            assert_eq!(bump.start, align);
            assert_eq!(bump.next, align + 16);
        }
    }

    #[test]
    fn the_last_byte_is_used_and_none_beyond_it() {
        assert!(bump(END - 16, END, 16, 8).is_some());
        assert!(bump(END - 16, END, 17, 8).is_none());
        assert!(bump(END, END, 0, 1).is_some());
    }

    #[test]
    fn with_narrow_addresses_large_sums_are_checked() {
        for cursor in [8, 64, 4104] {
            for (size, align) in [(0, 1), (1, 8), (100, 64), (5000, 4096)] {
                let Bump { start, next } = bump(cursor, END, size, align).expect("there is room");
                assert_eq!(place_checked(cursor, size, align), Some((start, next)));
            }
        }
        let top = usize::MAX - 7;
        assert_eq!(place_checked(top, 0, 8), Some((top, top)));
        assert_eq!(place_checked(top, 0, 16), None);
        assert_eq!(place_checked(top, 8, 8), None);
    }

    #[test]
    fn no_layout_wraps_around() {
        let cursor = MAX_ADDRESS & !7;
        for shift in 0..usize::BITS - 1 {
            let align = 1_usize << shift;
            let largest = isize::MAX as usize - (align - 1);
            for size in [largest, largest - 1, largest / 2 + 1] {
                assert_eq!(bump(cursor, MAX_ADDRESS, size, align), None);
            }
        }
        // A zero size is a valid layout with any alignment.
        assert_eq!(bump(8, MAX_ADDRESS, 0, 1 << (usize::BITS - 1)), None);
    }

    /// All cursors, ends, sizes and alignments of eight bits: at the lowest addresses and at the highest
    /// that a block may have.
    #[test]
    fn all_inputs_of_eight_bits_are_placed_at_the_lowest_place_or_refused() {
        let step = if cfg!(miri) { 31 } else { 1 };
        for base in [0, (MAX_ADDRESS & !0xFF) - 0x100] {
            for cursor in (0..256).step_by(CURSOR_ALIGN) {
                for end in (cursor..256).step_by(step) {
                    for (size, shift) in (0..256 * 8).step_by(step).map(|n| (n / 8, n % 8)) {
                        check(base + cursor, base + end, size, 1 << shift);
                    }
                }
            }
        }
        // The same for checked sums, up to the highest address.
        for cursor in (usize::MAX - 255..=usize::MAX - 7).step_by(CURSOR_ALIGN) {
            for (size, shift) in (0..256 * 8_usize).map(|n| (n / 8, n % 8)) {
                check_sums(cursor, size, 1 << shift);
            }
        }
    }
}
