//! The figures of all arenas of an app, in one place, and what their readers have in common: the news since
//! their last look, and a clock.
#![forbid(unsafe_code)]

use std::any::TypeId;
use std::fmt;
use std::mem;
use std::panic::Location;
use std::time::Duration;

use bevy_app::InternedAppLabel;
use bevy_diagnostic::{DEFAULT_MAX_HISTORY_LENGTH, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_platform::time::Instant;
use bevy_time::{Real, Time};
use tracing::warn;

use super::diagnostics::UsagePublisher;
use super::problems::{Kind, warn_of};
#[cfg(feature = "reflect")]
use super::reflect::register;
use crate::arenas::{FrameArenas, FrameUsage};
use crate::figures::Figures;
use crate::settings::FrameArenaSettings;

/// The figures of all arenas of an app, in the main world: of the frame, of other paces, and of
/// sub-apps.
///
/// Diagnostics, the log and the overlay take their figures from here, so they all show the same number of
/// the same frame. Use it for tools of your own. A system with access to the arenas can use
/// [`FrameArenas::usage`] instead.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaPlugin, FrameArenaReport, FrameArenas};
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPlugin::default());
/// app.world().resource::<FrameArenas>().local().alloc([0_u8; 1000]);
/// app.update();
///
/// let report = app.world().resource::<FrameArenaReport>();
/// let frame = report.get("frame_arena").unwrap();
/// assert_eq!(frame.label, "Frame arenas");
/// assert_eq!(frame.usage.used_bytes, 1000);
/// assert_eq!(frame.periods, 1);
/// ```
#[derive(Resource)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", reflect(Resource))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
pub struct FrameArenaReport {
    /// Whether problems are logged as warnings, each only once. Default: yes.
    pub warnings: bool,
    /// The resources that a plugin swaps.
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    pub(super) swapped: Vec<Key>,
    arenas: Vec<ArenaReport>,
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    /// By the key of their arenas.
    receivers: Vec<(Key, Receiver)>,
}

/// The figures of one set of arenas.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
#[cfg_attr(feature = "reflect", type_path = "bevy_frame_arena")]
#[non_exhaustive]
pub struct ArenaReport {
    /// The human-readable name, e.g. `Frame arenas`.
    pub label: String,
    /// The prefix of its diagnostics, e.g. `frame_arena`.
    pub prefix: String,
    /// The settings.
    pub settings: FrameArenaSettings,
    /// The figures of the period that ended last.
    pub usage: FrameUsage,
    /// The number of periods that have ended.
    pub periods: u64,
    /// The sums of the counts of all these periods, and the highest bytes of any of them.
    pub totals: Figures,
    /// A histogram of the periods by peak. The first entry counts periods without a peak, the following
    /// ones those with a peak up to 1 byte, 2, 4, and so on in powers of two.
    pub periods_by_peak: Vec<u64>,
    /// The figures of the running period as of the last frame, e.g. of a level, without those of single
    /// workers and sites. Zero for the frame and for sub-apps, whose periods are short.
    pub so_far: FrameUsage,
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    key: Option<Key>,
    /// Whether the last refusal was by the limit of a worker, not by the budget.
    pub(super) is_worker_refused: bool,
    /// The line that compared lists in vain, because data lives for one period.
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    pub(super) lost_list_at: Option<&'static Location<'static>>,
    /// The word for a period: `frame`, `level`.
    pub(super) period: String,
    /// The number of frames in the last period, if it was a long one, e.g. a level.
    pub(super) frames: u64,
    frames_so_far: u64,
}

/// Identifies arenas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A resource of this world, by its type.
    Resource(TypeId),
    /// The arenas of a sub-app.
    SubApp(InternedAppLabel),
}

impl Key {
    pub(super) const FRAME: Self = Self::of::<FrameArenas>();

    pub(super) const fn of<R: 'static>() -> Self {
        Self::Resource(TypeId::of::<R>())
    }
}

/// The receiver of the figures of one set of arenas.
#[derive(Default)]
struct Receiver {
    publisher: Option<UsagePublisher>,
    /// The kinds of problems that were logged.
    told: Vec<Kind>,
    seen: Seen,
}

impl FrameArenaReport {
    /// Returns the figures of the arenas with this diagnostics prefix.
    pub fn get(&self, prefix: &str) -> Option<&ArenaReport> {
        self.iter().find(|arenas| arenas.prefix == prefix)
    }

    /// Returns the figures of all arenas: the frame's first, then the others in the order they were
    /// added.
    pub fn iter(&self) -> impl Iterator<Item = &ArenaReport> {
        self.arenas.iter()
    }

    /// Adds arenas to the report and, except the frame's, to the diagnostics of a world, so that readers find
    /// them from the start. A name that is taken is reported instead.
    pub(super) fn add(world: &mut World, key: Key, report: ArenaReport) {
        let mut all = world.get_resource_or_init::<Self>();
        if all.get(&report.prefix).is_some() {
            warn!(
                "two arenas would publish their figures as `{}/…`, so the second publishes none; give it a \
                 `name` of its own",
                report.prefix
            );
            return;
        }
        let (prefix, is_frame) = (report.prefix.clone(), key == Key::FRAME);
        let place = if is_frame { 0 } else { all.arenas.len() };
        all.arenas.insert(place, report);
        if !is_frame {
            Self::publish(world, key, &prefix, DEFAULT_MAX_HISTORY_LENGTH);
        }
    }

    /// Adds the diagnostics of arenas.
    pub(super) fn publish(world: &mut World, key: Key, prefix: &str, history: usize) {
        let store = &mut world.get_resource_or_init::<DiagnosticsStore>();
        let publisher = UsagePublisher::new(prefix, history, store);
        let mut all = world.get_resource_or_init::<Self>();
        receiver(&mut all.receivers, key).publisher = Some(publisher);
    }
}

/// Returns the receiver of the figures of arenas.
fn receiver(all: &mut Vec<(Key, Receiver)>, key: Key) -> &mut Receiver {
    let known = all.iter().position(|(it, _)| *it == key);
    let index = known.unwrap_or_else(|| {
        all.push((key, Receiver::default()));
        all.len() - 1
    });
    &mut all[index].1
}

/// The destinations of figures, and their clock. Any of them may be missing.
pub(super) type Sinks<'w> = (
    Option<ResMut<'w, FrameArenaReport>>,
    Option<ResMut<'w, DiagnosticsStore>>,
    Option<Res<'w, Time<Real>>>,
);

/// Records the figures of the period that has just ended, or of the running one unless it `is_over`. Warns about
/// new problems, and publishes the figures if there are a store and a clock.
///
/// Must be called when a period ends and, if it may be a long one, once a frame.
pub(super) fn pass_on(
    key: Key,
    arenas: &FrameArenas,
    is_over: bool,
    (report, store, time): Sinks<'_>,
) {
    let Some(mut all) = report else { return };
    let all = &mut *all;
    let Some(report) = all.arenas.iter_mut().find(|it| it.key == Some(key)) else {
        return;
    };
    report.note(arenas, is_over);
    let receiver = receiver(&mut all.receivers, key);
    let Some(news) = receiver.seen.look(report) else {
        return;
    };
    if all.warnings {
        warn_of(&news, report, &mut receiver.told);
    }
    if let (Some(publisher), Some(mut store)) = (&mut receiver.publisher, store)
        && let Some(now) = now(time.as_deref())
    {
        publisher.publish(&news, now, &mut store);
    }
}

/// Creates an empty report, which the plugins fill.
impl FromWorld for FrameArenaReport {
    fn from_world(world: &mut World) -> Self {
        register(world);
        Self {
            warnings: true,
            swapped: Vec::new(),
            arenas: Vec::new(),
            receivers: Vec::new(),
        }
    }
}

#[cfg(not(feature = "reflect"))]
fn register(_world: &mut World) {}

impl fmt::Debug for FrameArenaReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl ArenaReport {
    /// Creates a report without figures for arenas with this name in words, e.g. `fixed step`.
    pub(super) fn new(key: Key, name: &str, period: &str, settings: &FrameArenaSettings) -> Self {
        Self {
            label: label_of(name),
            prefix: prefix_of(name),
            settings: settings.clone(),
            key: Some(key),
            period: period.to_owned(),
            periods_by_peak: vec![0; usize::BITS as usize + 1],
            ..Self::default()
        }
    }

    /// Returns whether the arenas were ever used. Refused allocations and stale look-ups count as use.
    pub(crate) fn is_used(&self) -> bool {
        let has_bytes = |usage: &FrameUsage| {
            let highest = usage.high_watermark_bytes.max(usage.largest_refusal_bytes);
            let scratch = usage.scratch_high_watermark_bytes;
            highest.max(scratch).max(usage.task_bytes) > 0
        };
        has_bytes(&self.usage) || has_bytes(&self.so_far) || self.totals.stale_lookups > 0
    }

    /// Returns whether the running period has used memory, as of the last frame.
    pub(crate) fn is_running(&self) -> bool {
        self.so_far.used_bytes + self.so_far.task_bytes > 0
    }

    fn note(&mut self, arenas: &FrameArenas, is_over: bool) {
        if self.settings != *arenas.settings() {
            self.settings.clone_from(arenas.settings());
        }
        self.is_worker_refused = arenas.is_worker_refused();
        self.lost_list_at = arenas.lost_list_at();
        if !is_over {
            self.so_far = arenas.so_far();
            self.frames_so_far += 1;
            return;
        }
        self.usage.clone_from(arenas.usage());
        self.periods += 1;
        self.totals.merge(&self.usage.figures);
        // The class of the smallest power of two that is not below the peak.
        let class = match self.usage.peak_bytes {
            0 => 0,
            peak => 1 + (peak - 1).checked_ilog2().map_or(0, |log| log as usize + 1),
        };
        if let Some(count) = self.periods_by_peak.get_mut(class) {
            *count += 1;
        }
        self.frames = mem::take(&mut self.frames_so_far);
        if self.frames > 0 {
            self.so_far = FrameUsage::default();
        }
    }
}

/// Returns the human-readable name: `Fixed step arenas` for `fixed step`.
fn label_of(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(" arenas".chars()).collect()
}

/// Returns the prefix of the diagnostics: `fixed_step_arena` for `fixed step`. It is one part of a path, and
/// easy to type.
fn prefix_of(name: &str) -> String {
    let name = name.replace(|letter: char| !letter.is_alphanumeric(), "_");
    format!("{name}_arena")
}

/// The part of a report that a reader has seen.
#[derive(Default)]
pub(crate) struct Seen {
    periods: u64,
    /// All counts so far.
    counts: [u64; 3],
}

/// The new figures of a report: those of the period that ended last or, if none has ended since the reader's
/// last look, of the running one.
pub(crate) struct News<'a> {
    pub(crate) usage: &'a FrameUsage,
    /// The bytes of that period, and all counts since the last look.
    pub(crate) figures: Figures,
    /// Whether the period has ended.
    pub(crate) is_over: bool,
}

impl Seen {
    /// Returns the news, unless there are none.
    pub(crate) fn look<'a>(&mut self, report: &'a ArenaReport) -> Option<News<'a>> {
        let is_over = mem::replace(&mut self.periods, report.periods) != report.periods;
        let usage = if is_over {
            &report.usage
        } else {
            &report.so_far
        };
        let (ended, running) = (report.totals.counts(), report.so_far.counts());
        let counts = [0, 1, 2].map(|index| ended[index] + running[index]);
        let last = mem::replace(&mut self.counts, counts);
        let new = [0, 1, 2].map(|index| counts[index].saturating_sub(last[index]));
        let is_news = is_over || report.is_running() || new != [0; 3];
        is_news.then(|| News {
            usage,
            figures: usage.figures.with_counts(new),
            is_over,
        })
    }
}

/// Returns the run condition of a plugin that shows the report: there are arenas in it. If there are none, it warns
/// once.
pub(crate) fn finds_arenas(
    plugin: &'static str,
) -> impl FnMut(Option<Res<FrameArenaReport>>, Local<bool>) -> bool + Clone {
    move |report, mut is_told| {
        let finds_some = report.is_some_and(|report| !report.arenas.is_empty());
        if !finds_some && !mem::replace(&mut *is_told, true) {
            warn!("`{plugin}` finds no arenas to report: add `FrameArenaPlugin` as well");
        }
        finds_some
    }
}

/// Returns a run condition: the interval has passed since the last run.
pub(super) fn every(
    interval: Duration,
) -> impl FnMut(Option<Res<Time<Real>>>, Local<Option<Instant>>) -> bool + Clone {
    move |time, mut last| is_due(&mut last, time.as_deref(), interval)
}

/// Returns the time at which the frame began, by Bevy's clock.
///
/// Without a `TimePlugin` it returns the system time, except in a browser: reading the clock there panics,
/// unless Bevy is built with its feature `web`.
pub(crate) fn now(time: Option<&Time<Real>>) -> Option<Instant> {
    match time {
        Some(time) => Some(time.last_update().unwrap_or_else(|| time.startup())),
        None if cfg!(target_family = "wasm") => None,
        None => Some(Instant::now()),
    }
}

/// Returns whether the interval has passed since `last`, and moves `last` to now if it has.
///
/// The first call returns `true`. Without a clock no interval ever passes. A clock that was turned back starts
/// another interval.
pub(crate) fn is_due(
    last: &mut Option<Instant>,
    time: Option<&Time<Real>>,
    interval: Duration,
) -> bool {
    let Some(now) = now(time) else { return false };
    let since = last.and_then(|last| now.checked_duration_since(last));
    let is_due = since.is_none_or(|since| since >= interval);
    if is_due {
        *last = Some(now);
    }
    is_due
}
