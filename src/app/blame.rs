//! The line of code that a problem mostly comes from.
#![forbid(unsafe_code)]

use std::fmt;

use super::Bytes;
use super::problems::Kind;
use crate::sites::SiteUsage;

/// The last words of a warning: who it was, or how to find out.
pub(super) struct Blame<'a> {
    pub(super) kind: Kind,
    pub(super) sites: &'a [SiteUsage],
}

/// For those that come without a line of their own, as `get` and `try_alloc` do.
const HOW_TO_FIND_OUT: &str = ". This crate's feature `sites` tells the line";

impl fmt::Display for Blame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sites = self.sites.iter();
        match self.kind {
            Kind::Parked => Ok(()),
            Kind::Stale => match sites.max_by_key(|site| site.stale_lookups) {
                Some(site) => write!(f, ". At {}: {}", site.site, site.stale_lookups),
                None => f.write_str(HOW_TO_FIND_OUT),
            },
            Kind::Refused => match sites.max_by_key(|site| site.refusals) {
                Some(site) => write!(f, ". At {}: {}", site.site, site.refusals),
                None => f.write_str(HOW_TO_FIND_OUT),
            },
            Kind::Overflow | Kind::NearLimit => match sites.next() {
                Some(site) => write!(
                    f,
                    ". Most was taken at {}: {}",
                    site.site,
                    Bytes(site.used_bytes)
                ),
                None => Ok(()),
            },
        }
    }
}
