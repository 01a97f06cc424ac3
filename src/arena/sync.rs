//! The locks and atomics of the store; tests/loom has others in their place.
#![forbid(unsafe_code)]

pub(super) use std::sync::atomic::{AtomicU32, AtomicUsize};
pub(super) use std::sync::{Mutex, MutexGuard};
