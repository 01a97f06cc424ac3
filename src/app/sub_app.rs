//! The hand-over of a frame to another world, such as the render world, and the frame there.
#![forbid(unsafe_code)]

use std::borrow::Cow;

use bevy_app::{App, AppLabel, InternedAppLabel, Plugin, SubApp};
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemState;

use super::pace::words_of;
use super::plugin::FrameArenaPlugin;
use super::report::{ArenaReport, FrameArenaReport, Key, Sinks, pass_on};
use crate::arenas::{FrameArenas, FrameLease, Outcome};
use crate::handles::{FrameHandle, HandleError, resolve_handles};
use crate::settings::FrameArenaSettings;

/// Hands each frame to the world of a sub-app, such as Bevy's `RenderApp`, without a copy.
///
/// At extract, before anything else, that world receives
/// - [`ExtractedFrame`]: a lease on the frame that was just simulated. A component or resource that
///   contains a [`FrameHandle`](crate::FrameHandle) is extracted with a copy of the handle, which
///   resolves there;
/// - its own [`FrameArenas`], for temporary data of its schedules, swapped once per extract.
///
/// ```text
/// main world   | frame N: share | extract N | frame N+1: share | extract N+1 | frame N+2
/// render world |                |  lease N  | render N: read   |  lease N+1  | render N+1
/// ```
///
/// The lease on the previous frame is replaced immediately, so two generations suffice under pipelined
/// rendering. A world that falls behind parks generations; see
/// [`FrameUsage::parked`](crate::FrameUsage::parked).
///
/// The plugin takes effect in [`Plugin::finish`], so its order among other plugins does not matter. If
/// you drive the app yourself, call [`App::finish`]. Without such a sub-app the plugin does nothing.
/// Without [`FrameArenaPlugin`] in the main world, the [`ExtractedFrame`] stays empty. A sub-app with its
/// own `FrameArenaPlugin` swaps its arenas itself.
///
/// An extract function that is set later replaces the hand-over. Set it before [`App::finish`], or let it
/// call the function that `take_extract` returns.
///
/// ```
/// use bevy_app::{App, AppLabel, SubApp, Update};
/// use bevy_ecs::prelude::*;
/// use bevy_ecs::schedule::ScheduleLabel;
/// use bevy_frame_arena::*;
///
/// #[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
/// struct RenderApp; // With Bevy's renderer: `bevy::render::RenderApp`.
///
/// #[derive(Resource, Clone)]
/// struct Positions(FrameHandle<[[f32; 2]]>);
///
/// fn simulate(arenas: Res<FrameArenas>, mut commands: Commands) {
///     let positions = arenas.local().share_iter((0..1000).map(|i| [i as f32, 0.0]));
///     commands.insert_resource(Positions(positions));
/// }
///
/// fn render(frame: Res<ExtractedFrame>, positions: Res<Positions>) {
///     assert_eq!(frame[positions.0].len(), 1000);
/// }
///
/// let mut render_app = SubApp::new();
/// render_app.update_schedule = Some(Update.intern());
/// render_app.add_systems(Update, render);
/// // With Bevy's renderer: `ExtractResourcePlugin`.
/// render_app.set_extract(|main, render| {
///     render.insert_resource(main.resource::<Positions>().clone());
/// });
///
/// let mut app = App::new();
/// app.add_plugins((FrameArenaPlugin::default(), FrameArenaSubAppPlugin::new(RenderApp)))
///     .add_systems(Update, simulate)
///     .insert_sub_app(RenderApp, render_app);
/// app.finish();
/// app.update();
/// ```
#[doc(alias = "extract")]
#[doc(alias = "render")]
pub struct FrameArenaSubAppPlugin {
    /// The label of the sub-app.
    pub label: InternedAppLabel,
    /// The memory policy of the sub-app's own arenas.
    pub settings: FrameArenaSettings,
    /// The number of frames that the [`ExtractedFrame`] holds: 1, or 2 for a sub-app that also reads the
    /// previous frame, e.g. for motion vectors or lists made every other frame. Default: 1.
    ///
    /// The second frame costs one more generation of the main world's memory: three instead of two. If
    /// the main world has [`LivesFor::ThreePeriods`](crate::LivesFor::ThreePeriods), it can read that
    /// generation as well; otherwise the generation counts as [`parked`](crate::FrameUsage::parked).
    pub frames: usize,
    /// The [name](crate::FrameArenaPacePlugin::name) of the sub-app's arenas in the main world's report and
    /// diagnostics. Default: derived from its label, e.g. `render` for `RenderApp`.
    pub name: Cow<'static, str>,
}

impl FrameArenaSubAppPlugin {
    /// Creates the plugin for the sub-app with this label.
    pub fn new(label: impl AppLabel) -> Self {
        let label = label.intern();
        let words = words_of(&format!("{label:?}"));
        Self {
            label,
            settings: FrameArenaSettings::default(),
            frames: 1,
            name: words.trim_end_matches(" app").to_owned().into(),
        }
    }
}

impl Plugin for FrameArenaSubAppPlugin {
    fn build(&self, _app: &mut App) {}

    // Not in `build`: the sub-app may be added later, and an extract function that is set later would
    // replace this one. Pipelined rendering removes its sub-app only after `finish`.
    fn finish(&self, app: &mut App) {
        let is_due = |sub_app: &SubApp| !sub_app.world().contains_resource::<ExtractedFrame>();
        if !app.get_sub_app(self.label).is_some_and(is_due) {
            return;
        }
        let key = Key::SubApp(self.label);
        let report = ArenaReport::new(key, &self.name, "frame", &self.settings);
        FrameArenaReport::add(app.world_mut(), key, report);
        let mut sinks = SystemState::<Sinks>::new(app.world_mut());
        let sub_app = app.sub_app_mut(self.label);
        let swaps_itself = sub_app.is_plugin_added::<FrameArenaPlugin>();
        let frames = self.frames;
        sub_app.insert_resource(ExtractedFrame::holding(frames));
        let new = || FrameArenas::new(self.settings.clone());
        sub_app.world_mut().get_resource_or_insert_with(new);
        let mut extract = sub_app.take_extract();
        sub_app.set_extract(move |main, sub| {
            // The previous lease ends here and not with commands that are applied later, because the next
            // swap of the main world recycles that frame.
            let frame = sub.get_resource_or_insert_with(|| ExtractedFrame::holding(frames));
            frame.into_inner().extract(main.get_resource());
            if let Some(mut arenas) = sub.get_resource_mut::<FrameArenas>() {
                let arenas = arenas.bypass_change_detection();
                if !swaps_itself {
                    arenas.swap();
                }
                if let Ok(sinks) = sinks.get_mut(main) {
                    pass_on(key, arenas, true, sinks);
                }
            }
            if let Some(extract) = &mut extract {
                extract(main, sub);
            }
        });
    }

    fn is_unique(&self) -> bool {
        // There is one plugin per sub-app.
        false
    }
}

/// The main world's frame in the world of a sub-app. It resolves handles made in that frame.
///
/// [`FrameArenaSubAppPlugin`](crate::FrameArenaSubAppPlugin) inserts it. It holds the frame extracted
/// last. Handles of earlier frames do not resolve. With 2
/// [`frames`](crate::FrameArenaSubAppPlugin::frames) in the plugin, handles of the previous frame resolve
/// as well, e.g. for motion vectors, temporal effects, and lists made every other frame.
#[derive(Resource, Debug, Default)]
#[doc(alias = "render world")]
pub struct ExtractedFrame {
    /// Newest first.
    leases: Vec<FrameLease>,
    /// The maximum number of leases, but at least one.
    frames: usize,
}

impl ExtractedFrame {
    /// Creates an empty one that holds up to this many frames.
    pub(super) fn holding(frames: usize) -> Self {
        // No capacity is reserved: `frames` may be `usize::MAX`, for all frames.
        let leases = Vec::new();
        Self { leases, frames }
    }

    /// Leases the current frame, and ends the oldest lease if there are too many. Without arenas, all
    /// leases end.
    pub(super) fn extract(&mut self, arenas: Option<&FrameArenas>) {
        let Some(arenas) = arenas else {
            self.leases.clear();
            return;
        };
        let lease = arenas.lease();
        let is_new = self.leases.first().map(FrameLease::stamp) != Some(lease.stamp());
        if is_new {
            self.leases.truncate(self.frames.saturating_sub(1));
            self.leases.insert(0, lease);
        }
    }

    /// Returns the data of a handle. A miss is not counted.
    #[inline]
    fn find<T: ?Sized>(&self, handle: FrameHandle<T>) -> Option<&T> {
        self.leases.iter().find_map(|lease| lease.find(handle))
    }

    #[track_caller]
    fn count_stale(&self, outcome: Outcome, why: impl FnOnce() -> HandleError) {
        if let Some(lease) = self.lease() {
            lease.count_stale(outcome, why);
        }
    }

    /// Returns the lease on the frame extracted last, or `None` if nothing was extracted: before
    /// the first extract, and while the main world has no [`FrameArenas`]. The
    /// [`period`](FrameLease::period) of the lease is the number of that frame.
    ///
    /// A clone of the lease can be moved into a task. The frame is not recycled while the clone is alive.
    #[inline]
    pub fn lease(&self) -> Option<&FrameLease> {
        self.leases.first()
    }

    fn why_not<T: ?Sized>(&self, handle: FrameHandle<T>) -> HandleError {
        let last = self.lease().map(FrameLease::stamp);
        HandleError::in_extracted(handle, last, self.frames.max(1))
    }
}

resolve_handles! {
    /// Returns the data of a handle, if it was made in an extracted frame.
    ///
    /// ```
    /// # use bevy_frame_arena::{ExtractedFrame, FrameHandle};
    /// let frame = ExtractedFrame::default();
    /// assert_eq!(frame.get(FrameHandle::<u32>::default()), None);
    /// ```
    ExtractedFrame
}
