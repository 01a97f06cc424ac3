//! The line of code that a problem mostly comes from.
#![forbid(unsafe_code)]

use std::fmt;

use super::Bytes;
use super::problems::Kind;
use crate::arenas::FrameUsage;

/// The last words of a warning: who it was, or how to find out.
pub(super) struct Blame<'a> {
    pub(super) kind: Kind,
    pub(super) usage: &'a FrameUsage,
}

/// For what comes without a line of its own, as a refusal to `try_alloc` does.
const HOW_TO_FIND_OUT: &str = ". This crate's feature `sites` tells the line";

impl fmt::Display for Blame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sites = self.usage.sites.iter();
        let has_line = self.usage.first_stale_lookup.is_some();
        match self.kind {
            Kind::Parked => Ok(()),
            Kind::Stale => match sites.max_by_key(|site| site.stale_lookups) {
                Some(site) => write!(f, ". At {}: {}", site.site, site.stale_lookups),
                None if has_line => Ok(()),
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
