//! A headless app under random load, for a long time: nothing grows, and the figures add up.
//!
//! `cargo test --test app soak` runs some frames. For a long run, alone and in release:
//!
//! ```sh
//! SOAK_FRAMES=1000000 SOAK_PLOT=plot.svg MALLOC_MMAP_THRESHOLD_=65536 \
//!     cargo test --release --test app soak -- --nocapture
//! ```
//!
//! Four systems allocate in parallel, with spikes; leases are taken and kept for a random time,
//! and memory is trimmed. After each frame the figures must add up; in the end every shared value
//! must have been dropped once. A long run also looks at the memory of the process, which must be
//! where it was after the warm-up: with `SOAK_FRAMES` the test should have the process to itself.
//!
//! What glibc's allocator keeps of freed chunks for itself hides that for the first 100,000 frames
//! or so; `MALLOC_MMAP_THRESHOLD_=65536` in the environment makes it give them back at once.

mod plot;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use bevy_app::{App, Last, TaskPoolOptions, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenaSettings, FrameArenas, FrameLease};

const FRAMES: u64 = if cfg!(miri) { 3 } else { 1_000 };
const SAMPLES: u64 = 200;

static SHARED: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Bytes that the systems of this frame have seen their arenas hand out.
#[derive(Resource, Default)]
struct Expected(AtomicUsize);

/// Leases, with the frame in which each one ends.
#[derive(Resource, Default)]
struct Leases(Vec<(u64, FrameLease)>);

/// The highest figures so far.
#[derive(Resource, Default)]
struct Totals {
    used_bytes: u64,
    refusals: u64,
    most_parked: usize,
    most_reserved_bytes: usize,
}

/// One line of the plot.
struct Sample {
    resident_bytes: usize,
    reserved_bytes: usize,
    used_bytes: usize,
}

/// A shared value with a destructor.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

#[test]
fn memory_stays_flat_and_the_figures_add_up_under_random_load() {
    let long: Option<u64> = std::env::var("SOAK_FRAMES")
        .ok()
        .map(|frames| frames.parse().expect("`SOAK_FRAMES` is a number"));
    let frames = long.unwrap_or(FRAMES);

    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(8),
        },
        FrameArenaPlugin {
            settings: FrameArenaSettings {
                block_bytes: 256 << 10,
                trim_after_periods: Some(120),
                ..FrameArenaSettings::default()
            },
            ..FrameArenaPlugin::default()
        },
    ))
    .init_resource::<Expected>()
    .init_resource::<Leases>()
    .init_resource::<Totals>()
    .add_systems(
        Update,
        (load::<1>, load::<2>, load::<3>, load::<4>, hold_leases),
    )
    .add_systems(Last, check_figures);
    app.finish();

    let start = Instant::now();
    let mut samples = Vec::new();
    for frame in 0..frames {
        app.update();
        if frame % frames.div_ceil(SAMPLES) == 0 {
            let usage = app.world().resource::<FrameArenas>().usage();
            samples.push(Sample {
                resident_bytes: resident_bytes(),
                reserved_bytes: usage.reserved_bytes,
                used_bytes: usage.used_bytes,
            });
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let totals = app
        .world_mut()
        .remove_resource::<Totals>()
        .expect("it was added");
    drop(app);

    report(frames, seconds, &totals);
    if let Some(path) = std::env::var_os("SOAK_PLOT") {
        std::fs::write(path, plot::svg(&samples)).expect("the plot can be written");
    }
    let (made, dropped) = (SHARED.load(Relaxed), DROPPED.load(Relaxed));
    println!("shared values         {made} made, {dropped} dropped");
    assert_eq!(made, dropped, "every shared value is dropped once");
    if long.is_some() {
        assert!(is_flat(&samples), "the process grew");
    }
    println!("soak: ok");
}

/// Allocates a random amount, now and then a great deal.
fn load<const SEED: u64>(arenas: Res<FrameArenas>, expected: Res<Expected>) {
    let mut random =
        Random(arenas.period().wrapping_mul(0x9E37_79B9) ^ SEED.wrapping_mul(0xABCD_EF01));
    let arena = arenas.local();
    let before = arena.used_bytes();

    let mut list = arena.vec();
    for number in 0..random.below(200) {
        list.push(number);
        if number % 16 == 0 {
            arena.alloc_fmt(format_args!("entity {number}"));
        }
    }
    let handle = arena.share_slice_copy(&list);
    assert_eq!(arenas[handle], *list);
    if random.below(8) == 0 {
        SHARED.fetch_add(1, Relaxed);
        arena.share(Counted);
    }
    if random.below(700) == 0 {
        let len = (1 + random.below(4) as usize) << 20;
        arena.alloc_slice_fill_copy(len, SEED as u8);
    }
    drop(list);
    expected.0.fetch_add(arena.used_bytes() - before, Relaxed);
}

/// Takes leases, and ends those that are due.
fn hold_leases(arenas: Res<FrameArenas>, mut leases: ResMut<Leases>) {
    let frame = arenas.period();
    let mut random = Random(frame | 1 << 40);
    if random.below(6) == 0 {
        leases.0.push((frame + random.below(12), arenas.lease()));
    }
    leases.0.retain(|(end, _)| *end > frame);
}

/// Compares this frame's figures with what the systems have seen, and the last one's among each
/// other.
fn check_figures(arenas: Res<FrameArenas>, expected: Res<Expected>, mut totals: ResMut<Totals>) {
    let used = expected.0.swap(0, Relaxed);
    assert_eq!(arenas.used_bytes_so_far(), used);
    let usage = arenas.usage();
    assert_eq!(usage.period + 1, arenas.period());
    assert_eq!(
        usage
            .workers
            .iter()
            .map(|worker| worker.used_bytes)
            .sum::<usize>(),
        usage.used_bytes
    );
    assert!(usage.generations >= 2 + usage.parked);
    assert!(usage.used_bytes <= usage.high_watermark_bytes);
    totals.used_bytes += used as u64;
    assert_eq!(
        usage.held_bytes + usage.kept_bytes + usage.free_bytes,
        usage.reserved_bytes
    );
    totals.refusals += usage.refusals;
    totals.most_parked = totals.most_parked.max(usage.parked);
    totals.most_reserved_bytes = totals.most_reserved_bytes.max(usage.reserved_bytes);
}

fn report(frames: u64, seconds: f64, totals: &Totals) {
    println!("frames                {frames} in {seconds:.1} s");
    println!(
        "handed out            {:.1} GiB",
        totals.used_bytes as f64 / (1_u64 << 30) as f64
    );
    println!("refusals              {}", totals.refusals);
    println!("most parked           {}", totals.most_parked);
    println!(
        "most reserved         {:.1} MiB",
        mib(totals.most_reserved_bytes)
    );
}

/// Whether the last quarter needs no more memory than the first half, give or take a spike.
fn is_flat(samples: &[Sample]) -> bool {
    let quarter = samples.len() / 4;
    let most = |part: &[Sample]| {
        part.iter()
            .map(|sample| sample.resident_bytes)
            .max()
            .unwrap_or(0)
    };
    let (early, late) = (most(&samples[..2 * quarter]), most(&samples[3 * quarter..]));
    println!(
        "resident, at most     {:.1} MiB early, {:.1} MiB late",
        mib(early),
        mib(late)
    );
    late <= early + early / 4 + (8 << 20)
}

/// Returns the resident memory of this process, or zero where `/proc` does not say.
fn resident_bytes() -> usize {
    let Ok(statm) = std::fs::read_to_string("/proc/self/statm") else {
        return 0;
    };
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

/// A small generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
