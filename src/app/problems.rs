//! Problems in a period's figures: their texts, and their warnings, each logged once.
#![forbid(unsafe_code)]

use std::mem::{self, Discriminant, discriminant};
use std::panic::Location;
use std::sync::Arc;

use tracing::warn;

use super::Bytes;
use super::reader::News;
use super::report::ArenaReport;
use crate::arenas::{FrameUsage, StaleLookup, WorkerUsage};
use crate::error::{ArenaLimit, Count, enough_for};

/// The number of generations that tasks and late readers may park. More look like a leak.
const PARKED_IS_FINE: usize = 3;

/// The age at which a task arena looks like a leak: periods, or frames of a whole long period.
///
/// This is the default of `trim_after_periods`, ten seconds at 60 frames a second: by then any other memory
/// that nothing uses has been given back.
const OLD_TASK: u64 = 600;

/// A problem that is fixed by changing a setting or a line of the game. Its text names that change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A limit refused allocations.
    Refused {
        count: u64,
        largest_bytes: usize,
        limit: ArenaLimit,
    },
    /// Look-ups panicked: the handles were stale, or from other arenas.
    Stale {
        panics: u64,
        first: Option<StaleLookup>,
    },
    /// Leases keep generations from being recycled.
    Parked {
        generations: usize,
        reserved_bytes: usize,
    },
    /// A worker has used more than 90 % of its limit.
    NearLimit {
        worker: Arc<str>,
        peak_bytes: usize,
        limit_bytes: usize,
    },
}

/// Returns the problems in new figures, worst first.
pub(crate) fn problems_in<'a>(
    news: &News<'a>,
    report: &ArenaReport,
) -> impl Iterator<Item = Problem> + use<'a> {
    let News { usage, figures, .. } = *news;
    let refused = (figures.refusals > 0).then(|| Problem::Refused {
        count: figures.refusals,
        largest_bytes: usage.largest_refusal_bytes,
        limit: limit_of(report),
    });
    let stale = (figures.stale_panics > 0).then_some(Problem::Stale {
        panics: figures.stale_panics,
        first: usage.first_stale_lookup,
    });
    let parked = (usage.parked > PARKED_IS_FINE).then_some(Problem::Parked {
        generations: usage.parked,
        reserved_bytes: usage.reserved_bytes,
    });
    let found = [refused, stale, parked].into_iter().flatten();
    let limits = report.settings.worker_limit_bytes.into_iter();
    found.chain(limits.flat_map(|bytes| near_limit(usage, bytes)))
}

fn near_limit(usage: &FrameUsage, limit_bytes: usize) -> impl Iterator<Item = Problem> {
    let workers = usage.workers.iter();
    let near = workers.filter(move |worker| is_near(worker, limit_bytes));
    near.map(move |worker| Problem::NearLimit {
        worker: Arc::clone(&worker.name),
        peak_bytes: worker.peak_bytes,
        limit_bytes,
    })
}

/// Returns whether a worker has used more than 90 % of its limit. More than the limit is the sum of several
/// threads with the same name.
pub(crate) fn is_near(worker: &WorkerUsage, limit_bytes: usize) -> bool {
    worker.peak_bytes > limit_bytes / 10 * 9 && worker.peak_bytes <= limit_bytes
}

/// Returns the limit that refused allocations last.
fn limit_of(report: &ArenaReport) -> ArenaLimit {
    let settings = &report.settings;
    match settings.budget_bytes.filter(|_| !report.is_worker_refused) {
        Some(bytes) => ArenaLimit::Budget { bytes },
        None => ArenaLimit::Worker {
            bytes: settings.worker_limit_bytes.unwrap_or(usize::MAX),
        },
    }
}

/// Returns a limit in words.
pub(crate) fn limit_in_words(limit: ArenaLimit) -> String {
    match limit {
        ArenaLimit::Worker { bytes } => format!("a worker may take {}", Bytes(bytes)),
        ArenaLimit::Budget { bytes } => format!("the budget is {}", Bytes(bytes)),
    }
}

impl Problem {
    pub(crate) fn kind(&self) -> Discriminant<Self> {
        discriminant(self)
    }

    /// Returns the setting that fixes the problem, and a sufficient value.
    pub(crate) fn setting(&self) -> Option<(&'static str, Bytes)> {
        let (name, bytes) = match *self {
            Self::NearLimit { peak_bytes, .. } => ("worker_limit_bytes", peak_bytes),
            Self::Refused {
                largest_bytes,
                limit,
                ..
            } => {
                let (name, bytes) = match limit {
                    ArenaLimit::Worker { bytes } => ("worker_limit_bytes", bytes),
                    ArenaLimit::Budget { bytes } => ("budget_bytes", bytes),
                };
                (name, bytes.saturating_add(largest_bytes))
            }
            Self::Parked { .. } | Self::Stale { .. } => return None,
        };
        Some((name, Bytes(enough_for(bytes))))
    }
}

/// The maximum number of workers with a warning of their own: a game may start threads with ever new
/// names.
const MAX_WORKERS: usize = 64;

/// The warnings already logged for one set of arenas.
#[derive(Default)]
pub(super) struct Warnings {
    /// The kinds of problems, and the workers that are near their limit.
    told: Vec<(Discriminant<Problem>, Option<Arc<str>>)>,
    is_task_told: bool,
    is_lost_list_told: bool,
}

impl Warnings {
    /// Logs the problems in new figures that were not logged yet.
    pub(super) fn warn(&mut self, report: &ArenaReport, news: &News) {
        let has_limit = report.settings.worker_limit_bytes.is_some();
        if news.figures.counts() == [0; 3] && news.usage.parked == 0 && !has_limit {
            // As in most periods. It is cheaper than looking for each problem.
            return;
        }
        let problems = problems_in(news, report);
        for problem in problems.filter(|problem| self.is_new(problem)) {
            warn!("{}: {}", report.label, in_words(&problem, report, news));
        }
    }

    /// Logs the oldest task arena, if it looks like a leak.
    pub(super) fn warn_of_task(&mut self, report: &ArenaReport) {
        let ArenaReport { usage, frames, .. } = report;
        let Some(oldest) = usage.oldest_task.filter(|it| it.age_in_periods > 0) else {
            return;
        };
        // Having an age, it has lived through all of the last period.
        let is_old = oldest.age_in_periods.max(*frames) >= OLD_TASK;
        if is_old && !mem::replace(&mut self.is_task_told, true) {
            warn!(
                "{}: the task arena taken at {}:{} is still in use after {}, and tasks hold {}. Finish or \
                 drop it when its task ends; for a task that never ends, use a `FrameArena`",
                report.label,
                oldest.made_at.file(),
                oldest.made_at.line(),
                Count(oldest.age_in_periods, &report.period),
                Bytes(usage.task_bytes),
            );
        }
    }

    /// Logs the line that compared lists in vain, because data lives for one period.
    pub(super) fn warn_of_lost_list(
        &mut self,
        report: &ArenaReport,
        line: Option<&'static Location<'static>>,
    ) {
        // A level that gives its memory back has nothing to compare with.
        let gives_back = report.settings.trim_after_periods == Some(0);
        let Some(line) = line.filter(|_| !gives_back) else {
            return;
        };
        if !mem::replace(&mut self.is_lost_list_told, true) {
            warn!(
                "{}: the `TwoFrames` read at {}:{} reports all elements as added, because its old list \
                 lives for one period. Set `FrameArenaSettings::lives_for` to `LivesFor::TwoPeriods`",
                report.label,
                line.file(),
                line.line(),
            );
        }
    }

    /// Records a problem, and returns whether it is new.
    fn is_new(&mut self, problem: &Problem) -> bool {
        let worker = match problem {
            Problem::NearLimit { worker, .. } => Some(Arc::clone(worker)),
            _ => None,
        };
        let has_room = worker.is_none() || self.told.len() < MAX_WORKERS;
        let key = (problem.kind(), worker);
        let is_new = has_room && !self.told.contains(&key);
        if is_new {
            self.told.push(key);
        }
        is_new
    }
}

/// Returns a problem in words: what happened, what to change and, if it is known, the line that caused it.
fn in_words(problem: &Problem, report: &ArenaReport, news: &News) -> String {
    let period = &*report.period;
    let when = match news.is_over {
        true => format!("in a {period}"),
        false => format!("in this {period} so far"),
    };
    let mut text = match *problem {
        Problem::Refused {
            count,
            largest_bytes,
            limit,
        } => {
            let whose = match limit {
                ArenaLimit::Worker { .. } => "",
                ArenaLimit::Budget { .. } => " for all workers and generations",
            };
            let (largest, limit) = (Bytes(largest_bytes), limit_in_words(limit));
            format!(
                "refused allocations {when}: {count}, of up to {largest}, because {limit}{whose}"
            )
        }
        Problem::Stale { panics, first } => {
            let first = first.map(|first| format!(". The first: {first}"));
            let first = first.unwrap_or_default();
            format!("panics at look-ups of stale or foreign handles {when}: {panics}{first}")
        }
        Problem::Parked {
            generations,
            reserved_bytes,
        } => format!(
            "leases keep {generations} generations from being recycled, and {} are reserved. Drop each \
             `FrameLease` when its reader is done",
            Bytes(reserved_bytes),
        ),
        Problem::NearLimit {
            ref worker,
            peak_bytes,
            limit_bytes,
        } => format!(
            "`{worker}` is near its limit: a {period} took {} of {}, and beyond that allocations fail",
            Bytes(peak_bytes),
            Bytes(limit_bytes),
        ),
    };
    if let Some((name, bytes)) = problem.setting() {
        text += &format!(". Raise `FrameArenaSettings::{name}` to {bytes}");
    }
    // Sites are counted when the period ends.
    if news.is_over {
        text += &site_of(problem, news.usage);
    }
    text
}

/// Returns the line of code that caused a problem, or how to find it. Other problems have it in their text.
fn site_of(problem: &Problem, usage: &FrameUsage) -> String {
    let mut sites = usage.sites.iter();
    match problem {
        Problem::Refused { .. } => match sites.max_by_key(|site| site.refusals) {
            Some(site) => format!(". At {}: {}", site.site, site.refusals),
            None => ". With this crate's feature `sites`, the line is logged".to_owned(),
        },
        Problem::NearLimit { .. } => match sites.next() {
            Some(site) => format!(". Largest at {}: {}", site.site, Bytes(site.used_bytes)),
            None => String::new(),
        },
        Problem::Stale { .. } | Problem::Parked { .. } => String::new(),
    }
}
