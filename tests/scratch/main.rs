//! Scratch memory: whose it is, when it is free again, and what becomes of what was left in it.

#[path = "../common"]
mod common {
    pub(crate) mod counting_allocator;
    pub(crate) mod panics;
}

mod drops;
mod guards;
#[cfg(feature = "bevy")]
mod in_systems;
mod memory;
mod model;
mod threads;

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, FrameArenas, Scratch};
use static_assertions::assert_not_impl_any;

// The arena belongs to the guard's thread, and goes back to a list of that thread.
assert_not_impl_any!(Scratch<'static>: Send, Sync, Clone);

const MANY: usize = if cfg!(miri) { 20 } else { 2_000 };

fn small() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        trim_after_periods: Some(4),
        ..FrameArenaSettings::default()
    })
}

fn address(arena: &FrameArena) -> usize {
    ptr::from_ref(arena).addr()
}

/// Counts how often it is dropped.
struct Tracked(Arc<AtomicUsize>);

impl Drop for Tracked {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}
