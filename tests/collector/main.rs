//! The collector: one list out of many workers, whatever panics, leaks or lies meanwhile.

#[path = "../common"]
mod common {
    pub(crate) mod counting_allocator;
    pub(crate) mod panics;
}

mod cells;
mod changes;
mod drops;
mod gather;
mod lists;
mod model;
mod one_piece;
mod panics;
mod queries;
mod sorted;

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{
    Batch, CellMap, Cells, FrameArenaSettings, FrameArenas, FrameCollector, FrameHandle, TwoFrames,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

// Workers add through a shared reference; what they add moves to another thread.
assert_impl_all!(FrameCollector<'static, u8>: Sync);
assert_impl_all!(FrameCollector<'static, Cell<u8>>: Sync);
assert_not_impl_any!(FrameCollector<'static, u8>: Send, Clone);
// The header and the arena behind a batch belong to its thread.
assert_not_impl_any!(Batch<'static, u8>: Send, Sync, Clone);
// A copy would outlive the generation that its handles are of.
assert_not_impl_any!(Cells<u8>: Clone, Copy, Default);
assert_not_impl_any!(CellMap<u8, u8>: Clone, Copy, Default);
assert_impl_all!(FrameHandle<Cells<String>>: Send, Sync, Copy, Default);
assert_impl_all!(FrameHandle<CellMap<String, String>>: Send, Sync, Copy, Default);
assert_not_impl_any!(Cells<Rc<u8>>: Send, Sync);
assert_not_impl_any!(Cells<Cell<u8>>: Send, Sync);
assert_not_impl_any!(CellMap<Rc<u8>, u8>: Send, Sync);
assert_not_impl_any!(CellMap<u8, Cell<u8>>: Send, Sync);
assert_impl_all!(TwoFrames<String>: Send, Sync, Copy, Default, std::fmt::Debug);
assert_not_impl_any!(TwoFrames<Cell<u8>>: Send, Sync);

const MANY: usize = if cfg!(miri) { 300 } else { 20_000 };
const THREADS: usize = if cfg!(miri) { 3 } else { 6 };

/// Does work that may be refused, and returns the text of the panic if it is.
fn refusal<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match panic.downcast() {
        Ok(text) => *text,
        Err(other) => resume_unwind(other),
    })
}

fn small() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        block_bytes: 4096,
        ..FrameArenaSettings::default()
    })
}

/// Counts how often it is dropped, and is not zero-sized.
#[derive(Debug)]
struct Tracked(usize, Arc<AtomicUsize>);

impl PartialEq for Tracked {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Tracked {}

impl Ord for Tracked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Tracked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
    }
}

#[derive(Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn tracked(&self, n: usize) -> Tracked {
        Tracked(n, Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}
