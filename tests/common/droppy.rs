//! A value whose drops are counted.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts its drops, and panics in them if told to.
#[derive(Clone)]
pub(crate) struct Droppy(pub(crate) Arc<AtomicUsize>, pub(crate) bool);

impl Drop for Droppy {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        if self.1 {
            // Like `panic!`, but with a payload that takes no memory.
            resume_unwind(Box::new(()));
        }
    }
}
