//! The ways to manage the memory of a frame, by name.

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, LivesFor};

pub(crate) const HEAP: &str = "heap";
pub(crate) const REUSE: &str = "reused buffers";
pub(crate) const REUSE_TWICE: &str = "reused buffers, two of each: the last frame can be read";
pub(crate) const NESTED: &str = "reused buffers, one for each item";
pub(crate) const HERD: &str = "bumpalo-herd";
pub(crate) const OURS: &str = "ours";
pub(crate) const FLAT: &str = "ours, one list for all items";
pub(crate) const SCRATCH: &str = "ours, with scratch or collector";
pub(crate) const GUARD_EACH: &str = "ours, scratch for each item";
pub(crate) const ONE_GUARD: &str = "ours, one scratch for many items";
pub(crate) const ONE_FRAME: &str = "ours, data lives for one frame";

/// One way to run the frames of a workload.
pub(crate) trait Way {
    /// Changes what the frame reads, outside of what is measured.
    fn prepare(&mut self, _frame: u32) {}

    /// Runs a frame, and returns a sum of what it computed: the same for all ways.
    fn frame(&mut self, frame: u32) -> u64;
}

/// A workload and a way to run it.
pub(crate) struct Entry {
    pub(crate) workload: &'static str,
    pub(crate) way: &'static str,
    pub(crate) make: fn() -> Box<dyn Way>,
}

impl Entry {
    pub(crate) const fn new(
        workload: &'static str,
        way: &'static str,
        make: fn() -> Box<dyn Way>,
    ) -> Self {
        Self {
            workload,
            way,
            make,
        }
    }
}

/// For what nobody reads later: one generation of memory instead of two.
pub(crate) fn arenas_of_one_frame() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        lives_for: LivesFor::OnePeriod,
        ..FrameArenaSettings::default()
    })
}
