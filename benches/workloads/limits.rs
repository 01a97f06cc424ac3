//! What ours may cost in instructions and simulated cache misses, against reused buffers.

use crate::cache::{Count, reuse_of};
use crate::is_wanted;
use crate::ways::{FLAT, GUARD_EACH, ONE_GUARD, OURS, SCRATCH};

/// Ratios to reused buffers: of instructions, and of misses of either level.
///
/// Agents with a slice each miss more: a slice is sixteen bytes, where the end of a part of one list
/// is eight; they are written, read, and push other things out of the cache. Masks and quads in the
/// frame's memory miss level two more, which is what scratch is for: by 5 or by 9 %, as the compiler
/// copies four vertices in six stores or in eight, for a store across two lines counts as one miss.
const LIMITS: [(&str, &str, f64, f64); 10] = [
    ("boids", OURS, 1.05, 1.08),
    ("boids", FLAT, 1.01, 1.08),
    ("meshing", OURS, 1.01, 1.09),
    ("meshing", SCRATCH, 1.01, 1.06),
    ("labels", OURS, 0.98, 1.06),
    ("labels", FLAT, 0.96, 1.05),
    ("visibility", SCRATCH, 0.96, 1.05),
    ("swarm", OURS, 0.99, 1.10),
    ("swarm", ONE_GUARD, 1.02, 1.10),
    ("swarm", GUARD_EACH, 1.02, 1.10),
];

/// Fewer misses than this are no ratio worth a look.
const FEW_MISSES: u64 = 1000;

/// A name, the number behind it, and its limit.
type Limited = (&'static str, fn(&Count) -> u64, f64);

/// Compares, says what exceeds its limit, and returns whether nothing does.
pub(crate) fn hold(counts: &[Count]) -> bool {
    let mut hold = true;
    let limits = LIMITS.iter().filter(|limit| is_wanted(limit.0));
    for &(workload, way, instructions, misses) in limits {
        let mut of_way = counts
            .iter()
            .filter(|count| count.workload == workload && count.way == way);
        let pair = of_way
            .next()
            .and_then(|count| Some((count, reuse_of(counts, count)?)));
        let Some((count, reuse)) = pair else {
            println!("NOT MEASURED: {workload}, {way}");
            hold = false;
            continue;
        };
        let all: [Limited; 3] = [
            ("instructions", |it| it.instructions, instructions),
            ("L1 misses", |it| it.first_level_misses, misses),
            ("L2 misses", |it| it.second_level_misses, misses),
        ];
        for (what, number, limit) in all {
            let ratio = number(count) as f64 / number(reuse) as f64;
            if ratio > limit && number(reuse) >= FEW_MISSES {
                println!("TOO MANY: {workload}, {way}: {what} {ratio:.3}, limit {limit}");
                hold = false;
            }
        }
    }
    if hold {
        println!("all limits hold\n");
    }
    hold
}
