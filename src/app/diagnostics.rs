//! The arenas' figures as Bevy diagnostics.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_diagnostic::{
    DEFAULT_MAX_HISTORY_LENGTH, Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore,
};
use bevy_platform::time::Instant;

use super::report::{FRAME_PREFIX, FrameArenaReport};
use crate::arenas::FrameUsage;
use crate::sites::{Site, SiteUsage};

/// Publishes the figures of each frame; [`FrameArenaPlugin`](crate::FrameArenaPlugin) adds it.
///
/// They are those of the frame that just ended, as [`FrameArenaReport`](crate::FrameArenaReport) has
/// them. Memory is given in MiB. Each worker thread has a diagnostic too, with the memory it used:
/// see [`worker`](Self::worker). Of more than 16 workers, 16 are measured in a frame, in turns. With
/// the feature `sites`, so have the lines of code that took most in a frame:
/// `frame_arena/site/src/cull.rs:12`. Bevy's own overlay shows them like any diagnostic
/// (`DiagnosticsOverlay::new("Arenas", vec![FrameArenaDiagnosticsPlugin::USED.into()])`); for a
/// picture made for them see the feature `overlay`.
///
/// The time of a measurement is that of Bevy's `Time<Real>`; without a `TimePlugin` it is the
/// system's, and in a browser nothing is measured then.
///
/// ```
/// use bevy_app::App;
/// use bevy_diagnostic::DiagnosticsStore;
/// use bevy_frame_arena::{FrameArenaDiagnosticsPlugin, FrameArenaPlugin, FrameArenas};
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPlugin::default());
/// let arenas = app.world().resource::<FrameArenas>();
/// arenas.local().alloc_slice_fill_copy(1 << 20, 0_u8);
/// app.update();
///
/// let store = app.world().resource::<DiagnosticsStore>();
/// let used = store.get(&FrameArenaDiagnosticsPlugin::USED).unwrap();
/// assert_eq!(used.value(), Some(1.0));
/// assert_eq!(used.suffix, " MiB");
/// ```
pub struct FrameArenaDiagnosticsPlugin {
    /// The number of values to keep of each diagnostic, and 65,536 at most.
    pub max_history_length: usize,
}

impl FrameArenaDiagnosticsPlugin {
    /// Memory in use when the frame ended, by all workers.
    pub const USED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/used");
    /// The most memory that each worker had in use at once in the frame, added up.
    pub const PEAK: DiagnosticPath = DiagnosticPath::const_new("frame_arena/peak");
    /// The highest [`PEAK`](Self::PEAK) of any frame so far.
    pub const HIGH_WATERMARK: DiagnosticPath =
        DiagnosticPath::const_new("frame_arena/high_watermark");
    /// The most memory that [scratch](crate::Scratch) had in use at once so far.
    pub const SCRATCH: DiagnosticPath = DiagnosticPath::const_new("frame_arena/scratch");
    /// Memory held from the global allocator; where untouched, it is address space alone.
    pub const RESERVED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/reserved");
    /// Threads that allocated in the frame.
    pub const WORKERS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/workers");
    /// Memory of the blocks that were in the arenas of the frame and in scratch when it ended.
    pub const HELD: DiagnosticPath = DiagnosticPath::const_new("frame_arena/held");
    /// Allocations that a limit refused.
    pub const REFUSALS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/refusals");
    /// Generations that a lease keeps from being recycled.
    pub const PARKED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/parked");
    /// Mebibytes of the blocks that task arenas and their results held: a part of `HELD`.
    pub const TASKS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/tasks");
    /// Lookups of stale or foreign handles.
    pub const STALE: DiagnosticPath = DiagnosticPath::const_new("frame_arena/stale");

    /// Returns the diagnostic of the threads with this name, `frame_arena/worker/NAME`: memory
    /// that they used in the frame. It exists once such a thread has allocated. Of more than 16
    /// workers, each is measured in every second frame, third, or fourth: a measurement costs more
    /// than the rest of a worker's share in the frame's end.
    /// [`FrameArenas::usage`](crate::FrameArenas::usage) has all of them in each frame.
    pub fn worker(thread_name: &str) -> DiagnosticPath {
        worker_path(FRAME_PREFIX, thread_name)
    }
}

impl Default for FrameArenaDiagnosticsPlugin {
    fn default() -> Self {
        Self {
            max_history_length: DEFAULT_MAX_HISTORY_LENGTH,
        }
    }
}

impl Plugin for FrameArenaDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        FrameArenaReport::publish_frame(app.world_mut(), self.max_history_length);
    }
}

/// The most workers that get a diagnostic of their own: a store never forgets one.
const MAX_WORKERS: usize = 64;

/// The most workers that are measured in one period. More take turns: Bevy's store needs some 300
/// instructions for a measurement, and the frame's end shall not grow with them.
const WORKERS_IN_TURN: usize = 16;

/// The most values that a diagnostic keeps: 18 minutes at 60 frames a second.
const MAX_HISTORY: usize = 1 << 16;

const MEMORY: &str = " MiB";

/// A figure of a period: its path for the frame, its unit, and its value.
type Figure = (DiagnosticPath, &'static str, fn(&FrameUsage) -> f64);

/// All figures that are published. Other arenas have the same, under their own prefix.
static FIGURES: [Figure; 11] = {
    type Frame = FrameArenaDiagnosticsPlugin;
    [
        (Frame::USED, MEMORY, |it| mebibytes(it.used_bytes)),
        (Frame::PEAK, MEMORY, |it| mebibytes(it.peak_bytes)),
        (Frame::HIGH_WATERMARK, MEMORY, |it| {
            mebibytes(it.high_watermark_bytes)
        }),
        (Frame::SCRATCH, MEMORY, |it| {
            mebibytes(it.scratch_high_watermark_bytes)
        }),
        (Frame::RESERVED, MEMORY, |it| mebibytes(it.reserved_bytes)),
        (Frame::WORKERS, "", |it| it.active_workers as f64),
        (Frame::HELD, MEMORY, |it| mebibytes(it.held_bytes)),
        (Frame::REFUSALS, "", |it| it.refusals as f64),
        (Frame::TASKS, MEMORY, |it| mebibytes(it.task_bytes)),
        (Frame::PARKED, "", |it| it.parked as f64),
        (Frame::STALE, "", |it| it.stale_lookups as f64),
    ]
};

/// Writes the figures of one set of arenas to a store, under names with one prefix.
pub(super) struct UsagePublisher {
    prefix: String,
    max_history_length: usize,
    figures: Vec<DiagnosticPath>,
    workers: Vec<(Arc<str>, DiagnosticPath)>,
    /// The line of the worker whose turn it is.
    next_worker: usize,
    sites: SitePaths,
}

impl UsagePublisher {
    pub(super) fn new(prefix: &str, max_history_length: usize) -> Self {
        Self {
            prefix: prefix.to_owned(),
            // A history is reserved as a whole.
            max_history_length: max_history_length.min(MAX_HISTORY),
            figures: FIGURES.iter().map(|it| path_in(prefix, &it.0)).collect(),
            workers: Vec::new(),
            next_worker: 0,
            sites: SitePaths::default(),
        }
    }

    /// Adds the diagnostics to a store.
    pub(super) fn register(&self, store: &mut DiagnosticsStore) {
        for (path, (_, suffix, _)) in self.figures.iter().zip(&FIGURES) {
            store.add(self.diagnostic(path, suffix));
        }
    }

    /// Adds a measurement to each diagnostic of the store; of many workers, to those whose turn it
    /// is.
    ///
    /// It allocates only for workers and sites it has not seen: `Diagnostics`, the system parameter, would
    /// clone their paths each frame.
    pub(super) fn publish(
        &mut self,
        usage: &FrameUsage,
        time: Instant,
        store: &mut DiagnosticsStore,
    ) {
        let measure = |store: &mut DiagnosticsStore, path: &DiagnosticPath, value| {
            if let Some(diagnostic) = store.get_mut(path).filter(|it| it.is_enabled) {
                diagnostic.add_measurement(DiagnosticMeasurement { time, value });
            }
        };
        for (path, (.., value)) in self.figures.iter().zip(&FIGURES) {
            measure(store, path, value(usage));
        }
        for line in self.take_turn(usage.workers.len()) {
            let worker = &usage.workers[line];
            if let Some(path) = self.path_of_worker(line, &worker.name, store) {
                measure(store, path, mebibytes(worker.used_bytes));
            }
        }
        let length = self.max_history_length;
        self.sites.add_new(&self.prefix, &usage.sites, |path| {
            store.add(diagnostic(path, MEMORY, length));
        });
        for (path, used_bytes) in self.sites.measured(&usage.sites) {
            measure(store, path, mebibytes(used_bytes));
        }
    }

    /// Returns the lines of the workers whose turn it is: all, if they are few.
    fn take_turn(&mut self, workers: usize) -> impl Iterator<Item = usize> + use<> {
        let workers = workers.min(MAX_WORKERS);
        // A worker that was idle for long is no longer listed, so there may be fewer than before.
        let first = Some(self.next_worker).filter(|&first| first < workers);
        let first = first.unwrap_or(0);
        let line_at = move |place| match place {
            place if place < workers => place,
            place => place - workers,
        };
        let turn = first..first + workers.min(WORKERS_IN_TURN);
        self.next_worker = line_at(turn.end);
        turn.map(line_at)
    }

    /// Returns the diagnostic of a worker. Mostly its line in the usage says where to look.
    fn path_of_worker(
        &mut self,
        line: usize,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<&DiagnosticPath> {
        let is_there = |(known, _): &(Arc<str>, _)| Arc::ptr_eq(known, name);
        let index = match self.workers.get(line).is_some_and(is_there) {
            true => line,
            false => self.find_worker(line, name, store)?,
        };
        Some(&self.workers[index].1)
    }

    /// Finds the diagnostic of a worker, or adds it, and has it where the next call looks first.
    #[cold]
    fn find_worker(
        &mut self,
        line: usize,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<usize> {
        if line >= MAX_WORKERS {
            return None;
        }
        let known = self.workers.iter().position(|(known, _)| known == name);
        if known.is_none() && self.workers.len() == MAX_WORKERS {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            let path = worker_path(&self.prefix, name);
            store.add(self.diagnostic(&path, MEMORY));
            self.workers.push((Arc::clone(name), path));
            self.workers.len() - 1
        });
        self.workers[index].0 = Arc::clone(name);
        let place = line.min(self.workers.len() - 1);
        self.workers.swap(index, place);
        Some(place)
    }

    fn diagnostic(&self, path: &DiagnosticPath, suffix: &'static str) -> Diagnostic {
        diagnostic(path, suffix, self.max_history_length)
    }
}

fn diagnostic(path: &DiagnosticPath, suffix: &'static str, length: usize) -> Diagnostic {
    Diagnostic::new(path.clone())
        .with_suffix(suffix)
        .with_max_history_length(length)
}

/// Returns the path of a figure of the frame, under another prefix.
fn path_in(prefix: &str, of_frame: &DiagnosticPath) -> DiagnosticPath {
    let name = of_frame.as_str().trim_start_matches(FRAME_PREFIX);
    DiagnosticPath::new(format!("{prefix}{name}"))
}

/// A thread may have any name; a path may have no empty component.
pub(super) fn worker_path(prefix: &str, thread_name: &str) -> DiagnosticPath {
    let name = match thread_name {
        "" => Cow::Borrowed("unnamed"),
        name => Cow::Owned(name.replace('/', "|")),
    };
    DiagnosticPath::new(format!("{prefix}/worker/{name}"))
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// How many of the sites that took most in a frame get a diagnostic.
const TOP_SITES: usize = 8;

/// The most sites that get one in all: a store never forgets one.
const MAX_SITES: usize = 64;

/// The sites that have a diagnostic.
#[derive(Default)]
struct SitePaths {
    known: Vec<(Site, DiagnosticPath)>,
}

impl SitePaths {
    /// Calls `add` with the diagnostic of each site that is new among those that took most.
    fn add_new(&mut self, prefix: &str, sites: &[SiteUsage], mut add: impl FnMut(&DiagnosticPath)) {
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
    fn measured(&self, sites: &[SiteUsage]) -> impl Iterator<Item = (&DiagnosticPath, usize)> {
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
