//! What scratch takes and gives back.

use bevy_frame_arena::{ArenaError, FrameArenaSettings, FrameArenas};

use crate::common::counting_allocator::calls_in;
use crate::small;

#[test]
fn once_warm_nothing_comes_from_the_global_allocator() {
    let mut arenas = small();
    let frame = |arenas: &mut FrameArenas| {
        for _ in 0..if cfg!(miri) { 2 } else { 10 } {
            let outer = arenas.scratch();
            outer.alloc_slice_fill_copy(2000, 1_u8);
            let inner = arenas.scratch();
            inner.alloc_slice_fill_copy(9000, 1_u8);
        }
        arenas.swap();
    };
    frame(&mut arenas);
    frame(&mut arenas);
    let frames = if cfg!(miri) { 2 } else { 20 };
    assert_eq!(calls_in(|| (0..frames).for_each(|_| frame(&mut arenas))), 0);
}

#[test]
fn memory_after_a_spike_is_given_back() {
    const SPIKE_BYTES: usize = if cfg!(miri) { 300 << 10 } else { 8 << 20 };
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        trim_after_periods: Some(4),
        fill_recycled: false,
        ..FrameArenaSettings::default()
    });
    let spike = arenas.scratch();
    spike.alloc_layout(std::alloc::Layout::array::<u8>(SPIKE_BYTES).unwrap());
    drop(spike);
    arenas.swap();
    assert!(arenas.usage().reserved_bytes >= SPIKE_BYTES);
    assert!(arenas.usage().scratch_high_watermark_bytes >= SPIKE_BYTES);
    for _ in 0..12 {
        arenas.scratch().alloc([0_u8; 100]);
        arenas.swap();
    }
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!(reserved_bytes < SPIKE_BYTES, "{reserved_bytes}");
    // And all of it once nobody uses any.
    (0..12).for_each(|_| arenas.swap());
    assert_eq!(arenas.usage().reserved_bytes, 0);
}

#[test]
fn scratch_goes_with_its_arenas() {
    let calls_to_drop = |guards: usize| {
        let arenas = small();
        let held: Vec<_> = (0..guards).map(|_| arenas.scratch()).collect();
        held.iter().for_each(|scratch| _ = scratch.alloc(1));
        drop(held);
        calls_in(|| drop(arenas))
    };
    // Each has a place and a chunk, at least.
    assert!(calls_to_drop(5) >= calls_to_drop(1) + 4 * 2);
}

#[test]
fn a_trim_gives_all_scratch_back() {
    let mut arenas = FrameArenas::default();
    arenas.scratch().alloc([0_u8; 100]);
    arenas.swap();
    assert!(arenas.usage().reserved_bytes > 0);
    arenas.trim();
    arenas.swap();
    assert_eq!(arenas.usage().reserved_bytes, 0);
    assert_eq!(*arenas.scratch().alloc(7), 7);
    let text = format!("{:?}", arenas.scratch());
    assert!(
        text.starts_with("Scratch(FrameArena { used_bytes: 0"),
        "{text}"
    );
}

#[test]
fn memory_is_kept_for_the_time_that_the_settings_say_and_not_for_much_longer() {
    const FRAMES: u32 = 64;
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        trim_after_periods: Some(FRAMES),
        ..FrameArenaSettings::default()
    });
    arenas.scratch().alloc([0_u8; 100]);
    let mut frames = 0;
    while frames == 0 || arenas.usage().reserved_bytes > 0 {
        arenas.swap();
        frames += 1;
        assert!(frames <= 2 * FRAMES, "it is never given back");
    }
    // The time is measured in eighths, and the frame of its use counts.
    assert!((FRAMES..=FRAMES + FRAMES / 8).contains(&frames), "{frames}");
}

#[test]
fn scratch_starts_small_and_counts_in_the_budget() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(4 << 20),
        ..FrameArenaSettings::default()
    });
    arenas.scratch().alloc(1);
    arenas.swap();
    assert_eq!(arenas.usage().reserved_bytes, 8 << 10);
    let scratch = arenas.scratch();
    let error = scratch.try_alloc_slice_fill_copy(4 << 20, 0_u8);
    assert!(matches!(error, Err(ArenaError::Exhausted { .. })));
}

#[test]
fn under_a_hard_limit_scratch_has_the_capacity_of_a_worker() {
    let arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(256 << 10),
        ..FrameArenaSettings::default()
    });
    let scratch = arenas.scratch();
    assert!(scratch.try_alloc([0_u8; 200 << 10]).is_ok());
    assert!(scratch.try_alloc([0_u8; 100 << 10]).is_err());
}
