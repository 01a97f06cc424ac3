//! The sites of a frame, of all workers together.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::ops::Deref;

use super::SiteUsage;

/// The lines that asked for memory in a frame, with the feature `sites`: those that took most come
/// first. It derefs to a slice of [`SiteUsage`], which is empty without the feature.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SiteList(Vec<SiteUsage>);

impl SiteList {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Moves all of another list here.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }

    /// Adds up what belongs to one site, and sorts.
    pub(crate) fn finish(&mut self) {
        let place = |site: &SiteUsage| (site.file, site.line);
        self.0.sort_unstable_by_key(place);
        self.0.dedup_by(|site, sum| {
            let is_same = site.is_at(sum);
            if is_same {
                sum.add(site);
            }
            is_same
        });
        for site in &mut self.0 {
            site.used_bytes = site.used_bytes.cast_signed().max(0).cast_unsigned();
        }
        self.0.sort_unstable_by_key(|site| {
            let figures = (site.used_bytes, site.scratch_bytes, site.look_ups);
            (Reverse(figures), place(site))
        });
    }
}

impl Extend<SiteUsage> for SiteList {
    fn extend<I: IntoIterator<Item = SiteUsage>>(&mut self, sites: I) {
        self.0.extend(sites);
    }
}

impl Deref for SiteList {
    type Target = [SiteUsage];

    fn deref(&self) -> &[SiteUsage] {
        &self.0
    }
}

impl Clone for SiteList {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    /// Copies the figures into the memory of the list.
    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl SiteUsage {
    fn add(&mut self, other: &Self) {
        self.look_ups += other.look_ups;
        // By wrapping: a worker may have freed more than it took.
        self.used_bytes = self.used_bytes.wrapping_add(other.used_bytes);
        self.scratch_bytes += other.scratch_bytes;
        self.refusals += other.refusals;
        self.stale_lookups += other.stale_lookups;
    }
}
