//! What ours may cost: the counts as they are. With the pinned toolchain one instruction more is a failure;
//! with others there is a slack of 1 %.

use std::process::Command;

use crate::Count;
use crate::cases::{
    ALIGNED, ALLOC_WITH, APPEND, APPEND_FEW, BLOCK, COLLECT, COPY, COPY_SLICE, EXTEND, FILL, FRAME,
    GET, GET_PREVIOUS, LAYOUT, PUSH, PUSH_U32, RESET, SHARE, SHORT_LIST, STRUCT, TEXT, TRY_ALLOC,
    U64,
};
use crate::lookups::{IN_TURN, LOCAL, SWAP};
use crate::schedule::{PLAIN, PUBLISHED};
use crate::temporaries::{BATCH, SCRATCH, SCRATCH_ALLOC, SCRATCH_NESTED, SCRATCH_VEC};

/// Those of a run-time length contain the C library's `memcpy`, so they differ between systems:
/// these, and what many threads take part in, have the goal as their limit.
const LIMITS: [(&str, f64); 39] = [
    (U64, 7.0),
    (STRUCT, 14.0),
    (ALIGNED, 16.0),
    (COPY, 23.0),
    (COPY_SLICE, 42.0),
    (FILL, 655.0),
    (LAYOUT, 13.0),
    (FRAME, 6.9),
    (PUSH, 6.42),
    (PUSH_U32, 6.4),
    (APPEND, 830.0),
    (APPEND_FEW, 65.0),
    (EXTEND, 830.0),
    (COLLECT, 2600.0),
    (SHORT_LIST, 778.0),
    (TEXT, 600.0),
    (LOCAL, 14.0),
    (IN_TURN, 17.0),
    (RESET, 15.0),
    (ALLOC_WITH, 9.0),
    (TRY_ALLOC, 11.0),
    (SHARE, 8.0),
    (BLOCK, 262.0),
    (GET, 4.0),
    (GET_PREVIOUS, 9.0),
    (SCRATCH, 40.0),
    (SCRATCH_ALLOC, 45.0),
    (SCRATCH_NESTED, 72.0),
    (SCRATCH_VEC, 168.0),
    (BATCH, 9.8),
    (SWAP[0].0, 400.0),
    (SWAP[1].0, 1185.0),
    (SWAP[2].0, 7465.0),
    // With the report that log and overlay read, and the search for problems.
    // They contain Bevy's hash maps and the clock, which differ a little from one machine to another.
    (PLAIN[0].0, 3480.0),
    (PLAIN[1].0, 4400.0),
    (PLAIN[2].0, 11_800.0),
    (PUBLISHED[0].0, 7030.0),
    (PUBLISHED[1].0, 10_100.0),
    (PUBLISHED[2].0, 19_850.0),
];

/// The toolchain that the limits are counted with.
const PINNED: &str = "rustc 1.95.0 ";

/// Returns how much more than its limit a count may be.
fn slack() -> f64 {
    let version = Command::new("rustc").arg("--version").output();
    let is_pinned = version.is_ok_and(|it| it.stdout.starts_with(PINNED.as_bytes()));
    if is_pinned { 1.0 } else { 1.01 }
}

/// Compares, says what exceeds its limit, and returns whether nothing does.
pub(crate) fn hold(counts: &[Count]) -> bool {
    let mut hold = true;
    let slack = slack();
    for (case, limit) in LIMITS.into_iter().chain(crate::objects::limits()) {
        let limit = limit * slack;
        let mut ours = counts
            .iter()
            .filter(|count| count.case == case && count.contender == "ours");
        match ours.next() {
            Some(count) if count.instructions <= limit => {}
            Some(count) => {
                hold = false;
                println!(
                    "TOO MANY: {case}: {} instructions, limit {limit}",
                    count.instructions
                );
            }
            None => {
                hold = false;
                println!("NOT MEASURED: {case}");
            }
        }
    }
    if hold {
        println!("all limits hold");
    }
    hold
}
