//! The arenas' figures as Bevy diagnostics.
#![forbid(unsafe_code)]

use bevy_app::{App, Plugin};
use bevy_diagnostic::{DEFAULT_MAX_HISTORY_LENGTH, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Res, ResMut};
use bevy_time::{Real, Time};

use super::clock::now;
use super::frame_start::{FrameArenaSchedule, FrameArenaSystems};
use super::publisher::{UsagePublisher, worker_path};
use super::report::{FRAME_PREFIX, FrameArenaReport};
use crate::arenas::FrameArenas;

/// Publishes the figures of each frame; [`FrameArenaPlugin`](crate::FrameArenaPlugin) adds it.
///
/// They are those of the frame that just ended, as [`FrameArenaReport`](crate::FrameArenaReport) has
/// them. Memory is given in MiB. Each worker thread has a diagnostic too, with the memory it used:
/// see [`worker`](Self::worker). Of more than 16 workers, 16 are measured in a frame, in turns. With the feature `sites`, so have the lines of code that took most
/// in a frame: `frame_arena/site/src/cull.rs:12`. Bevy's own overlay shows them like any diagnostic
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
    /// The number of values to keep of each diagnostic.
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
    /// How often an allocation did not fit into a worker's chunk.
    pub const OVERFLOWS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/overflows");
    /// Allocations that a limit refused.
    pub const REFUSALS: DiagnosticPath = DiagnosticPath::const_new("frame_arena/refusals");
    /// Generations that a lease keeps from being recycled.
    pub const PARKED: DiagnosticPath = DiagnosticPath::const_new("frame_arena/parked");
    /// Lookups of stale or foreign handles.
    pub const STALE: DiagnosticPath = DiagnosticPath::const_new("frame_arena/stale");

    /// Returns the diagnostic of the threads with this name, `frame_arena/worker/NAME`: memory
    /// that they used in the frame. It exists once such a thread has allocated. Of more than 16
    /// workers, each is measured in every second frame, third, or fourth: a measurement costs more
    /// than the rest of a worker's share in the frame's end. [`FrameArenas::usage`] has all of them in
    /// each frame.
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
        app.init_resource::<DiagnosticsStore>();
        let mut publisher = UsagePublisher::new(FRAME_PREFIX, self.max_history_length);
        publisher.register(&mut app.world_mut().resource_mut::<DiagnosticsStore>());
        let publish_usage = move |report: Option<Res<FrameArenaReport>>,
                                  store: Option<ResMut<DiagnosticsStore>>,
                                  time: Option<Res<Time<Real>>>,
                                  arenas: Option<Res<FrameArenas>>| {
            let (Some(report), Some(mut store), Some(_)) = (report, store, arenas) else {
                return;
            };
            if let (Some(arenas), Some(now)) = (report.get(FRAME_PREFIX), now(time.as_deref())) {
                publisher.publish(&arenas.usage, now, &mut store);
            }
        };
        app.add_systems(
            FrameArenaSchedule,
            publish_usage.in_set(FrameArenaSystems::Diagnostics),
        );
    }
}
