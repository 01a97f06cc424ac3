//! Work that is expected to panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}
