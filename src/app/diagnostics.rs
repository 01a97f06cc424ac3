//! The arenas' figures as Bevy diagnostics.
#![forbid(unsafe_code)]

use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_diagnostic::{
    DEFAULT_MAX_HISTORY_LENGTH, Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore,
};
use bevy_platform::time::Instant;

use super::report::{FrameArenaReport, Key, News};

/// Publishes the figures of each frame as diagnostics. [`FrameArenaPlugin`](crate::FrameArenaPlugin) adds
/// this plugin.
///
/// The figures are those of the frame that just ended, as in
/// [`FrameArenaReport`](crate::FrameArenaReport). Memory is in MiB. Each worker thread has a diagnostic
/// of the memory it used: see [`worker`](Self::worker).
///
/// Bevy's own overlay can show all of them: see [`OVERVIEW`](Self::OVERVIEW). The feature `overlay` adds
/// an overlay made for these figures.
///
/// Other arenas are measured when a period ends. If it lasts longer than a frame, as a level does, they are
/// also measured in each frame, with the figures so far. Refused allocations and stale look-ups are counted
/// since the previous measurement.
///
/// Measurements carry the time of Bevy's `Time<Real>`, or the system time if there is no `TimePlugin`. In
/// a browser without a `TimePlugin` nothing is measured.
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
    /// The number of values kept per diagnostic, at most 65,536.
    pub max_history_length: usize,
}

impl FrameArenaDiagnosticsPlugin {
    /// The most useful diagnostics of a frame, e.g. for the `DiagnosticsOverlay` of `bevy_dev_tools`:
    /// `DiagnosticsOverlay::new("Frame arenas",
    /// FrameArenaDiagnosticsPlugin::OVERVIEW.map(Into::into).to_vec())`.
    pub const OVERVIEW: [DiagnosticPath; 7] = [
        Self::USED,
        Self::PEAK,
        Self::HIGH_WATERMARK,
        Self::RESERVED,
        Self::TASKS,
        Self::REFUSALS,
        Self::STALE,
    ];
    /// Memory in use by all workers when the frame ended.
    pub const USED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/used");
    /// The sum of the workers' peaks in the frame.
    pub const PEAK: DiagnosticPath = DiagnosticPath::const_new("frame_arena/peak");
    /// The highest [`PEAK`](Self::PEAK) of any frame so far.
    pub const HIGH_WATERMARK: DiagnosticPath =
        DiagnosticPath::const_new("frame_arena/high_watermark");
    /// The highest peak of [scratch](crate::Scratch) so far.
    pub const SCRATCH: DiagnosticPath = DiagnosticPath::const_new("frame_arena/scratch");
    /// Memory taken from the global allocator. Pages that were never touched are only address space.
    pub const RESERVED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/reserved");
    /// Threads that allocated in the frame.
    pub const WORKERS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/workers");
    /// Memory in blocks held by the frame's arenas, scratch and tasks when the frame ended.
    pub const HELD: DiagnosticPath = DiagnosticPath::const_new("frame_arena/held");
    /// Allocations that a limit refused.
    pub const REFUSALS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/refusals");
    /// Generations that leases keep from being recycled.
    pub const PARKED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/parked");
    /// Memory in blocks held by task arenas and task results: a part of [`HELD`](Self::HELD).
    pub const TASKS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/tasks");
    /// Look-ups of stale or foreign handles.
    pub const STALE: DiagnosticPath = DiagnosticPath::const_new("frame_arena/stale");

    /// Returns the path of the diagnostic for threads with this name, `frame_arena/worker/NAME`: the
    /// memory they used in the frame. A `/` in the name becomes `%2F`.
    ///
    /// The diagnostic exists once such a thread has allocated. With more than 16 workers, each is
    /// measured only in every second, third or fourth frame: a measurement costs more than the rest of a
    /// worker's share of the frame's end. [`FrameArenas::usage`](crate::FrameArenas::usage) has all
    /// workers in every frame.
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
        let history = self.max_history_length;
        FrameArenaReport::publish(app.world_mut(), Key::FRAME, FRAME_PREFIX, history);
    }
}

/// The maximum number of workers with a diagnostic: a store never removes one.
const MAX_WORKERS: usize = 64;

/// The maximum number of workers measured in one period. If there are more, they take turns: a
/// measurement takes Bevy's store some 300 instructions, and the cost of a frame's end must not grow with
/// the workers.
const WORKERS_IN_TURN: usize = 16;

/// The maximum history of a diagnostic: 18 minutes at 60 frames a second.
const MAX_HISTORY: usize = 1 << 16;

/// The prefix of the frame's diagnostics.
const FRAME_PREFIX: &str = "frame_arena";

const MEMORY: &str = " MiB";

/// A figure of a period: its path in the frame's diagnostics, its unit, and its value.
type Figure = (DiagnosticPath, &'static str, fn(&News) -> f64);

/// All published figures. Other arenas have the same ones under their own prefix.
static FIGURES: [Figure; 11] = {
    type Frame = FrameArenaDiagnosticsPlugin;
    [
        (Frame::USED, MEMORY, |it| mebibytes(it.usage.used_bytes)),
        (Frame::PEAK, MEMORY, |it| mebibytes(it.usage.peak_bytes)),
        (Frame::HIGH_WATERMARK, MEMORY, |it| {
            mebibytes(it.usage.high_watermark_bytes)
        }),
        (Frame::SCRATCH, MEMORY, |it| {
            mebibytes(it.usage.scratch_high_watermark_bytes)
        }),
        (Frame::RESERVED, MEMORY, |it| {
            mebibytes(it.usage.reserved_bytes)
        }),
        (Frame::WORKERS, "", |it| it.usage.active_workers as f64),
        (Frame::HELD, MEMORY, |it| mebibytes(it.usage.held_bytes)),
        (Frame::REFUSALS, "", |it| it.figures.refusals as f64),
        (Frame::TASKS, MEMORY, |it| mebibytes(it.usage.task_bytes)),
        (Frame::PARKED, "", |it| it.usage.parked as f64),
        (Frame::STALE, "", |it| it.figures.stale_lookups as f64),
    ]
};

/// Writes the figures of one set of arenas to a store, under one prefix.
pub(super) struct UsagePublisher {
    prefix: String,
    max_history_length: usize,
    figures: Vec<DiagnosticPath>,
    /// The diagnostic of each line in the usage.
    workers: Vec<Option<(Arc<str>, DiagnosticPath)>>,
    added_workers: usize,
    /// The number of turns so far: the index of the worker whose turn is next, counted round and round.
    next_worker: usize,
}

impl UsagePublisher {
    /// Adds the diagnostics to a store.
    pub(super) fn new(prefix: &str, history: usize, store: &mut DiagnosticsStore) -> Self {
        // A history is allocated at its full length.
        let max_history_length = history.min(MAX_HISTORY);
        let figures = FIGURES.iter().map(|(of_frame, suffix, _)| {
            let name = of_frame.as_str().trim_start_matches(FRAME_PREFIX);
            let path = DiagnosticPath::new(format!("{prefix}{name}"));
            store.add(diagnostic(&path, suffix, max_history_length));
            path
        });
        Self {
            prefix: prefix.to_owned(),
            max_history_length,
            figures: figures.collect(),
            workers: vec![None; MAX_WORKERS],
            added_workers: 0,
            next_worker: 0,
        }
    }

    /// Adds a measurement to each diagnostic in the store, except those of workers whose turn it is not.
    ///
    /// It allocates only for new workers. The system parameter `Diagnostics` would clone all
    /// paths in every frame.
    pub(super) fn publish(&mut self, news: &News, time: Instant, store: &mut DiagnosticsStore) {
        let usage = news.usage;
        let measure = |store: &mut DiagnosticsStore, path: &DiagnosticPath, value| {
            if let Some(diagnostic) = store.get_mut(path).filter(|it| it.is_enabled) {
                diagnostic.add_measurement(DiagnosticMeasurement { time, value });
            }
        };
        for (path, (.., value)) in self.figures.iter().zip(&FIGURES) {
            measure(store, path, value(news));
        }
        for line in self.take_turn(usage.workers.len()) {
            let worker = &usage.workers[line];
            if let Some(path) = self.path_of(line, &worker.name, store) {
                measure(store, path, mebibytes(worker.used_bytes));
            }
        }
    }

    /// Returns the indices of the workers whose turn it is: all of them, if they are few.
    fn take_turn(&mut self, workers: usize) -> impl Iterator<Item = usize> + use<> {
        let workers = workers.min(MAX_WORKERS);
        let (first, count) = (self.next_worker, workers.min(WORKERS_IN_TURN));
        self.next_worker = first.wrapping_add(count);
        (0..count).map(move |place| first.wrapping_add(place) % workers)
    }

    /// Returns the path of the diagnostic of the worker in this line, and adds the diagnostic if its name is new.
    fn path_of(
        &mut self,
        line: usize,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<&DiagnosticPath> {
        let slot = &mut self.workers[line];
        if slot
            .as_ref()
            .is_none_or(|(known, _)| !Arc::ptr_eq(known, name))
        {
            let path = worker_path(&self.prefix, name);
            if store.get(&path).is_none() {
                if self.added_workers == MAX_WORKERS {
                    return None;
                }
                self.added_workers += 1;
                store.add(diagnostic(&path, MEMORY, self.max_history_length));
            }
            *slot = Some((Arc::clone(name), path));
        }
        slot.as_ref().map(|(_, path)| path)
    }
}

fn diagnostic(path: &DiagnosticPath, suffix: &'static str, history: usize) -> Diagnostic {
    Diagnostic::new(path.clone())
        .with_suffix(suffix)
        .with_max_history_length(history)
}

/// Returns the path of a worker's diagnostic. A thread may have any name, and two names have two paths; a
/// path must not have an empty component.
fn worker_path(prefix: &str, thread_name: &str) -> DiagnosticPath {
    let name = match thread_name {
        "" => "%".to_owned(),
        name => name.replace('%', "%25").replace('/', "%2F"),
    };
    DiagnosticPath::new(format!("{prefix}/worker/{name}"))
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
