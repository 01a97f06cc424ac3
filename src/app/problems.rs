//! What is wrong with a period's figures, in words, and each once in the log.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;

use tracing::warn;

use super::Bytes;
use super::report::ArenaReport;
use crate::arenas::{FrameUsage, StaleLookup, WorkerUsage};
use crate::figures::Figures;
use crate::settings::FrameArenaSettings;

/// Parked generations up to here are what a task or a late reader needs; more look like a leak.
const PARKED_IS_FINE: usize = 3;

/// Something that a setting, or a line of the game, should change. Its text says which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A worker has used 90 % of a hard limit.
    NearLimit {
        worker: Arc<str>,
        peak_bytes: usize,
        limit_bytes: usize,
    },
    /// A limit refused allocations.
    Refused {
        count: u64,
        largest_bytes: usize,
        cause: Cause,
        span: Span,
    },
    /// Leases keep generations from being recycled.
    Parked {
        generations: usize,
        reserved_bytes: usize,
    },
    /// Look-ups panicked: they came too late, or in the wrong arenas.
    Stale {
        panics: u64,
        first: Option<StaleLookup>,
        span: Span,
    },
}

/// The time that a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// A period that has ended.
    Period,
    /// The one that goes on, as that of a level does for long.
    SoFar,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Period => "in a frame",
            Self::SoFar => "in this period so far",
        })
    }
}

/// The setting behind a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Worker { bytes: usize },
    Budget { bytes: usize },
}

/// Kinds of problems, for those who keep count of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NearLimit,
    Refused,
    Parked,
    Stale,
}

/// Returns what is wrong with the period that ended last, worst first.
pub(crate) fn problems_of(report: &ArenaReport) -> impl Iterator<Item = Problem> {
    let ArenaReport {
        usage, settings, ..
    } = report;
    let largest_bytes = usage.largest_refusal_bytes;
    let first = usage.first_stale_lookup;
    let counted = counted(usage, settings, largest_bytes, first, Span::Period);
    let parked = (usage.parked > PARKED_IS_FINE).then_some(Problem::Parked {
        generations: usage.parked,
        reserved_bytes: usage.reserved_bytes,
    });
    let workers = usage.workers.iter();
    let workers = workers.filter_map(|worker| problem_of_worker(worker, settings));
    counted.into_iter().chain(parked).chain(workers)
}

/// Returns what is wrong with the period that goes on.
pub(super) fn problems_so_far(
    so_far: &Figures,
    settings: &FrameArenaSettings,
    largest_bytes: usize,
    first: Option<StaleLookup>,
) -> impl Iterator<Item = Problem> + use<> {
    counted(so_far, settings, largest_bytes, first, Span::SoFar)
}

/// Returns the problems that are counted. This alone decides which figures are some.
fn counted(
    figures: &Figures,
    settings: &FrameArenaSettings,
    largest_bytes: usize,
    first: Option<StaleLookup>,
    span: Span,
) -> impl Iterator<Item = Problem> + use<> {
    let refused = (figures.refusals > 0).then(|| Problem::Refused {
        count: figures.refusals,
        largest_bytes,
        cause: cause_of_refusal(settings),
        span,
    });
    let stale = (figures.stale_panics > 0).then_some(Problem::Stale {
        panics: figures.stale_panics,
        first,
        span,
    });
    refused.into_iter().chain(stale)
}

fn problem_of_worker(worker: &WorkerUsage, settings: &FrameArenaSettings) -> Option<Problem> {
    let limit_bytes = settings.worker_limit_bytes?;
    is_near(worker, limit_bytes).then(|| Problem::NearLimit {
        worker: Arc::clone(&worker.name),
        peak_bytes: worker.peak_bytes,
        limit_bytes,
    })
}

/// Returns whether a worker has used more than 90 % of its limit.
pub(crate) fn is_near(worker: &WorkerUsage, limit_bytes: usize) -> bool {
    worker.peak_bytes > limit_bytes / 10 * 9
}

/// Returns why an allocation was refused. Where a worker has a limit and there is a budget, the
/// smaller one is blamed.
fn cause_of_refusal(settings: &FrameArenaSettings) -> Cause {
    let worker = settings.worker_limit_bytes.unwrap_or(usize::MAX);
    match settings.budget_bytes {
        Some(bytes) if bytes < worker => Cause::Budget { bytes },
        _ => Cause::Worker { bytes: worker },
    }
}

impl Problem {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::NearLimit { .. } => Kind::NearLimit,
            Self::Refused { .. } => Kind::Refused,
            Self::Parked { .. } => Kind::Parked,
            Self::Stale { .. } => Kind::Stale,
        }
    }

    /// Returns the name of the thread it is about, if it is about one.
    pub(crate) fn worker(&self) -> Option<&Arc<str>> {
        match self {
            Self::NearLimit { worker, .. } => Some(worker),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NearLimit {
                ref worker,
                peak_bytes,
                limit_bytes,
            } => write!(
                f,
                "`{worker}` is near its limit: a frame took {} of {}, and beyond that allocations \
                 fail. Raise `FrameArenaSettings::worker_limit_bytes` to {}",
                Bytes(peak_bytes),
                Bytes(limit_bytes),
                Bytes(enough_for(peak_bytes)),
            ),
            Self::Refused {
                count,
                largest_bytes,
                cause: Cause::Worker { bytes },
                span,
            } => write!(
                f,
                "refused allocations {span}: {count}, of up to {}. A worker may take {}. Raise \
                 `FrameArenaSettings::worker_limit_bytes` to {}",
                Bytes(largest_bytes),
                Bytes(bytes),
                Bytes(enough_for(bytes.saturating_add(largest_bytes))),
            ),
            Self::Refused {
                count,
                largest_bytes,
                cause: Cause::Budget { bytes },
                span,
            } => write!(
                f,
                "refused allocations {span}: {count}, of up to {}. The budget is {} for all \
                 workers and generations. Raise `FrameArenaSettings::budget_bytes` to {}",
                Bytes(largest_bytes),
                Bytes(bytes),
                Bytes(enough_for(bytes.saturating_add(largest_bytes))),
            ),
            Self::Parked {
                generations,
                reserved_bytes,
            } => write!(
                f,
                "leases keep {generations} generations from being recycled, and {} are reserved. \
                 Drop each `FrameLease` when its reader is done",
                Bytes(reserved_bytes),
            ),
            Self::Stale {
                panics,
                first: Some(first),
                span,
            } => write!(
                f,
                "panics at look-ups of stale or foreign handles {span}: {panics}. The first: {first}"
            ),
            Self::Stale {
                panics,
                first: None,
                span,
            } => write!(
                f,
                "panics at look-ups of stale or foreign handles {span}: {panics}. Read a handle in its \
                 frame or the next, lease its frame (`FrameArenas::lease_of`), or raise \
                 `FrameArenaSettings::lives_for`"
            ),
        }
    }
}

/// Returns a capacity that leaves some room above a peak.
pub(crate) fn enough_for(peak_bytes: usize) -> usize {
    let with_room = peak_bytes.saturating_add(peak_bytes / 4);
    with_room.checked_next_power_of_two().unwrap_or(with_room)
}

/// The most threads that are warned of by name: a game may start threads with ever new names.
const MAX_WORKERS: usize = 64;

/// Remembers what one set of arenas was warned of.
#[derive(Default)]
pub(super) struct Warnings {
    kinds: Vec<Kind>,
    workers: Vec<Arc<str>>,
}

impl Warnings {
    /// Logs what is new among the problems of the period that ended last.
    pub(super) fn warn(&mut self, report: &ArenaReport) {
        for problem in problems_of(report) {
            if self.is_new(&problem) {
                let blame = Blame {
                    kind: problem.kind(),
                    usage: &report.usage,
                };
                warn!("{}: {problem}{blame}", report.label);
            }
        }
    }

    /// Logs what is new among the problems of the period that goes on.
    pub(super) fn warn_so_far(&mut self, label: &str, problems: impl Iterator<Item = Problem>) {
        for problem in problems {
            if self.is_new(&problem) {
                warn!("{label}: {problem}");
            }
        }
    }

    /// Notes a problem, and returns whether it was not noted before.
    fn is_new(&mut self, problem: &Problem) -> bool {
        match problem.worker() {
            Some(worker) if self.workers.len() < MAX_WORKERS => {
                note(&mut self.workers, Arc::clone(worker))
            }
            Some(_) => false,
            None => note(&mut self.kinds, problem.kind()),
        }
    }
}

/// Adds what is not in the list, and returns whether it was not.
fn note<T: PartialEq>(list: &mut Vec<T>, item: T) -> bool {
    let is_missing = !list.contains(&item);
    if is_missing {
        list.push(item);
    }
    is_missing
}

/// The last words of a warning: who it was, or how to find out.
struct Blame<'a> {
    kind: Kind,
    usage: &'a FrameUsage,
}

/// For what comes without a line of its own, as a refusal to `try_alloc` does.
const HOW_TO_FIND_OUT: &str = ". This crate's feature `sites` tells the line";

impl fmt::Display for Blame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sites = self.usage.sites.iter();
        match self.kind {
            // The first stale look-up has its line; a site may be of others, that are no mistake.
            Kind::Parked | Kind::Stale => Ok(()),
            Kind::Refused => match sites.max_by_key(|site| site.refusals) {
                Some(site) => write!(f, ". At {}: {}", site.site, site.refusals),
                None => f.write_str(HOW_TO_FIND_OUT),
            },
            Kind::NearLimit => match sites.next() {
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
