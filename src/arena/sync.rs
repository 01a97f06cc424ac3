//! The locks and atomics of the store. In tests/loom, those of loom replace them.
#![forbid(unsafe_code)]

pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize};
pub(super) use std::sync::{Mutex, MutexGuard};
