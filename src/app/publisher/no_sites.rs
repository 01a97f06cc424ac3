//! Nothing: without the feature `sites`, there are none to publish.
#![forbid(unsafe_code)]

use std::iter;

use bevy_diagnostic::DiagnosticPath;

use crate::sites::SiteUsage;

#[derive(Default)]
pub(super) struct SitePaths(());

impl SitePaths {
    #[inline(always)]
    pub(super) fn add_new(
        &mut self,
        _prefix: &str,
        _sites: &[SiteUsage],
        _add: impl FnMut(&DiagnosticPath),
    ) {
    }

    #[inline(always)]
    pub(super) fn measured(
        &self,
        _sites: &[SiteUsage],
    ) -> impl Iterator<Item = (&DiagnosticPath, usize)> {
        iter::empty()
    }
}
