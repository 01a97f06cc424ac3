//! First chunks that are made and touched before a worker asks for them.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use super::chunk::Chunk;
use super::{Budget, FrameArena};
use crate::settings::FrameArenaSettings;

/// Chunks for the workers to come.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    chunks: Mutex<Vec<Chunk>>,
}

impl Stock {
    /// Makes the first chunks of all generations of as many workers as there are cores.
    ///
    /// Without `pretouch_bytes` it makes none, and does not ask the system how many there are.
    pub(crate) fn for_all_cores(settings: &FrameArenaSettings, budget: &Arc<Budget>) -> Self {
        if settings.pretouch_bytes == 0 {
            return Self::default();
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(settings, budget, settings.lives_for.periods() * cores)
    }

    /// Makes as many first chunks as the budget and the system allow, up to `count`.
    fn new(settings: &FrameArenaSettings, budget: &Arc<Budget>, count: usize) -> Self {
        let bytes = settings.worker_capacity_bytes;
        let chunks = (0..count).map_while(|_| {
            let mut chunk = Chunk::new(bytes, 1, budget).ok()?;
            chunk.touch(settings.pretouch_bytes);
            Some(chunk)
        });
        Self {
            chunks: Mutex::new(chunks.collect()),
        }
    }

    /// Frees what nobody asked for.
    pub(crate) fn clear(&self) {
        self.chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn take(&self) -> Option<Chunk> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.pop()
    }
}

impl FrameArena {
    /// Gives a new arena its first chunk, if the stock has one.
    pub(crate) fn with_chunk_of(self, stock: &Stock) -> Self {
        if let Some(chunk) = stock.take() {
            // A failure leaves it as it was: it makes its first chunk when it needs one.
            self.add_to_chain(chunk).unwrap_or(());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp;

    fn settings() -> FrameArenaSettings {
        FrameArenaSettings {
            worker_capacity_bytes: 64 << 10,
            pretouch_bytes: 10_000,
            budget_bytes: Some(200 << 10),
            ..FrameArenaSettings::default()
        }
    }

    #[test]
    fn workers_take_the_stock_and_then_make_their_own() {
        let settings = settings();
        let budget = Arc::new(Budget::new(None));
        let stock = Stock::new(&settings, &budget, 1);
        assert_eq!(budget.reserved_bytes(), 64 << 10);
        let arena = || FrameArena::in_budget(&settings, Arc::clone(&budget), stamp::standalone());
        let first = arena().with_chunk_of(&stock);
        assert_eq!(first.capacity_bytes(), 64 << 10);
        assert_eq!((first.used_bytes(), first.overflows()), (0, 0));
        assert_eq!(*first.alloc(7), 7);
        let second = arena().with_chunk_of(&stock);
        assert_eq!(second.capacity_bytes(), 0);
        assert_eq!(*second.alloc(7), 7);
    }

    #[test]
    fn the_stock_stays_within_the_budget_and_gives_it_back() {
        let settings = settings();
        let budget = Arc::new(Budget::new(settings.budget_bytes));
        let stock = Stock::new(&settings, &budget, 100);
        assert_eq!(budget.reserved_bytes(), 3 * (64 << 10));
        stock.clear();
        assert_eq!(budget.reserved_bytes(), 0);
    }

    /// Elsewhere the system does not say so simply what it has provided.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn pages_are_there_before_a_worker_asks() {
        fn resident_pages() -> usize {
            let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
            let resident = statm.split(' ').nth(1).expect("the second figure");
            resident.parse().expect("a number")
        }
        const BYTES: usize = 64 << 20;
        let pages_of = |pretouch_bytes| {
            let settings = FrameArenaSettings {
                worker_capacity_bytes: BYTES,
                pretouch_bytes,
                ..FrameArenaSettings::default()
            };
            let before = resident_pages();
            let _stock = Stock::new(&settings, &Arc::new(Budget::new(None)), 1);
            resident_pages().saturating_sub(before)
        };
        // Pages may be larger than 4 KiB, and other tests have memory too.
        let touched = pages_of(BYTES);
        assert!(touched > BYTES / (64 << 10) / 2, "{touched} pages");
        assert!(pages_of(1) < touched / 2);
    }

    #[test]
    fn without_the_setting_nothing_is_made() {
        let budget = Arc::new(Budget::new(None));
        let _none = Stock::for_all_cores(&FrameArenaSettings::default(), &budget);
        assert_eq!(budget.reserved_bytes(), 0);
        let _some = Stock::for_all_cores(&settings(), &budget);
        assert!(budget.reserved_bytes() >= 2 * (64 << 10));
    }
}
