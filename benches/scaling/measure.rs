//! The points of the plots.

use std::hint::black_box;
use std::sync::{Barrier, Mutex, RwLock};
use std::time::{Duration, Instant};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas};
use bumpalo::Bump;
use thread_local::ThreadLocal;

use crate::svg::Series;

const OURS: &str = "ours";
const NANOSECONDS: f64 = 1e9;

/// Returns the best of `rounds` times, in nanoseconds.
fn best(rounds: u32, mut work: impl FnMut() -> Duration) -> f64 {
    let times = (0..rounds).map(|_| work());
    times.min().unwrap_or_default().as_secs_f64() * NANOSECONDS
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

pub(crate) fn allocations() -> Vec<Series> {
    let mut ours = FrameArena::new(128 << 20);
    let mut bump = Bump::with_capacity(128 << 20);
    let mut series: Vec<Series> = [OURS, "bumpalo", "malloc"]
        .map(|name| (name, vec![]))
        .into();
    for power in 1..=7 {
        let count = 10_u64.pow(power);
        let rounds = (20_000_000 / count).clamp(3, 2000) as u32;
        let by_ours = best(rounds, || {
            timed(|| {
                for number in 0..count {
                    black_box(&ours).alloc(number);
                }
                ours.reset();
            })
        });
        let by_bump = best(rounds, || {
            timed(|| {
                for number in 0..count {
                    black_box(&bump).alloc(number);
                }
                bump.reset();
            })
        });
        let mut boxes = Vec::with_capacity(count as usize);
        let by_malloc = best(rounds.min(200), || {
            timed(|| {
                for number in 0..count {
                    boxes.push(Box::new(number));
                }
                boxes.clear();
            })
        });
        for (line, time) in series.iter_mut().zip([by_ours, by_bump, by_malloc]) {
            line.1.push((count as f64, time / count as f64));
        }
    }
    series
}

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Runs `rounds` frames: all threads do `work` at once, then `end` ends the frame.
///
/// Returns the best times of both, the former from the first start to the last end.
fn with_threads(
    threads: usize,
    rounds: u32,
    work: impl Fn() + Sync,
    mut end: impl FnMut(),
) -> (f64, f64) {
    let turns = &Barrier::new(threads + 1);
    let spans = &Mutex::new((Instant::now(), Instant::now()));
    let work = &work;
    let mut best_work = Duration::MAX;
    let mut best_end = Duration::MAX;
    std::thread::scope(|scope| {
        for number in 0..threads {
            let member = move || {
                for _ in 0..rounds {
                    turns.wait();
                    let start = Instant::now();
                    work();
                    let end = Instant::now();
                    let mut span = spans.lock().expect("no thread panics");
                    *span = (span.0.min(start), span.1.max(end));
                    drop(span);
                    turns.wait();
                }
            };
            std::thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn_scoped(scope, member)
                .expect("a thread");
        }
        for _ in 0..rounds {
            let far = Instant::now() + Duration::from_secs(3600);
            *spans.lock().expect("no thread panics") = (far, Instant::now());
            turns.wait();
            turns.wait();
            let (start, finish) = *spans.lock().expect("no thread panics");
            best_work = best_work.min(finish - start);
            best_end = best_end.min(timed(&mut end));
        }
    });
    let nanoseconds = |time: Duration| time.as_secs_f64() * NANOSECONDS;
    (nanoseconds(best_work), nanoseconds(best_end))
}

pub(crate) fn workers() -> Vec<Series> {
    const COUNT: u64 = 100_000;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let names = [OURS, "ThreadLocal<Bump>", "one Mutex<Bump>"];
    let mut series: Vec<Series> = names.map(|name| (name, vec![])).into();
    for threads in THREADS {
        let rounds = (400 / threads).clamp(10, 100) as u32;
        let arenas = RwLock::new(FrameArenas::default());
        let (by_ours, _) = with_threads(
            threads,
            rounds,
            || {
                let arenas = arenas.read().expect("no thread panics");
                let arena = arenas.local();
                for number in 0..COUNT {
                    black_box(arena).alloc(number);
                }
            },
            || arenas.write().expect("no thread panics").swap(),
        );
        let locals = RwLock::new(ThreadLocal::<Bump>::new());
        let (by_locals, _) = with_threads(
            threads,
            rounds,
            || {
                let locals = locals.read().expect("no thread panics");
                let bump = locals.get_or_default();
                for number in 0..COUNT {
                    black_box(bump).alloc(number);
                }
            },
            || {
                let mut locals = locals.write().expect("no thread panics");
                locals.iter_mut().for_each(Bump::reset);
            },
        );
        let shared = Mutex::new(Bump::with_capacity(64 << 20));
        let (by_shared, _) = with_threads(
            threads,
            rounds.min(10),
            || {
                for number in 0..COUNT / 10 {
                    shared.lock().expect("no thread panics").alloc(number);
                }
            },
            || shared.lock().expect("no thread panics").reset(),
        );
        let each = |time: f64, count: u64| {
            time * threads.min(cores) as f64 / (threads as f64 * count as f64)
        };
        let times = [
            each(by_ours, COUNT),
            each(by_locals, COUNT),
            each(by_shared, COUNT / 10),
        ];
        for (line, time) in series.iter_mut().zip(times) {
            line.1.push((threads as f64, time));
        }
    }
    series
}

pub(crate) fn swaps() -> Vec<Series> {
    let points = THREADS.map(|threads| {
        let arenas = RwLock::new(FrameArenas::default());
        let work = || {
            let arenas = arenas.read().expect("no thread panics");
            arenas.local().alloc(7_u64);
        };
        let end = || arenas.write().expect("no thread panics").swap();
        let (_, swap) = with_threads(threads, 300, work, end);
        (threads as f64, swap)
    });
    vec![(OURS, points.into())]
}

pub(crate) fn generations() -> Vec<Series> {
    let points = [0_usize, 1, 2, 4, 8, 16].map(|count| {
        let mut arenas = FrameArenas::default();
        let mut leases = Vec::new();
        for _ in 0..count {
            arenas.local().alloc(7_u64);
            leases.push(arenas.lease());
            arenas.swap();
        }
        arenas.swap();
        arenas.swap();
        let time = best(5000, || {
            arenas.local().alloc(7_u64);
            timed(|| arenas.swap())
        });
        (arenas.usage().generations as f64, time)
    });
    vec![(OURS, points.into())]
}

/// A steady load with a spike: what is used, and what is held for it.
pub(crate) fn memory() -> Vec<Series> {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        block_bytes: 1 << 20,
        trim_after_periods: Some(120),
        ..FrameArenaSettings::default()
    });
    let names = ["used", "high watermark", "reserved"];
    let mut series: Vec<Series> = names.map(|name| (name, vec![])).into();
    for frame in 0..600_u32 {
        let kibibytes = match frame {
            100..110 => 32 << 10,
            _ => 1024 + (frame % 7) * 64,
        };
        for _ in 0..kibibytes {
            arenas.local().alloc([0_u8; 1024]);
        }
        arenas.swap();
        // Every third frame draws the same lines.
        if frame % 3 != 0 {
            continue;
        }
        let usage = arenas.usage();
        let bytes = [
            usage.used_bytes,
            usage.high_watermark_bytes,
            usage.reserved_bytes,
        ];
        for (line, bytes) in series.iter_mut().zip(bytes) {
            line.1
                .push((f64::from(frame), bytes as f64 / f64::from(1 << 20)));
        }
    }
    series
}
