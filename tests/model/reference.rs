//! The reference: what must resolve, what must be dropped, and what the figures must be.

use std::collections::{BTreeMap, BTreeSet};

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, FrameUsage};

use super::held::is_limited;
use super::shared::{AnyHandle, Contents, Shared};
use super::worker::Figures;

/// One frame of one `FrameArenas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameId {
    /// Which `FrameArenas`: a number that is not used again when they are replaced.
    pub(crate) arenas: usize,
    pub(crate) frame: u64,
}

/// What is known of one `FrameArenas`.
pub(crate) struct Reference {
    pub(crate) id: usize,
    pub(crate) frame: u64,
    pub(crate) settings: FrameArenaSettings,
    /// Of each thread that allocated in this frame, by its number.
    pub(crate) figures: BTreeMap<usize, Figures>,
    pub(crate) stale_lookups: u64,
    /// The threads that shared something in this frame, by their numbers.
    pub(crate) sharers: BTreeSet<usize>,
    /// What these held when a frame ended: the rest goes back at once, leased or not.
    kept_bytes: BTreeMap<u64, usize>,
    high_watermark_bytes: usize,
    /// Frames that a lease kept from being recycled.
    parked: BTreeSet<u64>,
    /// Generations beyond those that data lives for, where spares are never given back.
    extra_generations: usize,
    /// How many swaps from now on give all memory back.
    swaps_that_give_back: usize,
}

/// A handle, and what it must resolve to.
pub(crate) struct Record {
    pub(crate) handle: AnyHandle,
    pub(crate) contents: Contents,
    pub(crate) range: (usize, usize),
    pub(crate) made_in: FrameId,
}

impl Record {
    pub(crate) fn new(shared: Shared, made_in: FrameId) -> Self {
        Self {
            handle: shared.handle,
            contents: shared.contents,
            range: shared.range,
            made_in,
        }
    }

    pub(crate) fn tracked(&self) -> &[usize] {
        self.contents.tracked()
    }
}

impl Reference {
    pub(crate) fn new(id: usize, settings: FrameArenaSettings) -> Self {
        Self {
            id,
            frame: 0,
            settings,
            figures: BTreeMap::new(),
            stale_lookups: 0,
            sharers: BTreeSet::new(),
            kept_bytes: BTreeMap::new(),
            high_watermark_bytes: 0,
            parked: BTreeSet::new(),
            extra_generations: 0,
            swaps_that_give_back: 0,
        }
    }

    pub(crate) fn current(&self) -> FrameId {
        FrameId {
            arenas: self.id,
            frame: self.frame,
        }
    }

    /// Whether a handle of `frame` resolves.
    pub(crate) fn resolves(&self, frame: FrameId) -> bool {
        frame.arenas == self.id && frame.frame + self.periods() as u64 > self.frame
    }

    /// Whether an allocation may fail.
    pub(crate) fn is_limited(&self) -> bool {
        is_limited(&self.settings)
    }

    /// For how many frames data lives.
    fn periods(&self) -> usize {
        self.settings.lives_for.periods()
    }

    /// Whether a frame was ended by a lease's end, but waits for the next swap to be recycled.
    pub(crate) fn waits(&self, frame: FrameId) -> bool {
        frame.arenas == self.id && self.parked.contains(&frame.frame)
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.figures
            .values()
            .map(|figures| figures.used_bytes)
            .sum()
    }

    /// Does what a swap does, and compares the figures of the frame that it ended.
    pub(crate) fn swap(&mut self, arenas: &FrameArenas, is_leased: impl Fn(FrameId) -> bool) {
        let ended = self.frame;
        let kept_bytes = self.kept_bytes_at(ended);
        if self.swaps_that_give_back == 0 && self.settings.trim_after_periods != Some(0) {
            assert_eq!(arenas.usage().kept_bytes, kept_bytes);
        }
        let sharers = self.sharers.iter().filter_map(|it| self.figures.get(it));
        let kept_bytes = sharers.map(|figures| figures.held_bytes).sum();
        self.kept_bytes.insert(ended, kept_bytes);
        self.sharers.clear();
        self.frame += 1;
        assert_eq!(arenas.period(), self.frame);

        // The frame that is as old as data lives is due.
        let id = self.id;
        let is_leased = |frame| is_leased(FrameId { arenas: id, frame });
        self.parked.retain(|&frame| is_leased(frame));
        if let Some(due) = self.frame.checked_sub(self.periods() as u64)
            && is_leased(due)
        {
            self.parked.insert(due);
        }
        self.extra_generations = self.extra_generations.max(self.parked.len());
        self.compare(arenas.usage(), ended);
        self.figures.clear();
        self.stale_lookups = 0;
        assert_eq!(arenas.used_bytes_so_far(), 0, "a frame starts empty");
    }

    /// What was kept for handles and leases in a frame, and before it ended.
    fn kept_bytes_at(&self, frame: u64) -> usize {
        let is_kept = |&(&kept, _): &(&u64, &usize)| {
            kept + self.periods() as u64 > frame || self.parked.contains(&kept)
        };
        let kept = self.kept_bytes.iter().filter(is_kept);
        kept.map(|(_, bytes)| bytes).sum()
    }

    /// Does what recycling between two swaps does: only what no lease holds goes.
    pub(crate) fn recycle_parked(
        &mut self,
        arenas: &FrameArenas,
        is_leased: impl Fn(FrameId) -> bool,
    ) {
        let id = self.id;
        self.parked
            .retain(|&frame| is_leased(FrameId { arenas: id, frame }));
        assert_eq!(arenas.period(), self.frame);
        self.compare_generations(arenas.usage());
    }

    /// Does what a trim does: spares go, and all memory that is in no arena.
    pub(crate) fn trim(&mut self, usage: &FrameUsage) {
        let extra_generations = usage.generations - self.periods();
        assert!(extra_generations <= self.extra_generations);
        assert!(extra_generations >= self.parked.len().min(usage.parked));
        self.extra_generations = extra_generations;
        self.swaps_that_give_back = self.periods();
        assert_eq!(usage.free_bytes, 0);
        assert_eq!(usage.kept_bytes, self.kept_bytes_at(self.frame));
        assert_eq!(usage.reserved_bytes, usage.held_bytes + usage.kept_bytes);
    }

    fn compare_generations(&self, usage: &FrameUsage) {
        assert_eq!(usage.parked, self.parked.len());
        assert!(usage.generations >= self.periods() + self.parked.len());
        assert!(usage.generations <= self.periods() + self.extra_generations);
        match self.settings.trim_after_periods {
            None => assert_eq!(usage.generations, self.periods() + self.extra_generations),
            Some(0) => assert_eq!(usage.generations, self.periods() + self.parked.len()),
            _ => {}
        }
    }

    fn compare(&mut self, usage: &FrameUsage, ended: u64) {
        let used = self.used_bytes();
        let peak = self
            .figures
            .values()
            .map(|figures| figures.peak_bytes)
            .sum();
        self.high_watermark_bytes = self.high_watermark_bytes.max(peak);
        assert_eq!(usage.period, ended);
        assert_eq!(usage.used_bytes, used);
        assert_eq!(usage.peak_bytes, peak);
        assert_eq!(usage.high_watermark_bytes, self.high_watermark_bytes);
        let active = self
            .figures
            .values()
            .filter(|figures| figures.peak_bytes > 0);
        assert_eq!(usage.active_workers, active.count());
        assert_eq!(usage.stale_lookups, self.stale_lookups);
        let by_name = usage.workers.iter().map(|worker| worker.used_bytes);
        assert_eq!(by_name.sum::<usize>(), used);
        let active = self
            .figures
            .values()
            .filter(|figures| figures.peak_bytes > 0);
        let held: usize = active.map(|figures| figures.held_bytes).sum();
        let by_name = usage.workers.iter().map(|worker| worker.held_bytes);
        assert_eq!(by_name.sum::<usize>(), held);
        self.compare_generations(usage);
        assert_eq!(
            usage.reserved_bytes,
            usage.held_bytes + usage.kept_bytes + usage.free_bytes
        );
        let gives_back = self.swaps_that_give_back > 0;
        self.swaps_that_give_back = self.swaps_that_give_back.saturating_sub(1);
        if gives_back {
            assert_eq!(usage.free_bytes, 0, "all memory goes back");
        } else if self.settings.trim_after_periods != Some(0) {
            assert!(usage.held_bytes >= held);
        } else if self.periods() == 1 && self.parked.is_empty() {
            assert_eq!(
                usage.reserved_bytes, usage.task_bytes,
                "all other memory goes back"
            );
        }
        if let Some(budget) = self.settings.budget_bytes {
            assert!(usage.reserved_bytes <= budget);
        }
    }
}
