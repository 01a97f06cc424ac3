//! Problems in a period's figures: their texts, and their warnings, each logged once.
#![forbid(unsafe_code)]

use std::panic::Location;

use tracing::warn;

use super::Bytes;
use super::report::{ArenaReport, News};
use crate::arenas::{FrameUsage, RunningTask, WorkerUsage};
use crate::error::{Count, enough_for};

/// The number of generations that tasks and late readers may park. More look like a leak.
const PARKED_IS_FINE: usize = 3;

/// The age at which a task arena looks like a leak: periods, or frames of a whole long period.
///
/// This is the default of `trim_after_periods`, ten seconds at 60 frames a second: by then any other memory
/// that nothing uses has been given back.
const OLD_TASK: u64 = 600;

/// The kinds of problems, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A limit refused allocations.
    Refused,
    /// Look-ups panicked: the handles were stale, or from other arenas.
    Stale,
    /// Leases keep generations from being recycled.
    Parked,
    /// A worker has used more than 90 % of its limit.
    NearLimit,
    /// A task arena was neither finished nor dropped for a long time.
    OldTask,
    /// Lists were compared in vain, because data lives for one period.
    LostList,
}

/// A problem that is fixed by changing a setting or a line of the game.
#[cfg_attr(
    not(feature = "overlay"),
    expect(dead_code, reason = "the overlay reads what the log has in its text")
)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    /// The details for the overlay.
    pub(crate) short: String,
    /// The change that fixes it, for the overlay.
    pub(crate) cure: String,
    /// What happened, what to change and, if it is known, the line that caused it.
    text: String,
}

impl Problem {
    fn new(kind: Kind, short: String, cure: &str, text: String) -> Self {
        Self {
            kind,
            short,
            cure: cure.to_owned(),
            text,
        }
    }

    /// Adds the setting that fixes the problem, and the line of code that caused it.
    fn fixed_by(mut self, setting: &str, bytes: usize, site: Option<String>) -> Self {
        let bytes = Bytes(enough_for(bytes));
        self.cure = format!("raise {setting} to {bytes}");
        self.text += &format!(". Raise `FrameArenaSettings::{setting}` to {bytes}");
        self.text += &site.unwrap_or_default();
        self
    }
}

/// Returns the problems in new figures that are wanted, worst first. Texts are made only for these.
pub(crate) fn problems_in(
    news: &News,
    report: &ArenaReport,
    mut is_wanted: impl FnMut(Kind) -> bool,
) -> Vec<Problem> {
    let (usage, settings) = (news.usage, &report.settings);
    let mut found = Vec::new();
    if news.figures.refusals > 0 && is_wanted(Kind::Refused) {
        found.push(refused(news, report));
    }
    if news.figures.stale_panics > 0 && is_wanted(Kind::Stale) {
        found.push(stale(news, report));
    }
    if usage.parked > PARKED_IS_FINE && is_wanted(Kind::Parked) {
        found.push(parked(usage));
    }
    if let Some(limit) = settings.worker_limit_bytes
        && let Some(worker) = usage.workers.iter().find(|it| is_near(it, limit))
        && is_wanted(Kind::NearLimit)
    {
        found.push(near_limit(worker, limit, news, report));
    }
    // Having an age, it has lived through all of the last period.
    let is_old = |it: &RunningTask| {
        it.age_in_periods > 0 && it.age_in_periods.max(report.frames) >= OLD_TASK
    };
    if let Some(task) = usage.oldest_task.filter(is_old)
        && news.is_over
        && is_wanted(Kind::OldTask)
    {
        found.push(old_task(&task, report));
    }
    // A level that gives its memory back has nothing to compare with.
    if let Some(read_at) = report.lost_list_at
        && settings.trim_after_periods != Some(0)
        && news.is_over
        && is_wanted(Kind::LostList)
    {
        found.push(lost_list(read_at));
    }
    found
}

/// Returns whether a worker has used more than 90 % of its limit. More than the limit is the sum of several
/// threads with the same name.
pub(crate) fn is_near(worker: &WorkerUsage, limit_bytes: usize) -> bool {
    worker.peak_bytes > limit_bytes / 10 * 9 && worker.peak_bytes <= limit_bytes
}

fn refused(news: &News, report: &ArenaReport) -> Problem {
    let (settings, largest) = (&report.settings, news.usage.largest_refusal_bytes);
    // The limit that refused allocations last.
    let budget = settings.budget_bytes.filter(|_| !report.is_worker_refused);
    let (setting, bytes, what) = match budget {
        Some(bytes) => ("budget_bytes", bytes, "the budget is"),
        None => {
            let bytes = settings.worker_limit_bytes.unwrap_or(usize::MAX);
            ("worker_limit_bytes", bytes, "a worker may take")
        }
    };
    let short = format!("{what} {}", Bytes(bytes));
    let text = format!(
        "refused allocations in a {}: {}, of up to {}, because {short}",
        report.period,
        news.figures.refusals,
        Bytes(largest)
    );
    // Sites are counted when the period ends.
    let worst = news.usage.sites.iter().max_by_key(|site| site.refusals);
    let site = news.is_over.then(|| match worst {
        Some(site) => format!(". At {}: {}", site.site, site.refusals),
        None => ". With this crate's feature `sites`, the line is logged".to_owned(),
    });
    let needed_bytes = bytes.saturating_add(largest);
    Problem::new(Kind::Refused, short, "", text).fixed_by(setting, needed_bytes, site)
}

fn stale(news: &News, report: &ArenaReport) -> Problem {
    let (period, panics) = (&report.period, news.figures.stale_panics);
    let mut text =
        format!("panics at look-ups of stale or foreign handles in a {period}: {panics}");
    let mut short = String::new();
    if let Some(first) = news.usage.first_stale_lookup {
        text += &format!(". The first: {first}");
        // Only the name of the file: the overlay has no room for its path.
        let file = first.read_at.file().rsplit(['/', '\\']).next();
        short = format!(", {}:{}", file.unwrap_or_default(), first.read_at.line());
    }
    let cure = "read it with get, or share it anew each frame";
    Problem::new(Kind::Stale, short, cure, text)
}

fn parked(usage: &FrameUsage) -> Problem {
    let (generations, reserved) = (usage.parked, Bytes(usage.reserved_bytes));
    let text = format!(
        "leases keep {generations} generations from being recycled, and {reserved} are reserved. Drop \
         each `FrameLease` when its reader is done"
    );
    let short = format!("PARKED {generations} generations: leases are held");
    let cure = "drop each FrameLease when its reader is done";
    Problem::new(Kind::Parked, short, cure, text)
}

fn near_limit(worker: &WorkerUsage, limit: usize, news: &News, report: &ArenaReport) -> Problem {
    let took = format!("took {} of {}", Bytes(worker.peak_bytes), Bytes(limit));
    let text = format!(
        "`{}` is near its limit: a {} {took}, and beyond that allocations fail",
        worker.name, report.period
    );
    let short = format!("ABOVE 90 %: {} {took}", short_name(&worker.name));
    let site = news.usage.sites.first().filter(|_| news.is_over);
    let site = site.map(|it| format!(". Largest at {}: {}", it.site, Bytes(it.used_bytes)));
    let problem = Problem::new(Kind::NearLimit, short, "", text);
    problem.fixed_by("worker_limit_bytes", worker.peak_bytes, site)
}

fn old_task(task: &RunningTask, report: &ArenaReport) -> Problem {
    let text = format!(
        "the task arena taken at {} is still in use after {}, and tasks hold {}. Finish or drop it when its \
         task ends; for a task that never ends, use a `FrameArena`",
        line(task.made_at),
        Count(task.age_in_periods, &report.period),
        Bytes(report.usage.task_bytes),
    );
    Problem::new(Kind::OldTask, String::new(), "", text)
}

fn lost_list(read_at: &Location) -> Problem {
    let text = format!(
        "the `TwoFrames` read at {} reports all elements as added, because its old list lives for one \
         period. Set `FrameArenaSettings::lives_for` to `LivesFor::TwoPeriods`",
        line(read_at)
    );
    Problem::new(Kind::LostList, String::new(), "", text)
}

fn line(location: &Location) -> String {
    format!("{}:{}", location.file(), location.line())
}

/// Logs the problems in new figures whose kinds were not logged yet.
pub(super) fn warn_of(news: &News, report: &ArenaReport, told: &mut Vec<Kind>) {
    for problem in problems_in(news, report, |kind| !told.contains(&kind)) {
        warn!("{}: {}", report.label, problem.text);
        told.push(problem.kind);
    }
}

/// The maximum number of letters in a short name, with its number: the bytes need the rest of a cell.
const MAX_LETTERS: usize = 4;

/// Returns the short name of a thread: `C3` for `Compute Task Pool (3)`.
pub(crate) fn short_name(thread: &str) -> String {
    let (has_number, pool, number) = parts_of(thread);
    let number = if has_number {
        number.to_string()
    } else {
        String::new()
    };
    let letters = MAX_LETTERS.saturating_sub(number.len()).max(1);
    format!("{pool:.letters$}{number}")
}

/// Returns whether the name of a thread has a number, its pool, and the number. In this order, names without a
/// number come first, then the pools, each by number.
pub(crate) fn parts_of(thread: &str) -> (bool, &str, u32) {
    let numbered = thread.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    let numbered = numbered.and_then(|(pool, number)| Some((pool, number.parse().ok()?)));
    let (pool, number) = numbered.unwrap_or((thread, 0));
    let pool = match pool {
        "Compute Task Pool" => "C",
        "Async Compute Task Pool" => "A",
        "IO Task Pool" => "IO",
        other => other,
    };
    (numbered.is_some(), pool, number)
}
