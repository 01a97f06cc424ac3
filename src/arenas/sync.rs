//! The synchronisation types of claims, lists and generations. In tests/loom, those of loom replace them.
#![forbid(unsafe_code)]

pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64};
pub(super) use std::sync::{Arc, OnceLock};

pub(super) use thread_local::ThreadLocal;
