//! What ours may cost: the counts as they are, so that one instruction more is a failure.

use crate::Count;
use crate::cases::{
    ALIGNED, ALLOC_WITH, COPY, COPY_SLICE, FILL, FRAME, GET, LAYOUT, PUSH, RESET, SHARE, STRUCT,
    TRY_ALLOC, U64,
};
use crate::lookups::LOCAL;

/// Those of a run-time length contain the C library's `memcpy`, so they differ between systems.
const LIMITS: [(&str, f64); 15] = [
    (U64, 7.0),
    (STRUCT, 14.0),
    (ALIGNED, 16.0),
    (COPY, 23.0),
    (COPY_SLICE, 42.0),
    (FILL, 655.0),
    (LAYOUT, 13.0),
    (FRAME, 6.9),
    (PUSH, 7.34),
    (LOCAL, 14.0),
    (RESET, 15.0),
    (ALLOC_WITH, 9.0),
    (TRY_ALLOC, 11.0),
    (SHARE, 8.0),
    (GET, 4.0),
];

/// Compares, says what exceeds its limit, and returns whether nothing does.
pub(crate) fn hold(counts: &[Count]) -> bool {
    let mut hold = true;
    for (case, limit) in LIMITS.into_iter().chain(crate::objects::limits()) {
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
