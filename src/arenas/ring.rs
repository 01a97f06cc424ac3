//! The generations that can be read, in turn the current one.
#![forbid(unsafe_code)]

use std::sync::Arc;

use super::generation::{Common, Generation};
use crate::stamp::{self, Stamp, StampRun};

/// As many generations as periods that data lives for.
///
/// Stamps of one run are consecutive, so whether a handle is readable is one comparison of ages,
/// and its age says which generation it is of.
pub(super) struct Ring {
    /// The stamp of the current generation.
    stamp: Stamp,
    /// The same once more, for [`is_current`](Self::is_current).
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

    /// Returns the stamp of the current generation.
    #[inline(always)]
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the number of generations.
    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    #[inline]
    pub(super) fn current(&self) -> &Arc<Generation> {
        &self.generations[self.current]
    }

    /// Returns the generation that was current before, if it can still be read.
    #[inline]
    pub(super) fn previous(&self) -> Option<&Arc<Generation>> {
        let before = self.current.checked_sub(1);
        let index = before.unwrap_or(self.generations.len() - 1);
        (index != self.current).then(|| &self.generations[index])
    }

    /// Returns the bytes of the blocks that are kept for handles.
    pub(super) fn kept_bytes(&self) -> usize {
        let kept_bytes = |generation: &Arc<Generation>| generation.kept_bytes();
        self.generations.iter().map(kept_bytes).sum()
    }

    pub(super) fn current_mut(&mut self) -> &mut Arc<Generation> {
        &mut self.generations[self.current]
    }

    /// Whether data with this stamp is of the current generation.
    ///
    /// It has a copy of the stamp to itself: with a single one, the compiler works out the age that
    /// [`holds`](Self::holds) needs before it compares at all.
    #[inline(always)]
    pub(super) fn is_current(&self, stamp: Stamp) -> bool {
        self.latest == stamp
    }

    /// Whether data with this stamp can be read.
    ///
    /// If so, its generation is in the ring, and has not been recycled since it got the stamp: the
    /// one that [`advance`](Self::advance) makes current is the oldest, and its stamp is then as
    /// old as the ring is long.
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

    /// Makes the oldest generation the current one, which is then to be recycled under the stamp
    /// that is returned.
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
