//! What a frame used, in plain numbers.
#![forbid(unsafe_code)]

use std::mem::take;
use std::ops::Deref;
use std::sync::Arc;

use super::misses::StaleLookup;
use super::task_book::RunningTask;
use crate::figures::Figures;
use crate::sites::SiteUsage;

/// The figures of the frame that ended with the last swap. It derefs to [`Figures`].
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameUsage {
    /// The number of the frame.
    pub frame: u64,
    /// The figures of all workers together.
    pub figures: Figures,
    /// The highest `peak_bytes` of any frame so far.
    pub high_watermark_bytes: usize,
    /// The most bytes of [scratch](crate::Scratch) that were in use at once so far, summed over its
    /// arenas.
    pub scratch_high_watermark_bytes: usize,
    /// Bytes of the blocks that were kept for handles of earlier frames, and for leases.
    pub kept_bytes: usize,
    /// Bytes of the blocks that were free: `held_bytes`, `kept_bytes` and these make up
    /// `reserved_bytes`.
    pub free_bytes: usize,
    /// [Task arenas](crate::TaskArena) that were neither finished nor dropped.
    pub task_arenas: usize,
    /// [Results](crate::TaskResult) of tasks that were alive, adopted ones included.
    pub task_results: usize,
    /// Bytes of the blocks that task arenas and their results held: a part of `held_bytes`.
    pub task_bytes: usize,
    /// The task arena that was taken longest ago and is neither finished nor dropped: a task that
    /// never ends, if its age grows and grows.
    pub oldest_task: Option<RunningTask>,
    /// The largest allocation that a limit refused in any frame so far; 0 if there was none.
    pub largest_refusal_bytes: usize,
    /// Generations that could not be recycled because somebody holds a lease.
    pub parked: usize,
    /// All generations: as many as data lives for, and those that leases made necessary.
    pub generations: usize,
    /// The first lookup of a stale or foreign handle that panicked, or else the first: the type of the handle, its age, the line that
    /// looked it up and, in debug builds, the line that made it.
    pub first_stale_lookup: Option<StaleLookup>,
    /// The threads that allocated in that frame.
    pub active_workers: usize,
    /// The use of each worker, by the name of its thread.
    pub workers: Vec<WorkerUsage>,
    /// The lines of code that asked for memory in that frame, those that took most first: with the
    /// feature `sites`, and otherwise none. What counts for whom: [`SiteUsage`](crate::SiteUsage).
    pub sites: Vec<SiteUsage>,
}

/// The figures of one worker: of the threads with one name. It derefs to [`Figures`].
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerUsage {
    /// The name of the thread.
    pub name: Arc<str>,
    /// Its figures in the frame.
    pub figures: Figures,
    /// The highest `peak_bytes` of any frame so far.
    pub high_watermark_bytes: usize,
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
                figures: Figures::default(),
                high_watermark_bytes: 0,
                idle_frames: 0,
            });
            self.workers.len() - 1
        })
    }
}

impl Deref for FrameUsage {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

impl Deref for WorkerUsage {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
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
        let (mut workers, mut sites) = (take(&mut self.workers), take(&mut self.sites));
        workers.clone_from(&other.workers);
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
        // All fields by name, so that a new one is not forgotten.
        let Self {
            name,
            figures,
            high_watermark_bytes,
            idle_frames,
        } = self;
        // The counter of an `Arc` is shared by all who hold the name: leave it alone.
        if !Arc::ptr_eq(name, &other.name) {
            *name = Arc::clone(&other.name);
        }
        *figures = other.figures;
        *high_watermark_bytes = other.high_watermark_bytes;
        *idle_frames = other.idle_frames;
    }
}
