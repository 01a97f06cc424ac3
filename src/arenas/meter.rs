//! The meter, which measures a period when it ends.
#![forbid(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;

use super::generation::Common;
use super::parking::Parking;
use super::ring::Ring;
use super::scratch::ScratchStore;
use super::thread::ThreadToken;
use super::usage::FrameUsage;
use super::worker::Worker;
use crate::arena::{FrameArena, Memory};
use crate::figures::Figures;
use crate::sites;

/// A worker that has been idle for more periods is no longer listed.
const MAX_IDLE_PERIODS: u32 = 600;

/// Stale seats tolerated before the seat table is rebuilt.
const SPARE_SEATS: usize = 64;

/// The figures of the period that ended last.
#[derive(Default)]
pub(super) struct Meter {
    usage: FrameUsage,
    /// The line of each thread in the usage.
    seats: Vec<Seat>,
    /// The lines of workers that were added to in the period that ends.
    seen_lines: usize,
}

/// A thread and its line in the usage. Threads with the same name share a line.
struct Seat {
    thread: ThreadToken,
    line: usize,
}

impl Meter {
    pub(super) fn usage(&self) -> &FrameUsage {
        &self.usage
    }

    /// Adds the figures of a worker, and of its arena, in the period that ends.
    #[inline(always)]
    pub(super) fn add(&mut self, thread: ThreadToken, worker: &Worker, arena: &mut FrameArena) {
        let figures = arena.measure();
        arena
            .sites()
            .end_period(Some(figures.used_bytes), &mut self.usage.sites);
        // A thread that asked for its arena but allocated nothing is not a worker of this period.
        if figures.peak_bytes > 0 {
            let line = self.line_of(thread, worker);
            self.add_to(line, &figures);
        }
    }

    /// Adds the figures of one thread to its line and to the sums.
    #[inline(always)]
    fn add_to(&mut self, line: usize, figures: &Figures) {
        let usage = &mut self.usage;
        usage.figures.add_memory(figures);
        usage.active_workers += 1;
        let worker = &mut usage.workers[line];
        if worker.period != usage.period {
            worker.period = usage.period;
            worker.idle_periods = 0;
            worker.figures = *figures;
            self.seen_lines += 1;
        } else {
            worker.figures.add_memory(figures);
        }
        worker.high_watermark_bytes = worker.high_watermark_bytes.max(worker.peak_bytes);
    }

    /// Records the figures that workers share. Must be called after all workers were added.
    #[inline(always)]
    pub(super) fn end_period(&mut self, common: &Common) {
        let usage = &mut self.usage;
        usage.high_watermark_bytes = usage.high_watermark_bytes.max(usage.peak_bytes);
        common.stale_sites.end_period(Some(0), &mut usage.sites);
        if common.misses.are_any() {
            let (lookups, panics, first) = common.misses.end_period();
            usage.figures.stale_lookups = lookups;
            usage.figures.stale_panics = panics;
            usage.first_stale_lookup = first;
        }
        if common.tasks.are_used() {
            (usage.task_arenas, usage.oldest_task) = common.tasks.running();
            usage.task_results = common.tasks.results();
        }
        if common.store.refusals_so_far() > 0 {
            usage.figures.refusals = common.store.take_refusals().into();
            usage.largest_refusal_bytes = common.store.largest_refusal_bytes();
        }
        if self.seen_lines < usage.workers.len() {
            self.note_idle();
        }
    }

    /// Resets the lines of workers that were idle in the period, and removes those that have been idle for long.
    #[cold]
    fn note_idle(&mut self) {
        let FrameUsage {
            period, workers, ..
        } = &mut self.usage;
        for worker in workers.iter_mut().filter(|it| it.period != *period) {
            worker.figures = Figures::default();
            worker.idle_periods += 1;
        }
        let lines = workers.len();
        workers.retain(|worker| worker.idle_periods <= MAX_IDLE_PERIODS);
        if workers.len() < lines {
            // The lines have moved. Threads are assigned to them again by name.
            self.seats.clear();
        }
    }

    /// Records the memory figures. `kept_bytes` of the reserved bytes are kept for handles and leases.
    pub(super) fn note_memory(&mut self, memory: Memory, kept_bytes: usize) {
        let usage = &mut self.usage;
        usage.figures.reserved_bytes = memory.reserved_bytes;
        usage.free_bytes = memory.free_bytes;
        usage.kept_bytes = kept_bytes;
        usage.task_bytes = memory.task_bytes;
        usage.figures.held_bytes = memory.reserved_bytes - memory.free_bytes - kept_bytes;
    }

    /// Subtracts freed memory from the figures. Memory that an arena still held when the period ended stays
    /// in them: they describe that moment.
    pub(super) fn note_trim(&mut self, freed_bytes: usize) {
        let freed_bytes = freed_bytes.min(self.usage.free_bytes);
        self.usage.figures.reserved_bytes -= freed_bytes;
        self.usage.free_bytes -= freed_bytes;
    }

    /// Records the number of generations after the swap.
    pub(super) fn note_generations(&mut self, ring: &Ring, parking: &Parking) {
        self.usage.generations = ring.len() + parking.len();
        self.usage.parked = parking.leased();
    }

    /// Records the figures of scratch after the swap.
    pub(super) fn note_scratch(&mut self, scratch: &mut ScratchStore) {
        self.usage.scratch_high_watermark_bytes = scratch.high_watermark_bytes();
        sites::append(&mut self.usage.sites, scratch.sites());
        sites::finish(&mut self.usage.sites);
    }

    /// Resets the figures for another period, except those that span periods. The line of a worker is reset when
    /// it is first added to, or by [`note_idle`](Self::note_idle).
    #[inline]
    pub(super) fn begin(&mut self, period: u64) {
        let usage = &mut self.usage;
        usage.period = period;
        usage.figures = Figures::default();
        usage.first_stale_lookup = None;
        usage.active_workers = 0;
        usage.sites.clear();
        self.seen_lines = 0;
    }

    #[inline(always)]
    fn line_of(&mut self, thread: ThreadToken, worker: &Worker) -> usize {
        let guess = worker.seat.load(Relaxed);
        match self.seats.get(guess) {
            Some(seat) if seat.thread == thread => seat.line,
            _ => self.find_line(thread, worker),
        }
    }

    #[cold]
    fn find_line(&mut self, thread: ThreadToken, worker: &Worker) -> usize {
        let known = self.seats.iter().position(|seat| seat.thread == thread);
        let index = known.unwrap_or_else(|| {
            let line = self.usage.line_named(&worker.name());
            let workers = self.usage.workers.len().max(self.usage.active_workers);
            if self.seats.len() > 2 * workers + SPARE_SEATS {
                // Most seats are stale: their threads have ended.
                self.seats.clear();
            }
            self.seats.push(Seat { thread, line });
            self.seats.len() - 1
        });
        worker.seat.store(index, Relaxed);
        self.seats[index].line
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::arenas::FrameArenas;
    use crate::settings::FrameArenaSettings;

    #[test]
    fn threads_of_one_name_that_come_and_go_leave_no_seats_behind() {
        let mut arenas = FrameArenas::new(FrameArenaSettings {
            block_bytes: 4096,
            ..FrameArenaSettings::default()
        });
        for _ in 0..if cfg!(miri) { 30 } else { 500 } {
            arenas.local().alloc(1);
            // Several threads at a time, so that the number of seats does not meet the limit exactly by
            // chance.
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| arenas.local().alloc(1));
                }
            });
            arenas.swap();
        }
        let seats = arenas.meter.seats.len();
        assert!(seats <= 2 * 4 + SPARE_SEATS + 4, "{seats}");
        assert_eq!(arenas.usage().workers.len(), 2);
        assert_eq!(arenas.usage().active_workers, 4);
    }
}
