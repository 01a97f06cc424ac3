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
#[cfg(feature = "reflect")]
use bevy_ecs::reflect::ReflectResource;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Res, ResMut};
use bevy_ecs::world::{FromWorld, World};
use bevy_platform::time::Instant;
use bevy_time::{Real, Time};
use tracing::warn;

use super::diagnostics::UsagePublisher;
use super::pace::label_of;
use super::problems::Warnings;
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
    pub(super) swapped: Vec<TypeId>,
    arenas: Vec<Entry>,
}

/// The figures of one set of arenas.
#[derive(Clone, Debug)]
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
    /// The figures of the running period as of the last frame, e.g. of a level, without those of single
    /// workers and sites. Zero for the frame and for sub-apps, whose periods are short.
    pub so_far: FrameUsage,
    /// A histogram of the periods by peak. The first entry counts periods without a peak, the following
    /// ones those with a peak up to 1 byte, 2, 4, and so on in powers of two.
    pub periods_by_peak: Vec<u64>,
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

/// One set of arenas, with the receivers of its figures.
#[cfg_attr(feature = "reflect", derive(bevy_reflect::Reflect))]
struct Entry {
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    key: Option<Key>,
    report: ArenaReport,
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    publisher: Option<UsagePublisher>,
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    warned: Warnings,
    #[cfg_attr(feature = "reflect", reflect(ignore))]
    seen: Seen,
}

/// Identifies arenas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A resource of this world, by its type.
    Resource(TypeId),
    /// The arenas of a sub-app.
    SubApp(InternedAppLabel),
}

impl FrameArenaReport {
    /// Returns the figures of the arenas with this diagnostics prefix.
    pub fn get(&self, prefix: &str) -> Option<&ArenaReport> {
        self.iter().find(|arenas| arenas.prefix == prefix)
    }

    /// Returns the figures of all arenas: the frame's first, then the others in the order they were
    /// added.
    pub fn iter(&self) -> impl Iterator<Item = &ArenaReport> {
        self.arenas.iter().map(|entry| &entry.report)
    }

    /// Adds arenas to the report and the diagnostics of a world, so that readers find them from the
    /// start. A prefix that is taken, or is not a diagnostic path, is reported instead.
    pub(super) fn add(world: &mut World, key: Key, report: ArenaReport) {
        let ArenaReport { label, prefix, .. } = &report;
        let all = world.get_resource_or_init::<Self>();
        if prefix.split('/').any(str::is_empty) {
            warn!(
                "`{label}` publish no figures: their `diagnostics_prefix` is `{prefix}`, and the path of a \
                 diagnostic must not have an empty part. Use a name such as `my_arena`, or `None`"
            );
            return;
        }
        if all.get(prefix).is_some() {
            warn!(
                "two arenas would publish their figures as `{prefix}/…`, so the second publishes \
                 none; give it a `diagnostics_prefix` of its own"
            );
            return;
        }
        let is_frame = key == FRAME;
        // The frame's diagnostics have a plugin of their own.
        let publisher = (!is_frame).then(|| {
            let store = &mut world.get_resource_or_init::<DiagnosticsStore>();
            UsagePublisher::new(prefix, DEFAULT_MAX_HISTORY_LENGTH, store)
        });
        let entry = Entry {
            key: Some(key),
            report,
            publisher,
            warned: Warnings::default(),
            seen: Seen::default(),
        };
        let arenas = &mut world.get_resource_or_init::<Self>().into_inner().arenas;
        let place = if is_frame { 0 } else { arenas.len() };
        arenas.insert(place, entry);
    }

    /// Turns on the frame's diagnostics, if the frame is in the report.
    pub(super) fn publish_frame(world: &mut World, history: usize) {
        let store = &mut world.get_resource_or_init::<DiagnosticsStore>();
        let publisher = UsagePublisher::new(FRAME_PREFIX, history, store);
        if let Some(entry) = world.get_resource_or_init::<Self>().entry(FRAME) {
            entry.publisher = Some(publisher);
        }
    }

    fn entry(&mut self, key: Key) -> Option<&mut Entry> {
        self.arenas.iter_mut().find(|it| it.key == Some(key))
    }
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
    let warns = all.warnings;
    let Some(entry) = all.entry(key) else { return };
    let report = &mut entry.report;
    report.note(arenas, is_over);
    let Some(news) = entry.seen.look(report) else {
        return;
    };
    if warns {
        entry.warned.warn(report, &news);
    }
    if let Some((publisher, mut store)) = entry.publisher.as_mut().zip(store)
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
    /// Creates a report without figures. The label is derived from the word for a period.
    pub(super) fn new(
        words: &str,
        period: &str,
        prefix: &str,
        settings: &FrameArenaSettings,
    ) -> Self {
        Self {
            label: label_of(words),
            prefix: prefix.to_owned(),
            settings: settings.clone(),
            usage: FrameUsage::default(),
            periods: 0,
            totals: Figures::default(),
            so_far: FrameUsage::default(),
            periods_by_peak: vec![0; usize::BITS as usize + 1],
            is_worker_refused: false,
            lost_list_at: None,
            period: period.to_owned(),
            frames: 0,
            frames_so_far: 0,
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
        self.frames = mem::take(&mut self.frames_so_far);
        if self.frames > 0 {
            self.so_far = FrameUsage::default();
        }
        // The class of the smallest power of two that is not below the peak.
        let class = match self.usage.peak_bytes {
            0 => 0,
            peak => 1 + (peak - 1).checked_ilog2().map_or(0, |log| log as usize + 1),
        };
        if let Some(count) = self.periods_by_peak.get_mut(class) {
            *count += 1;
        }
    }
}

/// The frame's arenas, and the prefix of their diagnostics.
pub(super) const FRAME: Key = Key::Resource(TypeId::of::<FrameArenas>());
pub(super) const FRAME_PREFIX: &str = "frame_arena";

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
        let usage = match is_over {
            true => &report.usage,
            false => &report.so_far,
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

/// Returns the report for a plugin that shows it. If there are no arenas in it, warns unless it `is_told`.
pub(crate) fn report_for<'w>(
    plugin: &str,
    report: Option<Res<'w, FrameArenaReport>>,
    is_told: &mut bool,
) -> Option<Res<'w, FrameArenaReport>> {
    let report = report.filter(|it| !it.arenas.is_empty());
    if report.is_none() && !mem::replace(is_told, true) {
        warn!("`{plugin}` finds no arenas to report: add `FrameArenaPlugin` as well");
    }
    report
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
