//! Finishing work that panics interrupt, before the panic continues.
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
    /// Runs `work`, and keeps its panic if it is the first.
    pub(crate) fn catch(&mut self, work: impl FnOnce()) {
        // Unwind safety: a value that `work` leaves half-done is never used again.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            match &self.payload {
                None => self.payload = Some(payload),
                Some(_) => discard(payload),
            }
        }
    }

    /// Continues the panic that was caught, unless this thread is unwinding already.
    #[inline]
    pub(crate) fn resume(self) {
        if let Some(payload) = self.payload {
            resume(payload);
        }
    }
}

#[cold]
fn resume(payload: Box<dyn Any + Send>) {
    if std::thread::panicking() {
        discard(payload);
    } else {
        resume_unwind(payload);
    }
}

/// Drops the payload of a panic. If that panics as well, the second panic is not reported.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
}
