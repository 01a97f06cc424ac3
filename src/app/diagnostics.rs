//! The arenas' figures as Bevy diagnostics.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_diagnostic::{
    DEFAULT_MAX_HISTORY_LENGTH, Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore,
};
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Res, ResMut};
use bevy_platform::time::Instant;

use super::plugin::{FrameArenaSchedule, FrameArenaSystems};
use crate::arenas::{FrameArenas, FrameUsage};

/// Publishes the figures of each frame; [`FrameArenaPlugin`](crate::FrameArenaPlugin) adds it.
///
/// They are those of the frame that just ended. Memory is given in MiB. Each worker thread has a
/// diagnostic too, with the memory it used: see [`worker`](Self::worker).
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
    /// The number of values to keep of each diagnostic.
    pub max_history_length: usize,
}

impl FrameArenaDiagnosticsPlugin {
    /// Memory handed out in the frame, by all workers.
    pub const USED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/used");
    /// The most memory handed out in any frame so far.
    pub const HIGH_WATERMARK: DiagnosticPath =
        DiagnosticPath::const_new("frame_arena/high_watermark");
    /// Memory held from the global allocator; where untouched, it is address space alone.
    pub const RESERVED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/reserved");
    /// Threads that allocated in the frame.
    pub const WORKERS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/workers");
    /// How often an allocation did not fit into a worker's chunk.
    pub const OVERFLOWS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/overflows");
    /// Generations that a lease keeps from being recycled.
    pub const PARKED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/parked");
    /// Lookups of stale or foreign handles.
    pub const STALE: DiagnosticPath = DiagnosticPath::const_new("frame_arena/stale");

    /// Returns the diagnostic of the threads with this name, `frame_arena/worker/NAME`: memory
    /// that they used in the frame. It exists once such a thread has allocated.
    pub fn worker(thread_name: &str) -> DiagnosticPath {
        worker_path(PREFIX, thread_name)
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
        app.init_resource::<DiagnosticsStore>();
        let mut publisher = UsagePublisher::new(PREFIX, self.max_history_length);
        publisher.register(&mut app.world_mut().resource_mut::<DiagnosticsStore>());
        let publish_usage =
            move |arenas: Option<Res<FrameArenas>>, store: Option<ResMut<DiagnosticsStore>>| {
                if let (Some(arenas), Some(mut store)) = (arenas, store) {
                    publisher.publish(arenas.usage(), &mut store);
                }
            };
        app.add_systems(
            FrameArenaSchedule,
            publish_usage.in_set(FrameArenaSystems::Diagnostics),
        );
    }
}

const PREFIX: &str = "frame_arena";

/// The most workers that get a diagnostic of their own: a store never forgets one.
const MAX_WORKERS: usize = 64;

const MEMORY_SUFFIX: &str = " MiB";

type Figure = (&'static str, &'static str, fn(&FrameUsage) -> f64);

const FIGURES: [Figure; 7] = [
    ("used", MEMORY_SUFFIX, |usage| mebibytes(usage.used_bytes)),
    ("high_watermark", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.high_watermark_bytes)
    }),
    ("reserved", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.reserved_bytes)
    }),
    ("workers", "", |usage| usage.active_workers as f64),
    ("overflows", "", |usage| f64::from(usage.overflows)),
    ("parked", "", |usage| usage.parked as f64),
    ("stale", "", |usage| usage.stale_lookups as f64),
];

/// Writes the figures of one `FrameArenas` to a store, under names with one prefix.
pub(crate) struct UsagePublisher {
    prefix: &'static str,
    max_history_length: usize,
    figures: [DiagnosticPath; FIGURES.len()],
    workers: Vec<(Arc<str>, DiagnosticPath)>,
}

impl UsagePublisher {
    pub(crate) fn new(prefix: &'static str, max_history_length: usize) -> Self {
        Self {
            prefix,
            max_history_length,
            figures: FIGURES.map(|(name, ..)| DiagnosticPath::new(format!("{prefix}/{name}"))),
            workers: Vec::new(),
        }
    }

    /// Adds the diagnostics to a store.
    pub(crate) fn register(&self, store: &mut DiagnosticsStore) {
        for (path, (_, suffix, _)) in self.figures.iter().zip(FIGURES) {
            store.add(self.diagnostic(path, suffix));
        }
    }

    /// Adds a measurement to each diagnostic of the store.
    ///
    /// It allocates only for workers it has not seen: `Diagnostics`, the system parameter, would
    /// clone their paths each frame.
    pub(crate) fn publish(&mut self, usage: &FrameUsage, store: &mut DiagnosticsStore) {
        let time = Instant::now();
        let measure = |store: &mut DiagnosticsStore, path: &DiagnosticPath, value| {
            if let Some(diagnostic) = store.get_mut(path).filter(|it| it.is_enabled) {
                diagnostic.add_measurement(DiagnosticMeasurement { time, value });
            }
        };
        for (path, (.., value)) in self.figures.iter().zip(FIGURES) {
            measure(store, path, value(usage));
        }
        for worker in &usage.workers {
            if let Some(path) = self.path_of_worker(&worker.name, store) {
                measure(store, path, mebibytes(worker.used_bytes));
            }
        }
    }

    fn path_of_worker(
        &mut self,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<&DiagnosticPath> {
        let known = self.workers.iter().position(|(known, _)| known == name);
        let index = match known {
            Some(index) => index,
            None if self.workers.len() == MAX_WORKERS => return None,
            None => {
                let path = worker_path(self.prefix, name);
                store.add(self.diagnostic(&path, MEMORY_SUFFIX));
                self.workers.push((Arc::clone(name), path));
                self.workers.len() - 1
            }
        };
        Some(&self.workers[index].1)
    }

    fn diagnostic(&self, path: &DiagnosticPath, suffix: &'static str) -> Diagnostic {
        Diagnostic::new(path.clone())
            .with_suffix(suffix)
            .with_max_history_length(self.max_history_length)
    }
}

/// A thread may have any name; a path may have no empty component.
fn worker_path(prefix: &str, thread_name: &str) -> DiagnosticPath {
    let name = match thread_name {
        "" => Cow::Borrowed("unnamed"),
        name => Cow::Owned(name.replace('/', "|")),
    };
    DiagnosticPath::new(format!("{prefix}/worker/{name}"))
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
