//! The readable generations, which take turns at being the current one.
#![forbid(unsafe_code)]

use std::sync::Arc;

use super::generation::{Common, Generation};
use crate::stamp::{self, Stamp, StampRun};

/// The readable generations: one for each period that data lives for.
///
/// Stamps of one run are consecutive. One comparison of ages therefore decides whether a handle is readable,
/// and its age determines its generation.
pub(super) struct Ring {
    /// The stamp of the current generation.
    stamp: Stamp,
    /// A copy of `stamp`, for [`is_current`](Self::is_current).
    latest: Stamp,
    /// The number of generations.
    len: u64,
    current: usize,
    generations: Vec<Arc<Generation>>,
    stamps: StampRun,
}

impl Ring {
    pub(super) fn new(common: &Arc<Common>) -> Self {
        let mut stamps = StampRun::new();
        let stamp = stamps.advance();
        let len = common.settings.lives_for.periods();
        let mut generations = vec![Generation::new(common, stamp)];
        generations.extend((1..len).map(|_| Generation::new(common, stamp::SPARE)));
        Self {
            stamp,
            latest: stamp,
            len: len as u64,
            current: 0,
            generations,
            stamps,
        }
    }

    #[inline(always)]
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    #[inline]
    pub(super) fn current(&self) -> &Arc<Generation> {
        &self.generations[self.current]
    }

    /// Returns the previous generation, or the current one if there is no other.
    #[inline]
    pub(super) fn previous(&self) -> &Arc<Generation> {
        let before = self.current.checked_sub(1);
        &self.generations[before.unwrap_or(self.generations.len() - 1)]
    }

    pub(super) fn current_mut(&mut self) -> &mut Arc<Generation> {
        &mut self.generations[self.current]
    }

    /// Whether data with this stamp belongs to the current generation.
    ///
    /// It compares with a copy of the stamp: with a single field, the compiler computes the age that
    /// [`holds`](Self::holds) needs before the first comparison.
    #[inline(always)]
    pub(super) fn is_current(&self, stamp: Stamp) -> bool {
        self.latest == stamp
    }

    /// Whether data with this stamp can be read.
    ///
    /// If so, its generation is in the ring and has not been recycled since it got the stamp:
    /// [`advance`](Self::advance) reuses only the oldest generation, whose stamp is no longer readable by
    /// then. The stamp of other arenas, or of an unset handle, is never that close: see `MARGIN` in
    /// `stamp.rs`.
    #[inline(always)]
    pub(super) fn holds(&self, stamp: Stamp) -> bool {
        self.stamp.wrapping_sub(stamp) < self.len
    }

    /// Returns the generation with this stamp, if it can be read.
    pub(super) fn generation_of(&self, stamp: Stamp) -> Option<&Arc<Generation>> {
        self.generations
            .iter()
            .find(|generation| generation.stamp() == stamp && self.holds(stamp))
    }

    /// Makes the oldest generation the current one. The caller must recycle it under the returned stamp.
    pub(super) fn advance(&mut self) -> Stamp {
        self.current += 1;
        if self.current == self.generations.len() {
            self.current = 0;
        }
        self.stamp = self.stamps.advance();
        self.latest = self.stamp;
        self.stamp
    }
}
