//! What a frame used, in plain numbers.
#![forbid(unsafe_code)]

use std::mem;
use std::sync::Arc;

use super::misses::StaleLookup;
use crate::sites::SiteList;

/// The figures of the frame that ended with the last swap.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameUsage {
    /// The number of the frame.
    pub frame: u64,
    /// Bytes in use by all workers when the frame ended, with the padding between them.
    pub used_bytes: usize,
    /// The most bytes that each worker had in use at once in that frame, added up. It is more than
    /// `used_bytes` where boxes and vectors were dropped before the frame ended.
    pub peak_bytes: usize,
    /// The highest `peak_bytes` of any frame so far.
    pub high_watermark_bytes: usize,
    /// The most bytes of [scratch](crate::Scratch) that were in use at once so far, summed over its
    /// arenas.
    pub scratch_high_watermark_bytes: usize,
    /// Bytes that all blocks have from the global allocator: `held_bytes`, `kept_bytes` and
    /// `free_bytes` together.
    pub reserved_bytes: usize,
    /// Bytes of the blocks that were in the arenas of that frame and in scratch when it ended.
    pub held_bytes: usize,
    /// Bytes of the blocks that were kept for handles of earlier frames, and for leases.
    pub kept_bytes: usize,
    /// Bytes of the blocks that were free.
    pub free_bytes: usize,
    /// Allocations, in that frame, that a limit refused: that of a worker, or the budget.
    pub refusals: u32,
    /// The largest allocation that a limit refused in any frame so far; 0 if there was none.
    pub largest_refusal_bytes: usize,
    /// Generations that could not be recycled because somebody holds a lease.
    pub parked: usize,
    /// All generations: as many as data lives for, and those that leases made necessary.
    pub generations: usize,
    /// Lookups of stale or foreign handles in that frame.
    pub stale_lookups: u64,
    /// The first of them: the type of its handle, its age, and which line made it and looked it up,
    /// as far as the build knows.
    pub first_stale_lookup: Option<StaleLookup>,
    /// The threads that allocated in that frame.
    pub active_workers: usize,
    /// The use of each worker, by the name of its thread.
    pub workers: Vec<WorkerUsage>,
    /// The lines of code that asked for memory in that frame, those that took most first: with the
    /// feature `sites`, and otherwise none. What counts for whom: [`SiteUsage`](crate::SiteUsage).
    pub sites: SiteList,
}

/// The figures of one worker: of the threads with one name.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerUsage {
    /// The name of the thread.
    pub name: Arc<str>,
    /// Bytes in use when the frame ended, with the padding between them.
    pub used_bytes: usize,
    /// The most bytes in use at once in the frame.
    pub peak_bytes: usize,
    /// The highest `peak_bytes` of any frame so far.
    pub high_watermark_bytes: usize,
    /// Bytes of the blocks that it held when the frame ended.
    pub held_bytes: usize,
    /// Frames since a thread of this name last allocated.
    pub idle_frames: u32,
}

impl FrameUsage {
    /// Returns the line of the threads with this name, and adds it if there is none.
    pub(super) fn line_named(&mut self, name: &Arc<str>) -> usize {
        let known = self.workers.iter().position(|line| line.name == *name);
        known.unwrap_or_else(|| {
            self.workers.push(WorkerUsage {
                name: Arc::clone(name),
                used_bytes: 0,
                peak_bytes: 0,
                high_watermark_bytes: 0,
                held_bytes: 0,
                idle_frames: 0,
            });
            self.workers.len() - 1
        })
    }
}

impl Clone for FrameUsage {
    fn clone(&self) -> Self {
        Self {
            workers: self.workers.clone(),
            sites: self.sites.clone(),
            ..*self
        }
    }

    /// Copies the figures, and allocates only for workers and sites that are new.
    fn clone_from(&mut self, other: &Self) {
        let mut workers = mem::take(&mut self.workers);
        workers.clone_from(&other.workers);
        let mut sites = mem::take(&mut self.sites);
        sites.clone_from(&other.sites);
        *self = Self {
            workers,
            sites,
            ..*other
        };
    }
}

impl Clone for WorkerUsage {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            ..*self
        }
    }

    fn clone_from(&mut self, other: &Self) {
        // The counter of an `Arc` is shared by all who hold the name: leave it alone.
        if !Arc::ptr_eq(&self.name, &other.name) {
            self.name = Arc::clone(&other.name);
        }
        self.used_bytes = other.used_bytes;
        self.peak_bytes = other.peak_bytes;
        self.high_watermark_bytes = other.high_watermark_bytes;
        self.held_bytes = other.held_bytes;
        self.idle_frames = other.idle_frames;
    }
}
