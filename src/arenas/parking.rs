//! Generations beyond those in the ring: leased ones, and spares that were.
#![forbid(unsafe_code)]

use std::mem;
use std::sync::Arc;

use super::generation::{Common, Generation};
use crate::panics::FirstPanic;
use crate::stamp;

/// Where generations wait until their last lease ends, and after that for their next use.
#[derive(Default)]
pub(super) struct Parking {
    generations: Vec<Arc<Generation>>,
    /// The most of them that were leased at once: so many are kept.
    most_leased: usize,
    /// Periods since so many were leased.
    periods: u32,
    /// The most that were leased at once since then.
    recently_leased: usize,
}

impl Parking {
    /// Returns the number of generations here.
    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    /// Returns the bytes of the blocks that are kept for leases.
    pub(super) fn kept_bytes(&self) -> usize {
        let kept_bytes = |generation: &Arc<Generation>| generation.kept_bytes();
        self.generations.iter().map(kept_bytes).sum()
    }

    /// Returns how many of them are leased.
    pub(super) fn leased(&self) -> usize {
        let is_leased = |generation: &&Arc<Generation>| Arc::strong_count(generation) > 1;
        self.generations.iter().filter(is_leased).count()
    }

    /// Drops what is shared in generations whose last lease has ended, and frees old spares.
    #[inline]
    pub(super) fn tend(&mut self, trim_after: Option<u32>, panic: &mut FirstPanic) {
        if self.generations.is_empty() {
            return;
        }
        self.recycle_free(panic);
        self.note_leased();
        self.periods = self.periods.saturating_add(1);
        if trim_after.is_some_and(|periods| self.periods > periods) {
            self.free_spares(self.recently_leased);
            self.most_leased = self.recently_leased;
            (self.recently_leased, self.periods) = (0, 0);
        }
    }

    fn note_leased(&mut self) {
        let leased = self.leased();
        self.recently_leased = self.recently_leased.max(leased);
        if leased > 0 && leased >= self.most_leased {
            self.most_leased = leased;
            (self.recently_leased, self.periods) = (0, 0);
        }
    }

    /// Drops what is shared in generations whose last lease has ended.
    pub(super) fn recycle_free(&mut self, panic: &mut FirstPanic) {
        for generation in self.generations.iter_mut().filter_map(Arc::get_mut) {
            if !generation.is_spare() {
                generation.recycle(stamp::SPARE, panic);
            }
        }
    }

    /// Frees generations that wait for their next use, until `kept` are left, or only leased ones.
    ///
    /// One whose lease has ended meanwhile is not among them: its shared values must not be
    /// dropped here, where a panic of theirs would interrupt the work.
    pub(super) fn free_spares(&mut self, kept: usize) {
        let mut surplus = self.generations.len().saturating_sub(kept);
        self.generations.retain_mut(|spare| {
            let is_surplus = surplus > 0 && Arc::get_mut(spare).is_some_and(|it| it.is_spare());
            surplus -= usize::from(is_surplus);
            !is_surplus
        });
    }

    /// Puts a free generation in the place of one that is due, if that is leased, and returns the one
    /// that was due.
    #[inline]
    pub(super) fn replace_if_leased(
        &mut self,
        due: &mut Arc<Generation>,
        common: &Arc<Common>,
    ) -> Option<&Arc<Generation>> {
        if Arc::get_mut(due).is_some() {
            return None;
        }
        let is_free = |generation: &mut Arc<Generation>| Arc::get_mut(generation).is_some();
        let index = match self.generations.iter_mut().position(is_free) {
            Some(spare) => spare,
            None => {
                self.generations.push(Generation::new(common, stamp::SPARE));
                self.generations.len() - 1
            }
        };
        mem::swap(due, &mut self.generations[index]);
        self.note_leased();
        self.generations.get(index)
    }
}
