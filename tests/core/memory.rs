//! The memory of all workers over many frames: spikes are given back, steady loads keep theirs.

use std::alloc::Layout;

use bevy_frame_arena::{
    ArenaError, ArenaLimit, FrameArenaSettings, FrameArenas, LivesFor, OverflowPolicy,
};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn arenas(trim_after_frames: Option<u32>) -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 64 * KIB,
        trim_after_frames,
        ..Default::default()
    })
}

/// Runs a frame that allocates `bytes`, and returns what is reserved after it.
fn frame(arenas: &mut FrameArenas, bytes: usize) -> usize {
    let layout = Layout::array::<u8>(bytes).expect("it is a size that exists");
    arenas.local().alloc_layout(layout);
    arenas.swap();
    arenas.usage().reserved_bytes
}

#[test]
fn nothing_is_reserved_before_the_first_allocation() {
    let mut arenas = arenas(None);
    arenas.swap();
    arenas.local();
    arenas.swap();
    assert_eq!(arenas.usage().reserved_bytes, 0);
    assert_eq!(frame(&mut arenas, 1), 64 * KIB);
    assert_eq!(frame(&mut arenas, 1), 128 * KIB);
    assert_eq!(frame(&mut arenas, 1), 128 * KIB);
}

#[test]
fn figures_are_copied_into_those_that_are_there() {
    let mut arenas = arenas(None);
    let mut copy = arenas.usage().clone();
    let elsewhere = std::thread::Builder::new().name("elsewhere".into());
    std::thread::scope(|scope| {
        let work = || _ = arenas.local().alloc(1_u64);
        elsewhere
            .spawn_scoped(scope, work)
            .expect("a thread starts");
    });
    arenas.swap();
    let of_the_other = arenas.usage().clone();
    let mut arenas = self::arenas(None);
    frame(&mut arenas, 100);
    for usage in [arenas.usage(), &of_the_other, arenas.usage()] {
        copy.clone_from(usage);
        assert_eq!(copy, *usage);
    }
}

/// As the docs of the setting say, on each platform that the tests run on.
#[test]
fn the_default_capacity_suits_the_platform() {
    let expected = if cfg!(target_family = "wasm") {
        256 * KIB
    } else if cfg!(windows) || cfg!(target_pointer_width = "32") {
        MIB
    } else {
        16 * MIB
    };
    let mut arenas = FrameArenas::default();
    assert_eq!(arenas.settings().worker_capacity_bytes, expected);
    assert_eq!(frame(&mut arenas, 1), expected);
}

#[test]
fn chunks_that_nobody_asked_for_are_kept_as_long_as_the_settings_say() {
    const FRAMES: u32 = 64;
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 4 * KIB,
        pretouch_bytes: KIB,
        trim_after_frames: Some(FRAMES),
        ..Default::default()
    });
    let mut frames = 0;
    while arenas.usage().reserved_bytes > 0 {
        arenas.swap();
        frames += 1;
        assert!(frames <= 2 * FRAMES, "they are never freed");
    }
    // The time is measured in eighths. Each generation counts all frames since its last recycle,
    // the first time one more than there were.
    assert!(
        (FRAMES - 1..=FRAMES + FRAMES / 4).contains(&frames),
        "{frames}"
    );
}

#[test]
fn the_capacity_of_a_worker_is_that_of_the_chunks_it_has() {
    let mut arenas = arenas(None);
    let capacity = |arenas: &FrameArenas| arenas.usage().workers[0].reserved_bytes;
    frame(&mut arenas, 1);
    assert_eq!(capacity(&arenas), 64 * KIB);
    frame(&mut arenas, 100 * KIB);
    let after_a_spike = capacity(&arenas);
    let worker = &arenas.usage().workers[0];
    assert_eq!(
        (worker.used_bytes, worker.peak_bytes),
        (100 * KIB, 100 * KIB)
    );
    assert!(after_a_spike >= 100 * KIB);
    // The other generation has its own, and this one keeps what it has got.
    frame(&mut arenas, 1);
    assert_eq!(capacity(&arenas), 64 * KIB);
    frame(&mut arenas, 1);
    assert_eq!(capacity(&arenas), after_a_spike);
    arenas.swap();
    assert_eq!(capacity(&arenas), 0, "it had none in a frame without it");
}

#[test]
fn a_spike_is_given_back_after_the_frames_that_the_settings_say() {
    let mut arenas = arenas(Some(20));
    for _ in 0..10 {
        frame(&mut arenas, 10 * KIB);
    }
    for _ in 0..2 {
        assert!(frame(&mut arenas, 8 * MIB) > 8 * MIB);
    }
    let reserved: Vec<usize> = (0..60).map(|_| frame(&mut arenas, 10 * KIB)).collect();
    assert!(reserved[5] > 16 * MIB, "kept at first");
    assert_eq!(reserved[59], 128 * KIB, "given back");
    assert_eq!(arenas.usage().high_watermark_bytes, 8 * MIB);
}

#[test]
fn without_a_trim_everything_is_kept() {
    let mut arenas = arenas(None);
    frame(&mut arenas, 8 * MIB);
    let after = frame(&mut arenas, 10 * KIB);
    for _ in 0..if cfg!(miri) { 20 } else { 1_000 } {
        assert_eq!(frame(&mut arenas, 10 * KIB), after);
    }
}

#[test]
fn a_steady_load_in_several_chunks_is_kept_as_it_is() {
    let mut arenas = arenas(Some(10));
    for _ in 0..4 {
        frame(&mut arenas, MIB);
    }
    let reserved = frame(&mut arenas, MIB);
    for n in 0..200 {
        // A third less, and up again.
        let bytes = MIB - n % 2 * MIB / 3;
        assert_eq!(frame(&mut arenas, bytes), reserved);
    }
}

#[test]
fn usage_adds_up_over_chunks() {
    let mut arenas = arenas(None);
    for n in 0..1_000_u64 {
        arenas.local().alloc([n; 100]);
    }
    assert_eq!(arenas.used_bytes_so_far(), 800_000);
    arenas.swap();
    let usage = arenas.usage();
    assert_eq!(usage.used_bytes, 800_000);
    assert_eq!((usage.frame, arenas.frame()), (0, 1));
    assert_eq!(usage.workers.len(), 1);
    assert!(usage.overflows > 0 && usage.workers[0].overflows == usage.overflows);
    assert_eq!(arenas.used_bytes_so_far(), 0);
}

/// A vector that is freed in place is not in use at the end of the frame.
fn frame_with_scratch(arenas: &mut FrameArenas, scratch: usize, bytes: usize) -> usize {
    drop(arenas.local().vec_with_capacity::<u8>(scratch));
    frame(arenas, bytes)
}

#[test]
fn a_spike_is_given_back_although_it_was_freed_within_its_frame() {
    let mut arenas = arenas(Some(10));
    for _ in 0..2 {
        frame_with_scratch(&mut arenas, 8 * MIB, 1);
    }
    assert!(arenas.usage().reserved_bytes >= 16 * MIB, "kept at first");
    let reserved = (0..40).map(|_| frame(&mut arenas, 1)).last();
    assert_eq!(reserved, Some(128 * KIB));
}

#[test]
fn a_steady_load_is_kept_although_it_is_freed_within_each_frame() {
    let mut arenas = arenas(Some(10));
    for _ in 0..4 {
        frame_with_scratch(&mut arenas, 4 * MIB, KIB);
    }
    let reserved = arenas.usage().reserved_bytes;
    for n in 0..200 {
        // What is left at the end varies by far more than the scratch.
        let left = if n / 20 % 2 == 0 { 300 * KIB } else { KIB };
        assert_eq!(frame_with_scratch(&mut arenas, 4 * MIB, left), reserved);
    }
}

#[test]
fn an_idle_worker_gives_everything_back() {
    let mut arenas = arenas(Some(10));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| arenas.local().alloc(1_u8));
        }
    });
    assert_eq!(frame(&mut arenas, 1), 9 * 64 * KIB);
    let reserved = (0..40).map(|_| frame(&mut arenas, 1)).last();
    assert_eq!(reserved, Some(128 * KIB));
}

#[test]
fn a_worker_under_a_limit_recovers_when_the_budget_does() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 64 * KIB,
        overflow: OverflowPolicy::Fail,
        budget_bytes: Some(129 * KIB),
        trim_after_frames: Some(4),
        ..Default::default()
    });
    // Leases make more generations necessary than the budget is for.
    let leases = [(); 2].map(|()| {
        frame(&mut arenas, 1);
        arenas.local().alloc(1_u8);
        arenas.lease()
    });
    arenas.swap();
    let refused = arenas.local().try_alloc(1_u8);
    assert!(matches!(
        refused,
        Err(ArenaError::Exhausted {
            limit: ArenaLimit::Budget { .. },
            ..
        })
    ));
    drop(leases);
    for _ in 0..20 {
        arenas.swap();
        let _refused_at_first = arenas.local().try_alloc(1_u8);
    }
    assert!(arenas.local().try_alloc([0_u8; 60 * KIB]).is_ok());
}

/// Fills a frame with values until the budget refuses one, and returns how many there were.
fn fill<T: Default>(arenas: &FrameArenas) -> usize {
    let arena = arenas.local();
    (0..)
        .take_while(|_| arena.try_alloc(T::default()).is_ok())
        .count()
}

fn with_budget(budget_bytes: usize) -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 16 * MIB,
        budget_bytes: Some(budget_bytes),
        ..Default::default()
    })
}

#[test]
fn a_budget_is_used_up_in_few_chunks() {
    let budget = if cfg!(miri) { 15 * KIB } else { 15 * MIB };
    let arenas = with_budget(budget);
    let count = fill::<[u64; 4]>(&arenas);
    assert!(count * 32 > budget / 10 * 9, "{count} values of 32 bytes");
    let overflows = arenas.local().overflows();
    assert!(overflows < 40, "{overflows} chunks");
}

#[test]
fn frames_find_memory_again_after_a_spike_that_was_refused() {
    let budget = if cfg!(miri) { 15 * KIB } else { 15 * MIB };
    let mut arenas = with_budget(budget);
    fill::<[u64; 4]>(&arenas);
    // What the spike took can still be read in the next frame.
    arenas.swap();
    for frame in 0..20 {
        arenas.swap();
        for _ in 0..budget / 3 / 200 {
            let refused = arenas.local().try_alloc([0_u64; 25]).err();
            assert_eq!(refused, None, "in frame {frame}");
        }
    }
    assert_eq!(arenas.usage().refusals, 0);
}

#[test]
fn memory_is_given_back_when_it_is_asked_for() {
    let mut arenas = arenas(None);
    for _ in 0..3 {
        frame(&mut arenas, MIB);
    }
    arenas.trim();
    assert!(frame(&mut arenas, KIB) < 2 * MIB);
    assert_eq!(frame(&mut arenas, KIB), 64 * KIB, "one generation is empty");
    assert_eq!(frame(&mut arenas, KIB), 128 * KIB);
}

#[test]
fn an_idle_worker_gives_its_memory_back_in_the_time_that_the_settings_say() {
    for lives_for in [
        LivesFor::OnePeriod,
        LivesFor::TwoPeriods,
        LivesFor::ThreePeriods,
    ] {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            worker_capacity_bytes: 64 * KIB,
            trim_after_frames: Some(600),
            lives_for,
            ..Default::default()
        });
        // In the middle of the time, whatever it started with.
        for _ in 0..307 {
            frame(&mut arenas, KIB);
        }
        let idle = (1..2_000).find(|_| {
            arenas.swap();
            arenas.usage().reserved_bytes == 0
        });
        let idle = idle.expect("it is given back");
        assert!((600..=690).contains(&idle), "after {idle} frames");
    }
}

#[test]
fn data_lives_for_as_many_periods_as_the_settings_say() {
    for (lives_for, periods) in [
        (LivesFor::OnePeriod, 1),
        (LivesFor::TwoPeriods, 2),
        (LivesFor::ThreePeriods, 3),
    ] {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            lives_for,
            ..Default::default()
        });
        assert_eq!(arenas.usage().generations, periods);
        for frame in 0..10_u64 {
            let handle = arenas.local().share(frame);
            let lease = arenas.lease();
            for age in 1..=4 {
                arenas.swap();
                let expected = (age < periods).then_some(&frame);
                assert_eq!(arenas.get(handle), expected);
                arenas.local().share(100 + frame);
            }
            assert_eq!(lease.get(handle), Some(&frame));
        }
    }
}

#[test]
fn the_figures_of_memory_are_there_before_the_first_swap() {
    let arenas = FrameArenas::default();
    let usage = arenas.usage();
    assert_eq!((usage.generations, usage.parked), (2, 0));
    assert_eq!((usage.frame, usage.reserved_bytes), (0, 0));
}
