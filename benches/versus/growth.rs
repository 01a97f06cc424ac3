//! The first frames of an arena that starts too small: what fresh memory costs, and when.
//!
//! Each start is a process of its own. In one process, those that come later would get memory that
//! the system has already provided to those before them.

use std::process::Command;
use std::time::{Duration, Instant};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas};
use blink_alloc::Blink;
use bumpalo::Bump;

use crate::contender::{BumpScopeUp, Contender};
use crate::race::Effort;

/// The argument with which the program runs itself for one start.
pub(crate) const ONE_START: &str = "--one-start";

const ALLOCATIONS: u64 = 10_000;
const STARTS: u32 = 20;
const PRETOUCH_BYTES: usize = 4 << 20;

/// The time to create an arena, and those of its frames.
type Times = [Duration; 11];

type Starter = (&'static str, fn() -> Times);

const STARTERS: [Starter; 7] = [
    ("ours, from 4 KiB", start_of::<FrameArena>),
    ("bumpalo, from 4 KiB", start_of::<Bump>),
    ("bump-scope, tuned, up, from 4 KiB", start_of::<BumpScopeUp>),
    ("blink-alloc, from 4 KiB", start_of::<Blink>),
    ("stumpalo, from 4 KiB", start_of::<stumpalo::Arena>),
    ("`FrameArenas`", || start_of_arenas(0)),
    ("`FrameArenas`, `pretouch_bytes` 4 MiB", || {
        start_of_arenas(PRETOUCH_BYTES)
    }),
];

pub(crate) fn run_all(effort: Effort) {
    println!("\n### the first frames, of 2.6 MB each\n");
    println!("| | creation, us | frame 1 | frame 2 | warm | frame 1 to warm | frame 2 to warm |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let is_quick = effort.per_race < Duration::from_secs(1);
    let starts = if is_quick { STARTS / 4 } else { STARTS };
    for (name, _) in STARTERS {
        let all = (0..starts).filter_map(|_| start_in_process(name));
        let best = all.reduce(|a, b| std::array::from_fn(|index| a[index].min(b[index])));
        let Some([creation, first, second, warm]) = best else {
            println!("| {name} | not measured |");
            continue;
        };
        let (first_ratio, second_ratio) = (first / warm, second / warm);
        println!(
            "| {name} | {creation:.0} | {first:.0} | {second:.0} | {warm:.0} | {first_ratio:.1} \
             | {second_ratio:.1} |"
        );
    }
}

fn start_in_process(name: &str) -> Option<[f64; 4]> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program)
        .args([ONE_START, name])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let times: Vec<f64> = text
        .split_whitespace()
        .filter_map(|it| it.parse().ok())
        .collect();
    times.try_into().ok()
}

/// Prints the times of one start, in microseconds.
pub(crate) fn print_one_start(name: &str) {
    let starter = STARTERS.iter().find(|starter| starter.0 == name);
    let times = starter.expect("a starter of this name").1();
    let [creation, first, second, ref rest @ ..] = times;
    let warm = rest.iter().min().copied().unwrap_or_default();
    for time in [creation, first, second, warm] {
        print!("{} ", time.as_secs_f64() * 1e6);
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

fn start_of<C: Contender>() -> Times {
    let (creation, mut contender) = timed(|| C::with_capacity(4096));
    let mut frame = || {
        for number in 0..ALLOCATIONS {
            contender.value([number; 32]);
        }
        contender.reset();
    };
    times(creation, &mut frame)
}

fn start_of_arenas(pretouch_bytes: usize) -> Times {
    let settings = FrameArenaSettings {
        pretouch_bytes,
        ..FrameArenaSettings::default()
    };
    let (creation, mut arenas) = timed(|| FrameArenas::new(settings));
    let mut frame = || {
        let arena = arenas.local();
        for number in 0..ALLOCATIONS {
            arena.alloc([number; 32]);
        }
        arenas.swap();
    };
    times(creation, &mut frame)
}

fn times(creation: Duration, frame: &mut dyn FnMut()) -> Times {
    std::array::from_fn(|index| match index {
        0 => creation,
        _ => timed(&mut *frame).0,
    })
}
