//! What a frame used, in plain numbers.
#![forbid(unsafe_code)]

use std::sync::Arc;

/// The figures of the frame that ended with the last swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameUsage {
    /// The number of the frame.
    pub frame: u64,
    /// Bytes handed out by all workers in that frame, with the padding between them.
    pub used_bytes: usize,
    /// The most bytes handed out in any frame so far.
    pub high_watermark_bytes: usize,
    /// Bytes that all workers and generations hold from the global allocator.
    pub reserved_bytes: usize,
    /// How often, in that frame, an allocation did not fit into a worker's chunk.
    pub overflows: u32,
    /// Generations that could not be recycled because somebody holds a lease.
    pub parked: usize,
    /// All generations: two, and those that leases made necessary.
    pub generations: usize,
    /// Lookups of stale or foreign handles in that frame.
    pub stale_lookups: u64,
    /// The threads that allocated in that frame.
    pub active_workers: usize,
    /// The use of each worker, by the name of its thread.
    pub workers: Vec<WorkerUsage>,
}

/// The figures of one worker: of the threads with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerUsage {
    /// The name of the thread.
    pub name: Arc<str>,
    /// Bytes handed out in the frame, with the padding between them.
    pub used_bytes: usize,
    /// The most bytes handed out in any frame so far.
    pub high_watermark_bytes: usize,
    /// Bytes of the chunks that were in use in the frame.
    pub capacity_bytes: usize,
    /// How often, in the frame, an allocation did not fit into a chunk.
    pub overflows: u32,
    /// Frames since a thread of this name last allocated.
    pub idle_frames: u32,
}

/// A worker that has been idle for longer is no longer listed.
const MAX_IDLE_FRAMES: u32 = 600;

impl FrameUsage {
    /// Starts the figures of another frame; what outlives a frame is kept.
    pub(crate) fn begin(&mut self, frame: u64) {
        self.frame = frame;
        self.used_bytes = 0;
        self.overflows = 0;
        self.active_workers = 0;
        self.workers
            .retain(|worker| worker.idle_frames < MAX_IDLE_FRAMES);
        for worker in &mut self.workers {
            worker.used_bytes = 0;
            worker.overflows = 0;
            worker.capacity_bytes = 0;
            worker.idle_frames += 1;
        }
    }

    /// Adds one thread's figures, and returns where its name is listed.
    ///
    /// The search starts at `guess`. Threads come in the same order each frame, so with the place
    /// behind the last one as a guess, all of them together take one pass through the list.
    pub(crate) fn add(
        &mut self,
        guess: usize,
        name: &Arc<str>,
        used: usize,
        capacity: usize,
        overflows: u32,
    ) -> usize {
        self.used_bytes += used;
        self.overflows += overflows;
        self.active_workers += 1;
        let index = self.index_of(guess, name);
        let worker = &mut self.workers[index];
        worker.used_bytes += used;
        worker.capacity_bytes += capacity;
        worker.overflows += overflows;
        worker.idle_frames = 0;
        worker.high_watermark_bytes = worker.high_watermark_bytes.max(worker.used_bytes);
        index
    }

    /// Completes the figures of the frame.
    pub(crate) fn finish(&mut self) {
        self.high_watermark_bytes = self.high_watermark_bytes.max(self.used_bytes);
    }

    fn index_of(&mut self, guess: usize, name: &Arc<str>) -> usize {
        let len = self.workers.len();
        let guess = guess.min(len);
        let found = (guess..len)
            .chain(0..guess)
            .find(|&index| self.workers[index].name == *name);
        found.unwrap_or_else(|| {
            self.workers.push(WorkerUsage {
                name: Arc::clone(name),
                used_bytes: 0,
                high_watermark_bytes: 0,
                capacity_bytes: 0,
                overflows: 0,
                idle_frames: 0,
            });
            len
        })
    }
}
