//! The sites that took most, as diagnostics.
#![forbid(unsafe_code)]

use bevy_diagnostic::DiagnosticPath;

use crate::sites::{Site, SiteUsage};

/// How many of the sites that took most in a frame get a diagnostic.
const TOP_SITES: usize = 8;

/// The most sites that get one in all: a store never forgets one.
const MAX_SITES: usize = 64;

/// The sites that have a diagnostic.
#[derive(Default)]
pub(super) struct SitePaths {
    known: Vec<(Site, DiagnosticPath)>,
}

impl SitePaths {
    /// Calls `add` with the diagnostic of each site that is new among those that took most.
    pub(super) fn add_new(
        &mut self,
        prefix: &str,
        sites: &[SiteUsage],
        mut add: impl FnMut(&DiagnosticPath),
    ) {
        let top = sites.iter().take(TOP_SITES);
        for site in top.filter(|site| site.used_bytes > 0) {
            let is_known = self.known.iter().any(|&(known, _)| known == site.site);
            if !is_known && self.known.len() < MAX_SITES {
                let path = site_path(prefix, site.site);
                add(&path);
                self.known.push((site.site, path));
            }
        }
    }

    /// Returns each diagnostic, with the bytes that its site took.
    pub(super) fn measured(
        &self,
        sites: &[SiteUsage],
    ) -> impl Iterator<Item = (&DiagnosticPath, usize)> {
        self.known.iter().map(|(known, path)| {
            let site = sites.iter().find(|site| site.site == *known);
            (path, site.map_or(0, |site| site.used_bytes))
        })
    }
}

/// A file may have any path; that of a diagnostic may have no empty component.
fn site_path(prefix: &str, site: Site) -> DiagnosticPath {
    let name = site.to_string();
    let components = name.split('/').filter(|it| !it.is_empty());
    DiagnosticPath::from_components([prefix, "site"].into_iter().chain(components))
}
