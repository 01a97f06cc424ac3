//! The usage of a period, in plain numbers.
#![forbid(unsafe_code)]

use std::mem::take;
use std::ops::Deref;
use std::sync::Arc;

use super::misses::StaleLookup;
use super::task_book::RunningTask;
use crate::figures::Figures;
use crate::sites::SiteUsage;

/// The figures of the period that ended with the last swap. It derefs to [`Figures`].
#[derive(Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct FrameUsage {
    /// The number of the period.
    pub period: u64,
    /// The figures of all workers together.
    pub figures: Figures,
    /// The highest `peak_bytes` of any period so far.
    pub high_watermark_bytes: usize,
    /// The sum of the high watermarks of all [scratch](crate::Scratch) arenas so far.
    pub scratch_high_watermark_bytes: usize,
    /// Bytes of the blocks that were kept for handles of earlier periods, and for leases.
    pub kept_bytes: usize,
    /// Bytes of the free blocks. `held_bytes`, `kept_bytes` and `free_bytes` add up to `reserved_bytes`.
    pub free_bytes: usize,
    /// [Task arenas](crate::TaskArena) that were neither finished nor dropped.
    pub task_arenas: usize,
    /// [Results](crate::TaskResult) of tasks that were alive, adopted ones included.
    pub task_results: usize,
    /// Bytes of the blocks that task arenas and their results held: a part of `held_bytes`.
    pub task_bytes: usize,
    /// The oldest task arena that is neither finished nor dropped. If its age keeps growing, its task never
    /// ends.
    pub oldest_task: Option<RunningTask>,
    /// The largest allocation that a limit refused in any period so far; 0 if there was none.
    pub largest_refusal_bytes: usize,
    /// Generations that could not be recycled because they were still leased.
    pub parked: usize,
    /// All generations: one for each period that data lives for, and those added because of leases.
    pub generations: usize,
    /// The first failed look-up that panicked; if none did, the first failed look-up. It contains the type of
    /// the handle, its age, the line of the look-up and, in debug builds, the line that made the handle.
    pub first_stale_lookup: Option<StaleLookup>,
    /// The number of threads that allocated in the period.
    pub active_workers: usize,
    /// The figures of each worker, by the name of its thread.
    pub workers: Vec<WorkerUsage>,
    /// The sites that asked for memory in the period, the largest first. Empty without the feature `sites`.
    /// See [`SiteUsage`](crate::SiteUsage) for what counts for which site.
    pub sites: Vec<SiteUsage>,
}

/// The figures of one worker, i.e. of all threads with the same name. It derefs to [`Figures`].
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct WorkerUsage {
    /// The name of the thread.
    pub name: Arc<str>,
    /// Its figures in the period.
    pub figures: Figures,
    /// The highest `peak_bytes` of any period so far.
    pub high_watermark_bytes: usize,
    /// Periods since a thread of this name last allocated.
    pub idle_periods: u32,
    /// The period in which a thread of this name last allocated.
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    pub(super) period: u64,
}

impl FrameUsage {
    /// Raises the memory, the tasks and the numbers of workers and generations to those of another period.
    #[cfg(feature = "bevy")]
    pub(crate) fn raise(&mut self, other: &Self) {
        for (highest, figure) in [
            (&mut self.figures.reserved_bytes, other.reserved_bytes),
            (&mut self.active_workers, other.active_workers),
            (&mut self.kept_bytes, other.kept_bytes),
            (&mut self.task_arenas, other.task_arenas),
            (&mut self.task_results, other.task_results),
            (&mut self.task_bytes, other.task_bytes),
            (&mut self.largest_refusal_bytes, other.largest_refusal_bytes),
            (&mut self.generations, other.generations),
        ] {
            *highest = figure.max(*highest);
        }
    }

    /// Returns the line of the threads with this name, and adds it if there is none.
    pub(super) fn line_named(&mut self, name: &Arc<str>) -> usize {
        let known = self.workers.iter().position(|line| line.name == *name);
        known.unwrap_or_else(|| {
            self.workers.push(WorkerUsage {
                name: Arc::clone(name),
                figures: Figures::default(),
                high_watermark_bytes: 0,
                idle_periods: 0,
                period: u64::MAX,
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
            idle_periods,
            period,
        } = self;
        // All holders of the name share the counter of the `Arc`: avoid writing to it.
        if !Arc::ptr_eq(name, &other.name) {
            *name = Arc::clone(&other.name);
        }
        *figures = other.figures;
        *high_watermark_bytes = other.high_watermark_bytes;
        *idle_periods = other.idle_periods;
        *period = other.period;
    }
}
