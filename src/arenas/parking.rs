//! Generations outside the ring: leased ones, and spares that were leased before.
#![forbid(unsafe_code)]

use std::mem;

use super::generation::{Common, Generation};
use super::sync::Arc;
use crate::stamp::{self, Stamp};

/// Generations that wait for the end of their last lease, or, as spares, for their next use.
#[derive(Default)]
pub(super) struct Parking {
    generations: Vec<Arc<Generation>>,
    /// The most generations that were leased at once. This many are kept.
    most_leased: usize,
    /// Periods since `most_leased` was last reached.
    periods: u32,
    /// The most generations that were leased at once since then.
    recently_leased: usize,
}

impl Parking {
    /// Returns the number of generations, leased or spare.
    pub(super) fn len(&self) -> usize {
        self.generations.len()
    }

    pub(super) fn leased(&self) -> usize {
        let is_leased = |generation: &&Arc<Generation>| Arc::strong_count(generation) > 1;
        self.generations.iter().filter(is_leased).count()
    }

    /// Recycles generations whose last lease has ended, and frees old spares.
    #[inline]
    pub(super) fn tend(
        &mut self,
        trim_after: Option<u32>,
        recycle: impl FnMut(&mut Generation, Stamp),
    ) {
        if self.generations.is_empty() {
            return;
        }
        self.recycle_free(recycle);
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

    /// Recycles generations whose last lease has ended.
    pub(super) fn recycle_free(&mut self, mut recycle: impl FnMut(&mut Generation, Stamp)) {
        for generation in self.generations.iter_mut().filter_map(Arc::get_mut) {
            if !generation.is_spare() {
                recycle(generation, stamp::SPARE);
            }
        }
    }

    /// Frees spares until `kept` generations are left, or only leased ones.
    ///
    /// A generation whose lease has ended in the meantime is not yet a spare. Its shared values must not be
    /// dropped here, where a panic of a destructor would interrupt the work.
    pub(super) fn free_spares(&mut self, kept: usize) {
        let mut surplus = self.generations.len().saturating_sub(kept);
        self.generations.retain_mut(|spare| {
            let is_surplus = surplus > 0 && Arc::get_mut(spare).is_some_and(|it| it.is_spare());
            surplus -= usize::from(is_surplus);
            !is_surplus
        });
    }

    /// Replaces the generation that is due with a free one, if it is leased.
    #[inline]
    pub(super) fn replace_if_leased(&mut self, due: &mut Arc<Generation>, common: &Arc<Common>) {
        // Only an owner of the `Arc` can clone it. A lease that ends just now is noticed in the next period.
        if Arc::strong_count(due) > 1 {
            self.replace(due, common);
        }
    }

    #[cold]
    fn replace(&mut self, due: &mut Arc<Generation>, common: &Arc<Common>) {
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
    }
}
