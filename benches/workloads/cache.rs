//! Instructions and cache misses of a frame, with simulated caches.

use crate::callgrind::{self, Segment};
use crate::counted_frames;
use crate::ways::REUSE;

/// Frames that are counted.
const FRAMES: u64 = 2;

/// The caches of a recent server core: 48 KiB of level one, 1.25 MiB of level two.
const CACHES: [&str; 3] = ["--I1=32768,8,64", "--D1=49152,12,64", "--LL=1310720,20,64"];

/// What one frame costs.
pub(crate) struct Count {
    pub(crate) workload: String,
    pub(crate) way: String,
    sum: String,
    pub(crate) instructions: u64,
    /// Reads and writes of data that level one did not have.
    pub(crate) first_level_misses: u64,
    /// Those that level two did not have either.
    pub(crate) second_level_misses: u64,
}

/// Has callgrind count a few calls of `frame`.
pub(crate) fn segment(mut frame: impl FnMut()) {
    counted_frames::count(FRAMES, |_, measure| measure(&mut frame));
}

/// Runs this program with `argument` under callgrind.
pub(crate) fn run(argument: &str) -> Result<Vec<Count>, String> {
    let [code, data, last] = CACHES;
    let options = [counted_frames::OPTION, "--cache-sim=yes", code, data, last];
    let segments = callgrind::run(argument, &options)?;
    let counts = segments
        .iter()
        .map(|segment| read(segment).ok_or_else(|| format!("{}: odd counters", segment.label)));
    counts.collect()
}

fn read(segment: &Segment) -> Option<Count> {
    let total = |event| Some(segment.total(event)? / FRAMES);
    let mut label = segment.label.split('\t').map(String::from);
    Some(Count {
        workload: label.next()?,
        way: label.next()?,
        sum: label.next()?,
        instructions: total("Ir")?,
        first_level_misses: total("D1mr")? + total("D1mw")?,
        second_level_misses: total("DLmr")? + total("DLmw")?,
    })
}

/// Prints the table, and returns whether all ways computed the same.
pub(crate) fn print(counts: &[Count]) -> bool {
    println!("instructions and data cache misses of one frame, simulated: {CACHES:?}\n");
    println!("| | | instructions, k | ratio | L1 misses | L2 misses | ratio of L1 misses |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    let mut is_same = true;
    for count in counts {
        let Some(reuse) = reuse_of(counts, count) else {
            continue;
        };
        is_same &= count.sum == reuse.sum;
        println!(
            "| {} | {} | {:.0} | {:.3} | {} | {} | {:.3} |",
            count.workload,
            count.way,
            count.instructions as f64 / 1e3,
            count.instructions as f64 / reuse.instructions as f64,
            count.first_level_misses,
            count.second_level_misses,
            count.first_level_misses as f64 / reuse.first_level_misses as f64,
        );
    }
    println!();
    if !is_same {
        println!("DIFFERENT: the ways computed different things");
    }
    is_same
}

/// Returns the counts of reused buffers in the same workload.
pub(crate) fn reuse_of<'c>(counts: &'c [Count], count: &Count) -> Option<&'c Count> {
    let mut all = counts.iter();
    all.find(|other| other.workload == count.workload && other.way == REUSE)
}
