//! Nothing: without the feature `sites`, nobody counts.
#![forbid(unsafe_code)]

use std::ops::Deref;

use super::SiteUsage;

/// The sites of a frame: none, without the feature `sites`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteList(());

impl SiteList {
    #[inline(always)]
    pub(crate) fn clear(&mut self) {}

    #[inline(always)]
    pub(crate) fn append(&mut self, _other: &mut Self) {}

    #[inline(always)]
    pub(crate) fn finish(&mut self) {}
}

impl Deref for SiteList {
    type Target = [SiteUsage];

    fn deref(&self) -> &[SiteUsage] {
        &[]
    }
}

/// The sites of one arena: none.
#[derive(Debug, Default)]
pub(crate) struct SiteTable(());

impl SiteTable {
    #[inline(always)]
    pub(crate) fn look_up(&self, _used_bytes: impl FnOnce() -> usize) {}

    #[inline(always)]
    pub(crate) fn take_scratch(&self) {}

    #[inline(always)]
    pub(crate) fn note_scratch(&self, _bytes: impl FnOnce() -> usize) {}

    #[inline(always)]
    pub(crate) fn note_refusal(&self) {}

    #[inline(always)]
    pub(crate) fn note_stale(&self) {}

    #[inline(always)]
    pub(crate) fn end_period(&self, _used_bytes: usize, _list: &mut SiteList) {}

    #[inline(always)]
    pub(crate) fn end_scratch_period(&self, _list: &mut SiteList) {}
}
