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
    /// Periods since a spare was last needed.
    spare_periods: u32,
}

impl Parking {
    /// Returns the number of generations here.
    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    /// Returns how many of them somebody holds a lease on.
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
        self.spare_periods = self.spare_periods.saturating_add(1);
        if trim_after.is_some_and(|periods| self.spare_periods > periods) {
            self.free_spares();
        }
    }

    /// Drops what is shared in generations whose last lease has ended.
    pub(super) fn recycle_free(&mut self, panic: &mut FirstPanic) {
        for generation in self.generations.iter_mut().filter_map(Arc::get_mut) {
            if !generation.is_spare() {
                generation.recycle(stamp::SPARE, false, panic);
            }
        }
    }

    /// Frees the generations that wait for their next use.
    ///
    /// One whose lease has ended meanwhile is not among them: its shared values must not be
    /// dropped here, where a panic of theirs would interrupt the work.
    pub(super) fn free_spares(&mut self) {
        self.generations
            .retain_mut(|spare| Arc::get_mut(spare).is_none_or(|spare| !spare.is_spare()));
    }

    /// Puts a free generation in the place of one that is due, if that is leased.
    #[inline]
    pub(super) fn replace_if_leased(&mut self, due: &mut Arc<Generation>, common: &Arc<Common>) {
        if Arc::get_mut(due).is_some() {
            return;
        }
        self.spare_periods = 0;
        let is_free = |generation: &mut Arc<Generation>| Arc::get_mut(generation).is_some();
        match self
            .generations
            .iter_mut()
            .find_map(|g| is_free(g).then_some(g))
        {
            Some(spare) => mem::swap(due, spare),
            None => {
                let fresh = Generation::new(common, stamp::SPARE);
                self.generations.push(mem::replace(due, fresh));
            }
        }
    }
}
