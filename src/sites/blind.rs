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

/// Anywhere.
pub(crate) trait Place: Copy {}

/// Any line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line(());

impl Line {
    #[inline(always)]
    pub(crate) fn caller() -> Self {
        Self(())
    }
}

impl Place for Line {}

/// The place of a system: anywhere.
#[cfg(feature = "bevy")]
#[derive(Debug, Default)]
pub(crate) struct SystemPlace(());

#[cfg(feature = "bevy")]
impl SystemPlace {
    #[inline(always)]
    pub(crate) fn named(&mut self, _name: &str) -> Line {
        Line(())
    }
}

/// The sites of one arena: none.
#[derive(Debug, Default)]
pub(crate) struct SiteTable(());

impl SiteTable {
    #[inline(always)]
    pub(crate) fn asks_again(&self, _line: Line) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn open(&self, _line: Line, _used_bytes: impl FnOnce() -> usize) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn open_slowly(&self, _line: Line, _used_bytes: usize) {}

    #[inline(always)]
    pub(crate) fn take_scratch(&self, _place: impl Place) {}

    #[inline(always)]
    pub(crate) fn note_allocation(&self) {}

    #[inline(always)]
    pub(crate) fn note_peak(&self, _used_bytes: impl FnOnce() -> usize) {}

    #[inline(always)]
    pub(crate) fn note_refusal(&self) {}

    #[inline(always)]
    pub(crate) fn note_stale(&self, _line: Line) {}

    #[inline(always)]
    pub(crate) fn end_period(&self, _used_bytes: usize, _list: &mut SiteList) {}

    #[inline(always)]
    pub(crate) fn end_scratch_period(&self, _list: &mut SiteList) {}
}
