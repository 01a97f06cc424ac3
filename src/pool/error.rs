//! Why a pool has no slot for a value.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt;

/// Why a [`Pool`](crate::Pool) has no slot for a value.
///
/// The `try_` methods return it; their plain twins panic with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolError {
    /// All slots that the pool may have are taken, or would be.
    Full {
        /// The limit.
        slots: usize,
    },
    /// The pool's allocator had no block of this size.
    OutOfMemory {
        /// Bytes that were asked for.
        requested_bytes: usize,
    },
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Full { slots } => write!(
                f,
                "the pool is full: it has a limit of {slots} slots; remove objects, raise the \
                 limit, or make the pool with `Pool::new`, which grows"
            ),
            Self::OutOfMemory { requested_bytes } => write!(
                f,
                "the allocator of the pool has no block of {requested_bytes} bytes for more slots"
            ),
        }
    }
}

impl Error for PoolError {}
