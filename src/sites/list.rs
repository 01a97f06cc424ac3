//! The sites of a frame, of all workers together.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::ops::Deref;

use super::SiteUsage;

/// The sites that asked for memory in a frame, with the feature `sites`: those that took most come
/// first. It derefs to a slice of [`SiteUsage`], which is empty without the feature.
#[derive(Debug, Default)]
pub struct SiteList {
    sites: Vec<SiteUsage>,
    /// Where the site that is added next may be; a guess.
    next: usize,
}

impl SiteList {
    pub(crate) fn clear(&mut self) {
        self.sites.clear();
    }

    /// Moves all of another list here.
    pub(crate) fn append(&mut self, other: &mut Self) {
        other.sites.drain(..).for_each(|site| self.add(site));
    }

    /// Adds the figures of a site to those that others have of it.
    pub(super) fn add(&mut self, site: SiteUsage) {
        // Most workers have the same sites, in the same order.
        let index = match self.sites.get(self.next) {
            Some(guess) if guess.site == site.site => self.next,
            _ => self.place_of(&site),
        };
        match self.sites.get_mut(index) {
            Some(sum) => sum.add(&site),
            None => self.sites.push(site),
        }
        self.next = index + 1;
    }

    fn place_of(&self, site: &SiteUsage) -> usize {
        let known = self.sites.iter().position(|it| it.site == site.site);
        known.unwrap_or(self.sites.len())
    }

    /// Sorts, when all were added.
    pub(crate) fn finish(&mut self) {
        for site in &mut self.sites {
            site.used_bytes = site.used_bytes.cast_signed().max(0).cast_unsigned();
        }
        self.sites.sort_unstable_by_key(|site| {
            let figures = (site.used_bytes, site.scratch_bytes, site.look_ups);
            (Reverse(figures), site.site)
        });
    }
}

impl Deref for SiteList {
    type Target = [SiteUsage];

    fn deref(&self) -> &[SiteUsage] {
        &self.sites
    }
}

impl PartialEq for SiteList {
    fn eq(&self, other: &Self) -> bool {
        self.sites == other.sites
    }
}

impl Eq for SiteList {}

impl Clone for SiteList {
    fn clone(&self) -> Self {
        Self {
            sites: self.sites.clone(),
            next: 0,
        }
    }

    /// Copies the figures into the memory of the list.
    fn clone_from(&mut self, other: &Self) {
        self.sites.clone_from(&other.sites);
    }
}

impl SiteUsage {
    fn add(&mut self, other: &Self) {
        self.look_ups += other.look_ups;
        self.allocations += other.allocations;
        // By wrapping: a worker may have freed more than it took.
        self.used_bytes = self.used_bytes.wrapping_add(other.used_bytes);
        self.peak_bytes += other.peak_bytes;
        self.scratch_bytes += other.scratch_bytes;
        self.refusals += other.refusals;
        self.stale_lookups += other.stale_lookups;
    }
}
