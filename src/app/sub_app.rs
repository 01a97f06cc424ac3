//! The hand-over of a frame to another world, such as the render world.
#![forbid(unsafe_code)]

use bevy_app::{App, AppLabel, InternedAppLabel, Plugin, SubApp};
use bevy_diagnostic::{DEFAULT_MAX_HISTORY_LENGTH, DiagnosticsStore};
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::world::World;

use super::extracted_frame::ExtractedFrame;
use super::hand_over_watch::HandOverWatch;
use super::plugin::FrameArenaPlugin;
use super::publisher::UsagePublisher;
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// Hands each frame to the world of a sub-app, such as Bevy's `RenderApp`, without a copy.
///
/// At extract, before anything else, that world gets
/// - [`ExtractedFrame`]: a lease on the frame that was just simulated. A component or resource
///   with a [`FrameHandle`](crate::FrameHandle) in it is extracted as a copy of the handle, which
///   resolves there;
/// - [`FrameArenas`] of its own, as scratch for its schedules, swapped once for each extract.
///
/// ```text
/// main world   | frame N: share | extract N | frame N+1: share | extract N+1 | frame N+2
/// render world |                |  lease N  | render N: read   |  lease N+1  | render N+1
/// ```
///
/// The lease of the last frame is replaced on the spot, so two generations suffice under
/// pipelined rendering. A world that falls behind parks generations; see
/// [`FrameUsage::parked`](crate::FrameUsage::parked).
///
/// The plugin takes effect in [`Plugin::finish`], in any order with others; who drives an app by
/// hand calls [`App::finish`]. Without such a sub-app it does nothing; without
/// [`FrameArenaPlugin`] in the main world, the [`ExtractedFrame`] stays empty. A sub-app that has
/// a `FrameArenaPlugin` itself goes on swapping its own arenas.
///
/// An extract function that you set after `finish` replaces the hand-over, which is warned of: take
/// the one that is there with [`SubApp::take_extract`], and call it from yours.
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
///     let positions = arenas.local().share_slice_fill_with(1000, |i| [i as f32, 0.0]);
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
pub struct FrameArenaSubAppPlugin {
    /// The label of the sub-app.
    pub label: InternedAppLabel,
    /// The memory policy of the sub-app's own arenas.
    pub settings: FrameArenaSettings,
    /// What the names of the sub-app's diagnostics begin with. Default: `render_arena`.
    ///
    /// They are those of [`FrameArenaDiagnosticsPlugin`](crate::FrameArenaDiagnosticsPlugin) with
    /// another beginning, `render_arena/used` for one, in the main world's store. `None` publishes
    /// nothing.
    pub diagnostics_prefix: Option<&'static str>,
}

impl FrameArenaSubAppPlugin {
    /// Creates the plugin for the sub-app with this label.
    pub fn new(label: impl AppLabel) -> Self {
        Self {
            label: label.intern(),
            settings: FrameArenaSettings::default(),
            diagnostics_prefix: Some("render_arena"),
        }
    }

    fn publisher(&self, app: &mut App) -> Option<UsagePublisher> {
        let prefix = self.diagnostics_prefix?;
        app.init_resource::<DiagnosticsStore>();
        let publisher = UsagePublisher::new(prefix, DEFAULT_MAX_HISTORY_LENGTH);
        publisher.register(&mut app.world_mut().resource_mut::<DiagnosticsStore>());
        Some(publisher)
    }
}

impl Plugin for FrameArenaSubAppPlugin {
    fn build(&self, _app: &mut App) {}

    // Not in `build`: a sub-app that is added later has none yet, and one with an extract function
    // that is set later would lose this one. Pipelined rendering takes its sub-app away after it.
    fn finish(&self, app: &mut App) {
        let is_due = |sub_app: &SubApp| !sub_app.world().contains_resource::<ExtractedFrame>();
        if !app.get_sub_app(self.label).is_some_and(is_due) {
            return;
        }
        let mut publisher = self.publisher(app);
        let watch = HandOverWatch::add_to(app, self.label);
        let Some(sub_app) = app.get_sub_app_mut(self.label) else {
            return;
        };
        let swaps_itself = sub_app.is_plugin_added::<FrameArenaPlugin>();
        sub_app.init_resource::<ExtractedFrame>();
        if !sub_app.world().contains_resource::<FrameArenas>() {
            sub_app.insert_resource(FrameArenas::new(self.settings.clone()));
        }
        let mut extract = sub_app.take_extract();
        sub_app.set_extract(move |main, sub| {
            watch.note();
            hand_over(main, sub);
            if !swaps_itself {
                swap_scratch(sub);
            }
            if let Some(publisher) = &mut publisher {
                publish(publisher, main, sub);
            }
            if let Some(extract) = &mut extract {
                extract(main, sub);
            }
        });
    }

    fn is_unique(&self) -> bool {
        // One for each sub-app.
        false
    }
}

/// Leases the main world's frame to the other world.
///
/// The last lease ends here and not with commands that are applied later: the next swap of the
/// main world recycles its frame.
fn hand_over(main: &World, sub: &mut World) {
    let arenas = main.get_resource::<FrameArenas>();
    let frame = ExtractedFrame::of(arenas);
    match sub.get_resource_mut::<ExtractedFrame>() {
        Some(mut place) => *place = frame,
        None => sub.insert_resource(frame),
    }
}

fn swap_scratch(sub: &mut World) {
    if let Some(mut arenas) = sub.get_resource_mut::<FrameArenas>() {
        arenas.bypass_change_detection().swap();
    }
}

fn publish(publisher: &mut UsagePublisher, main: &mut World, sub: &World) {
    let arenas = sub.get_resource::<FrameArenas>();
    let store = main.get_resource_mut::<DiagnosticsStore>();
    if let (Some(arenas), Some(mut store)) = (arenas, store) {
        publisher.publish(arenas.usage(), &mut store);
    }
}
