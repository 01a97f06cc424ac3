//! Finishing work that panics interrupt, and then going on panicking.
#![forbid(unsafe_code)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Keeps the first of several panics, so that the work they interrupt can be finished.
#[derive(Default)]
#[must_use]
pub(crate) struct FirstPanic {
    payload: Option<Box<dyn Any + Send>>,
}

impl FirstPanic {
    pub(crate) fn catch(&mut self, work: impl FnOnce()) {
        // Unwind safety: what `work` leaves half-done is a value that is never looked at again.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            match &self.payload {
                None => self.payload = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Continues the panic that was caught, unless this thread is unwinding already.
    pub(crate) fn resume(self) {
        if let Some(payload) = self.payload {
            if std::thread::panicking() {
                discard(payload);
            } else {
                resume_unwind(payload);
            }
        }
    }
}

/// Drops the payload of a panic, which could panic itself; there is nobody left to tell.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}
