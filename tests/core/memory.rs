//! The memory of all workers over many frames: spikes are given back, steady loads keep theirs.

use std::alloc::Layout;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, LivesFor};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// The first block of a worker.
const FIRST: usize = 8 * KIB;

fn arenas(trim_after_periods: Option<u32>) -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        block_bytes: 64 * KIB,
        trim_after_periods,
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
    for _ in 0..3 {
        assert_eq!(frame(&mut arenas, 1), FIRST);
    }
}

/// What is shared is kept for the next frame, and is then in memory twice.
#[test]
fn only_shared_data_takes_a_second_block() {
    let mut arenas = arenas(None);
    for (frame, reserved) in [(0, FIRST), (1, 2 * FIRST), (2, 2 * FIRST)] {
        arenas.local().share(frame);
        arenas.swap();
        assert_eq!(arenas.usage().reserved_bytes, reserved);
    }
}

/// Held, kept and free make up what is reserved.
fn adds_up(arenas: &FrameArenas) -> bool {
    let usage = arenas.usage();
    usage.reserved_bytes == usage.held_bytes + usage.kept_bytes + usage.free_bytes
}

#[test]
fn the_figures_of_memory_add_up_at_every_moment() {
    let mut arenas = arenas(Some(5));
    let mut leases = Vec::new();
    for n in 0..200 {
        let bytes = if n % 50 == 7 { MIB } else { KIB };
        arenas.local().alloc_slice_fill_copy(bytes, 1_u8);
        if n % 3 > 0 {
            arenas.local().share(n);
        }
        drop(arenas.scratch().boxed([0_u8; 100]));
        if n % 10 == 0 {
            leases.push(arenas.lease());
        }
        if n % 41 == 0 {
            leases.clear();
            arenas.recycle_parked();
            assert!(
                adds_up(&arenas),
                "after recycle_parked: {:?}",
                arenas.usage()
            );
        }
        if n % 67 == 0 {
            arenas.trim();
            assert_eq!(arenas.usage().free_bytes, 0);
            assert!(adds_up(&arenas), "after trim: {:?}", arenas.usage());
        }
        arenas.swap();
        assert!(adds_up(&arenas), "frame {n}: {:?}", arenas.usage());
    }
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
fn the_default_block_suits_the_platform() {
    let expected = if cfg!(target_family = "wasm") {
        64 * KIB
    } else {
        128 * KIB
    };
    let mut arenas = FrameArenas::default();
    assert_eq!(arenas.settings().block_bytes, expected);
    assert_eq!(frame(&mut arenas, 1), FIRST);
    // More than half of a block, so no smaller one is taken for it.
    let reserved_bytes = frame(&mut arenas, expected / 2 + KIB);
    assert_eq!(reserved_bytes, FIRST + expected);
}

#[test]
fn pretouched_blocks_are_kept_as_long_as_the_settings_say() {
    const FRAMES: u32 = 64;
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 4 * KIB,
        pretouch_bytes: KIB,
        trim_after_periods: Some(FRAMES),
        ..Default::default()
    });
    let mut frames = 0;
    while arenas.usage().reserved_bytes > 0 {
        arenas.swap();
        frames += 1;
        assert!(frames <= 2 * FRAMES, "they are never freed");
    }
    assert!((FRAMES..=FRAMES + FRAMES / 8).contains(&frames), "{frames}");
}

#[test]
fn pretouched_memory_is_a_total_and_leaves_the_budget_to_the_workers() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        pretouch_bytes: MIB,
        budget_bytes: Some(MIB),
        ..Default::default()
    });
    assert_eq!(arenas.usage().reserved_bytes, MIB);
    assert!(arenas.scratch().try_alloc([0_u8; 8]).is_ok());
    // What was pretouched is given up for what is needed.
    let layout = Layout::array::<u8>(MIB / 2).expect("it is a size that exists");
    assert!(arenas.local().try_alloc_layout(layout).is_ok());
    arenas.swap();
    assert!(arenas.usage().reserved_bytes <= MIB);
}

#[test]
fn a_worker_holds_what_it_needed_in_the_frame() {
    let mut arenas = arenas(None);
    let held = |arenas: &FrameArenas| arenas.usage().workers[0].held_bytes;
    frame(&mut arenas, 1);
    assert_eq!(held(&arenas), FIRST);
    frame(&mut arenas, 100 * KIB);
    let worker = &arenas.usage().workers[0];
    assert_eq!(
        (worker.used_bytes, worker.peak_bytes),
        (100 * KIB, 100 * KIB)
    );
    assert_eq!(held(&arenas), 128 * KIB);
    frame(&mut arenas, 1);
    assert_eq!(held(&arenas), FIRST);
    arenas.swap();
    assert_eq!(held(&arenas), 0, "it had none in a frame without it");
}

#[test]
fn a_spike_is_given_back_after_the_frames_that_the_settings_say() {
    let mut arenas = arenas(Some(20));
    for _ in 0..10 {
        frame(&mut arenas, 5 * KIB);
    }
    for _ in 0..2 {
        assert!(frame(&mut arenas, 8 * MIB) > 8 * MIB);
    }
    let reserved: Vec<usize> = (0..60).map(|_| frame(&mut arenas, 5 * KIB)).collect();
    let given_back = reserved.iter().position(|&bytes| bytes == FIRST);
    let frames = given_back.expect("the spike is given back");
    assert!((19..=22).contains(&frames), "after {frames} frames");
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
fn a_steady_load_in_several_blocks_is_kept_as_it_is() {
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
fn usage_adds_up_over_blocks() {
    let mut arenas = arenas(None);
    let count = if cfg!(miri) { 100 } else { 1000 };
    let bytes = 800 * count;
    for n in 0..count {
        arenas.local().alloc([n as u64; 100]);
    }
    assert_eq!(arenas.used_bytes_so_far(), bytes);
    arenas.swap();
    let usage = arenas.usage();
    assert_eq!(usage.used_bytes, bytes);
    assert_eq!((usage.period, arenas.period()), (0, 1));
    assert_eq!(usage.workers.len(), 1);
    assert!(usage.held_bytes > bytes && usage.workers[0].held_bytes == usage.held_bytes);
    assert_eq!(arenas.used_bytes_so_far(), 0);
}

/// A vector that is freed in place is not in use at the end of the frame.
/// Swaps until nothing is reserved, and returns how often.
fn swaps_until_empty(arenas: &mut FrameArenas) -> u32 {
    let swap = |arenas: &mut FrameArenas| {
        arenas.swap();
        arenas.usage().reserved_bytes
    };
    (1..).find(|_| swap(arenas) == 0).expect("a number")
}

#[test]
fn a_short_window_is_exact_and_a_longer_one_late_by_an_eighth() {
    for periods in (1..40).chain([64, 100]) {
        let in_time = periods..=periods + periods / 8;
        for phase in 0..3 {
            let mut arenas = arenas(Some(periods));
            (0..phase).for_each(|_| arenas.swap());
            frame(&mut arenas, MIB);
            let swaps = swaps_until_empty(&mut arenas);
            assert!(in_time.contains(&swaps), "{periods}: {swaps}");

            // Scratch keeps its block, until a swap finds that it was not used: the figures of that
            // swap still have it.
            arenas.scratch().alloc(1);
            arenas.swap();
            let swaps = swaps_until_empty(&mut arenas);
            let in_time = periods.max(2)..=periods.max(2) + periods / 8;
            assert!(in_time.contains(&swaps), "scratch, {periods}: {swaps}");
        }
    }
}

#[test]
fn threads_that_end_leave_no_memory_behind() {
    let threads = if cfg!(miri) { 4 } else { 40 };
    let mut arenas = arenas(None);
    for _ in 0..5 {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| arenas.local().alloc(1));
            }
        });
        arenas.swap();
        let usage = arenas.usage();
        assert_eq!(usage.active_workers, threads);
        assert_eq!(usage.workers[0].held_bytes, threads * FIRST);
        assert_eq!(usage.reserved_bytes, threads * FIRST);
        assert!(adds_up(&arenas));
    }
    arenas.trim();
    assert_eq!(arenas.usage().reserved_bytes, 0);
    assert!(adds_up(&arenas));
}

fn frame_with_scratch(arenas: &mut FrameArenas, scratch: usize, bytes: usize) -> usize {
    drop(arenas.local().vec_with_capacity::<u8>(scratch));
    frame(arenas, bytes)
}

#[test]
fn a_spike_is_given_back_although_it_was_freed_within_its_frame() {
    let mut arenas = arenas(Some(10));
    frame_with_scratch(&mut arenas, 8 * MIB, 1);
    assert!(arenas.usage().reserved_bytes >= 8 * MIB, "kept at first");
    let reserved = (0..40).map(|_| frame(&mut arenas, 1)).last();
    assert_eq!(reserved, Some(FIRST));
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
    assert_eq!(frame(&mut arenas, 1), 9 * FIRST);
    let reserved = (0..40).map(|_| frame(&mut arenas, 1)).last();
    assert_eq!(reserved, Some(FIRST));
}

/// Leases make more generations necessary, but those hold no memory once they are spare.
#[test]
fn spare_generations_do_not_starve_the_budget() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(MIB),
        trim_after_periods: None,
        ..Default::default()
    });
    let leases = [(); 14].map(|()| {
        arenas.local().share([1_u8; 1000]);
        arenas.swap();
        arenas.lease()
    });
    drop(leases);
    for _ in 0..3 {
        arenas.swap();
        let layout = Layout::array::<u8>(300 * KIB).expect("it is a size that exists");
        assert!(arenas.local().try_alloc_layout(layout).is_ok());
    }
}

#[test]
fn spare_generations_are_kept_as_long_as_so_many_are_needed() {
    let mut arenas = arenas(Some(100));
    let leases: Vec<_> = (0..40)
        .map(|_| {
            arenas.swap();
            arenas.lease()
        })
        .collect();
    drop(leases);
    for n in 0..500 {
        let lease = (n % 50 == 0).then(|| arenas.lease());
        arenas.swap();
        arenas.swap();
        drop(lease);
    }
    assert!(arenas.usage().generations <= 4, "{:?}", arenas.usage());
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
        block_bytes: 16 * MIB,
        budget_bytes: Some(budget_bytes),
        ..Default::default()
    })
}

#[test]
fn a_budget_is_used_up() {
    let budget = if cfg!(miri) { 15 * KIB } else { 15 * MIB };
    let arenas = with_budget(budget);
    let count = fill::<[u64; 4]>(&arenas);
    assert!(count * 32 > budget / 10 * 9, "{count} values of 32 bytes");
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
    assert_eq!(arenas.usage().reserved_bytes, 0);
    // What is kept for handles would go with these two.
    assert_eq!(
        [KIB; 3].map(|bytes| frame(&mut arenas, bytes)),
        [0, 0, FIRST]
    );
}

#[test]
fn an_idle_worker_gives_its_memory_back_in_the_time_that_the_settings_say() {
    for lives_for in [
        LivesFor::OnePeriod,
        LivesFor::TwoPeriods,
        LivesFor::ThreePeriods,
    ] {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            block_bytes: 64 * KIB,
            trim_after_periods: Some(600),
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
        assert!((600..=675).contains(&idle), "after {idle} frames");
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
    assert_eq!((usage.period, usage.reserved_bytes), (0, 0));
}
