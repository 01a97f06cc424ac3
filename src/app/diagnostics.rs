//! The arenas' figures as Bevy diagnostics.
#![forbid(unsafe_code)]

use bevy_app::{App, Plugin};
use bevy_diagnostic::{DEFAULT_MAX_HISTORY_LENGTH, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Res, ResMut};

use super::frame_start::{FrameArenaSchedule, FrameArenaSystems};
use super::publisher::{UsagePublisher, worker_path};
use crate::arenas::FrameArenas;

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
