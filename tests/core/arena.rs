//! One arena: values, slices, strings, alignment, limits and memory policy.

use std::alloc::Layout;

use bevy_frame_arena::{ArenaError, ArenaLimit, FrameArena, FrameArenaSettings};

use crate::common::address::address;
use crate::common::limits::limit_of;

/// Each block begins with one.
const HEADER_BYTES: usize = 64;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn hard_limit(bytes: usize) -> FrameArena {
    FrameArena::with_settings(&limit_of(bytes))
}

#[test]
fn values_keep_what_was_written() {
    let arena = FrameArena::new(KIB);
    let byte = arena.alloc(7_u8);
    let word = arena.alloc(u64::MAX);
    let pair = arena.alloc_with(|| (1_u16, 2.5_f32));
    *byte += 1;
    assert_eq!((*byte, *word, *pair), (8, u64::MAX, (1, 2.5)));
}

#[test]
fn slices_keep_what_was_written() {
    let arena = FrameArena::new(KIB);
    let copy = arena.alloc_slice_copy(&[1, 2, 3]);
    let filled = arena.alloc_slice_fill_copy(4, 0.5_f32);
    let made = arena.alloc_slice_fill_with(5, |index| index * 10);
    let collected = arena.collect((0..6).filter(|n| n % 2 == 0)).leak();
    copy[0] = 9;
    assert_eq!(copy, [9, 2, 3]);
    assert_eq!(filled, [0.5; 4]);
    assert_eq!(made, [0, 10, 20, 30, 40]);
    assert_eq!(collected, [0, 2, 4]);
}

#[test]
fn strings_keep_what_was_written() {
    let arena = FrameArena::new(KIB);
    let copied = arena.alloc_str("grüße");
    let formatted = arena.alloc_fmt(format_args!("{:>4}|{}", 42, "x"));
    copied.make_ascii_uppercase();
    assert_eq!(copied, "GRüßE");
    assert_eq!(formatted, "  42|x");
}

#[test]
fn every_alignment_is_by_address() {
    let arena = FrameArena::new(KIB);
    for shift in 0..=16 {
        let align = 1 << shift;
        // Off every alignment, so that the next one has to pad.
        arena.alloc(1_u8);
        let raw = arena.alloc_layout(Layout::from_size_align(5, align).unwrap());
        assert_eq!(raw.addr().get() % align, 0, "alignment {align}");
    }
}

#[test]
fn types_with_large_alignments_are_aligned() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct CacheLine(u8);
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);

    let arena = FrameArena::new(KIB);
    arena.alloc(0_u8);
    let line = arena.alloc(CacheLine(1));
    let lines = arena.alloc_slice_fill_copy(3, CacheLine(2));
    let page = arena.alloc(Page(3));
    assert_eq!(address(line) % 64, 0);
    assert_eq!(address(&*lines) % 64, 0);
    assert_eq!(address(page) % 4096, 0);
    assert_eq!((line.0, lines[2].0, page.0), (1, 2, 3));
}

#[test]
fn zero_sizes_take_no_memory() {
    let arena = FrameArena::with_settings(&FrameArenaSettings::default());
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Nothing;
    let nothing = arena.alloc(Nothing);
    assert_eq!(address(nothing) % 128, 0);
    assert_eq!(arena.alloc_slice_copy::<u64>(&[]), []);
    assert_eq!(arena.alloc_slice_fill_copy(1_000, ()).len(), 1_000);
    assert_eq!(address(arena.alloc_slice_fill_copy(9, Nothing)) % 128, 0);
    assert_eq!(arena.alloc_str(""), "");
    assert_eq!(arena.held_bytes(), 0);

    let used = FrameArena::new(8 * KIB);
    used.alloc(1_u8);
    used.alloc(Nothing);
    assert_eq!(used.used_bytes(), 8, "not even padding");

    // The largest alignment that a layout can have.
    let layout = Layout::from_size_align(0, 1 << (usize::BITS - 1)).unwrap();
    assert_eq!(arena.alloc_layout(layout).addr().get(), layout.align());
}

/// More than any allocator has.
const SURELY_TOO_MUCH: usize = if cfg!(target_pointer_width = "64") {
    1 << (usize::BITS - 14)
} else {
    isize::MAX as usize - 64
};

#[test]
fn sizes_and_alignments_at_the_limits_fail_or_fit_and_never_wrap() {
    let arena = FrameArena::new(KIB);
    let most = isize::MAX as usize;
    let too_long = |len, element_bytes| ArenaError::TooLong { len, element_bytes };
    for len in [usize::MAX, usize::MAX / 2, most, most / 8 + 1] {
        let refused = arena.try_alloc_slice_fill_copy(len, 0_u64);
        assert_eq!(refused, Err(too_long(len, 8)));
    }
    for shift in 0..usize::BITS {
        let align = 1_usize << shift;
        // No bytes are always there, wherever they are; their alignment may take padding.
        let other = FrameArena::new(KIB);
        let none = other.alloc_layout(Layout::from_size_align(0, align).unwrap());
        assert_eq!(none.addr().get() % align, 0);
        assert!(other.used_bytes() < align.max(8) && other.held_bytes() == HEADER_BYTES + KIB);
        let huge = most - (align - 1).min(most);
        for len in [huge, huge / 2 + 1] {
            // Miri has no allocator that fails.
            if len > SURELY_TOO_MUCH && !cfg!(miri) {
                let layout = Layout::from_size_align(len, align).unwrap();
                assert!(arena.try_alloc_layout(layout).is_err());
            }
        }
    }
    if !cfg!(miri) {
        assert!(matches!(
            arena.try_alloc_slice_fill_copy(most, 0_u8),
            Err(ArenaError::AllocationFailed { requested }) if requested >= most
        ));
    }
    assert_eq!(arena.alloc_slice_copy(&[(); usize::MAX]).len(), usize::MAX);
    assert_eq!(
        (arena.used_bytes(), arena.held_bytes()),
        (0, HEADER_BYTES + KIB)
    );
    assert_eq!(*arena.alloc(5), 5, "the arena is still usable");
}

#[test]
fn allocations_never_overlap() {
    let arena = FrameArena::new(256);
    let mut ranges = Vec::new();
    for n in 0..if cfg!(miri) { 200 } else { 2_000_usize } {
        let (bytes, align) = (n % 37, [1, 16, 32, 128][n % 4]);
        let memory = arena.alloc_layout(Layout::from_size_align(bytes, align).unwrap());
        ranges.push((memory.addr().get(), bytes));
    }
    ranges.retain(|(_, bytes)| *bytes > 0);
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0);
    }
}

#[test]
fn a_reset_frees_everything_and_reuses_the_memory() {
    let mut arena = FrameArena::new(KIB);
    let before = address(arena.alloc(1_u64));
    arena.alloc_slice_fill_copy(10, 1_u64);
    assert_eq!(arena.used_bytes(), 88);
    assert_eq!(arena.block_remaining_bytes(), KIB - 88);
    arena.reset();
    assert_eq!(arena.used_bytes(), 0);
    assert_eq!(arena.block_remaining_bytes(), KIB);
    assert_eq!(address(arena.alloc(1_u64)), before);
}

#[test]
fn the_watermark_survives_resets_and_trims() {
    let mut arena = FrameArena::new(KIB);
    arena.alloc_slice_fill_copy(500, 0_u8);
    assert_eq!(arena.high_watermark_bytes(), 504);
    arena.reset();
    arena.alloc(0_u64);
    assert_eq!(arena.high_watermark_bytes(), 504);
    arena.reset();
    arena.trim();
    arena.reset();
    assert_eq!(arena.high_watermark_bytes(), 504);
}

#[test]
fn a_full_arena_takes_blocks_and_uses_them_again() {
    let mut arena = FrameArena::new(KIB);
    let first = arena.alloc_slice_fill_copy(KIB, 1_u8);
    let second = arena.alloc_slice_fill_copy(KIB, 2_u8);
    let third = arena.alloc_slice_fill_copy(KIB, 3_u8);
    assert!(first.iter().all(|&byte| byte == 1));
    assert!(second.iter().all(|&byte| byte == 2));
    assert!(third.iter().all(|&byte| byte == 3));
    assert_eq!(arena.used_bytes(), 3 * KIB);

    let (held, reserved) = (arena.held_bytes(), arena.reserved_bytes());
    for _ in 0..10 {
        arena.reset();
        assert_eq!(arena.used_bytes(), 0);
        for _ in 0..3 {
            arena.alloc_slice_fill_copy(KIB, 1_u8);
        }
        assert_eq!(
            (arena.held_bytes(), arena.reserved_bytes()),
            (held, reserved)
        );
    }
}

#[test]
fn one_oversized_allocation_does_not_make_later_blocks_larger() {
    let arena = FrameArena::new(KIB);
    arena.alloc_layout(Layout::new::<[u8; KIB]>());
    arena.alloc_layout(Layout::new::<[u8; MIB]>());
    // A quarter more, for when it is a little larger, and rounded up.
    let held = arena.held_bytes();
    assert_eq!(held, HEADER_BYTES + KIB + 2 * MIB);
    arena.alloc_layout(Layout::new::<[u8; MIB - HEADER_BYTES]>());
    assert_eq!(arena.block_remaining_bytes(), 0);
    arena.alloc(0_u8);
    assert_eq!(arena.held_bytes(), held + KIB);
}

#[test]
fn a_list_that_is_longer_from_time_to_time_leaves_few_blocks_behind() {
    let mut arena = FrameArena::new(KIB);
    for n in 0..25 {
        let layout = Layout::array::<u8>((100 + n) * KIB).expect("it is a size that exists");
        arena.alloc_layout(layout);
        arena.reset();
    }
    // Up to 102 KiB in one block, and the others in another.
    assert_eq!(arena.reserved_bytes(), HEADER_BYTES + (1 + 128 + 256) * KIB);
}

#[test]
fn many_small_allocations_need_few_blocks() {
    let count = if cfg!(miri) { 3_000 } else { 100_000 };
    for capacity in [0, 64, KIB] {
        let arena = FrameArena::new(capacity);
        for n in 0..count as u64 {
            arena.alloc(n);
        }
        assert_eq!(arena.used_bytes(), 8 * count);
        // The tail of each block that was too short, and the headers.
        assert!(arena.held_bytes() < 9 * count + 64 * KIB, "{arena:?}");
    }
}

#[test]
fn a_hard_limit_fails_with_the_numbers() {
    let arena = hard_limit(KIB);
    let error = arena.try_alloc_slice_fill_copy(2 * KIB, 0_u8).unwrap_err();
    assert_eq!(
        error,
        ArenaError::Exhausted {
            requested: 2 * KIB,
            align: 1,
            remaining: KIB,
            limit: ArenaLimit::Worker { bytes: KIB },
            pace: None,
        }
    );
    arena.alloc_slice_fill_copy(KIB - 16, 0_u8);
    let refused = arena.try_alloc([0, 0, 0].map(Eight));
    let error = refused.map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame arena exhausted: 24 bytes requested, aligned to 8, and this worker uses 1008 bytes of \
         1 KiB; raise `FrameArenaSettings::worker_limit_bytes` to 2 KiB"
    );
    assert_eq!(*arena.alloc([1_u64; 2]), [1; 2]);
}

/// Aligned to its size on every platform, which a `u64` is not.
#[repr(align(8))]
struct Eight(#[expect(dead_code, reason = "its size counts")] u64);

#[test]
#[should_panic = "frame arena exhausted: 8 bytes requested, aligned to 8, and this worker uses 128 bytes of 128 bytes"]
fn the_plain_method_panics_with_the_text_of_its_twin() {
    let arena = hard_limit(128);
    for n in 0..=16 {
        arena.alloc(Eight(n));
    }
}

#[test]
fn failing_in_a_loop_changes_nothing() {
    let arena = hard_limit(KIB);
    arena.alloc(1_u64);
    let before = (arena.used_bytes(), arena.reserved_bytes());
    for _ in 0..if cfg!(miri) { 3 } else { 1_000 } {
        arena.try_alloc([0_u8; 2 * KIB]).unwrap_err();
        arena.try_alloc_with(|| [0_u8; 2 * KIB]).unwrap_err();
        arena.try_alloc_slice_copy(&[0_u8; 2 * KIB]).unwrap_err();
        arena.try_collect(0..2 * KIB).unwrap_err();
        arena.try_alloc_str(&"x".repeat(2 * KIB)).unwrap_err();
    }
    let after = (arena.used_bytes(), arena.reserved_bytes());
    assert_eq!(before, after);

    let growing = FrameArena::new(KIB);
    // Miri has no allocator that fails.
    for _ in 0..if cfg!(miri) { 0 } else { 1_000 } {
        growing
            .try_alloc_slice_fill_copy(isize::MAX as usize, 0_u8)
            .unwrap_err();
    }
    assert_eq!(growing.reserved_bytes(), HEADER_BYTES + KIB);
}

#[test]
fn a_budget_is_kept_to_the_byte() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        block_bytes: 4 * KIB,
        budget_bytes: Some(6 * KIB),
        ..Default::default()
    });
    arena.alloc_slice_fill_copy(4 * KIB - HEADER_BYTES, 0_u8);
    // A second block of the usual size would break the budget; a smaller one does not.
    arena.alloc_slice_fill_copy(2 * KIB - HEADER_BYTES, 0_u8);
    let error = arena.try_alloc(0_u8).unwrap_err();
    assert!(matches!(
        error,
        ArenaError::Exhausted {
            remaining: 0,
            limit: ArenaLimit::Budget { bytes: 6144 },
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "frame arena budget exhausted: 1 byte requested, aligned to 1, and no further block fits: all \
         workers and generations hold 6 KiB of 6 KiB; raise `FrameArenaSettings::budget_bytes` to 8 KiB"
    );
}

#[test]
fn a_capacity_that_does_not_exist_is_an_error() {
    // Miri has no allocator that fails, but a layout that does not exist.
    let limits = [usize::MAX, isize::MAX as usize, SURELY_TOO_MUCH];
    for &bytes in &limits[..if cfg!(miri) { 2 } else { 3 }] {
        let made = FrameArena::try_new(bytes);
        assert!(
            matches!(made, Err(ArenaError::AllocationFailed { .. })),
            "{bytes}: {made:?}"
        );
    }
    assert_eq!(FrameArena::new(0).held_bytes(), 0);
}

#[test]
fn the_debug_output_has_the_figures() {
    let arena = FrameArena::new(KIB);
    arena.alloc([0_u64; 4]);
    let text = format!("{arena:?}");
    assert!(
        text.contains("used_bytes: 32") && text.contains("held_bytes: 1088"),
        "{text}"
    );
}

#[test]
fn errors_say_what_happened_in_numbers() {
    let arena = FrameArena::new(KIB);
    let text = |error: ArenaError| error.to_string();
    let too_long = arena.try_alloc_slice_fill_copy(usize::MAX, 0_u16);
    let too_long = too_long.map_err(text).unwrap_err();
    assert!(too_long.starts_with(&format!("{} elements of 2 bytes", usize::MAX)));
    let failed = FrameArena::try_new(isize::MAX as usize).map_err(text);
    let failed = failed.unwrap_err();
    assert!(failed.contains(&format!("no block of {} bytes", isize::MAX)));
}

#[test]
fn sizes_in_errors_are_shown_to_the_last_byte() {
    for (requested, text) in [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (5000, "5000 bytes (4.9 KiB)"),
        (170 << 10, "170 KiB"),
        (3 << 19, "1536 KiB"),
        (1 << 20, "1 MiB"),
        ((64 << 20) - 8, "67108856 bytes (64 MiB)"),
        (3 << 30, "3072 MiB"),
    ] {
        let error = ArenaError::AllocationFailed { requested };
        let expected = format!("the global allocator has no block of {text} for an arena");
        assert_eq!(error.to_string(), expected);
    }
}
