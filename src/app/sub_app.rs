//! The hand-over of a frame to another world, such as the render world.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use bevy_app::{App, AppLabel, InternedAppLabel, Plugin, SubApp};
use bevy_diagnostic::DEFAULT_MAX_HISTORY_LENGTH;
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::SystemState;
use bevy_ecs::world::World;
use tracing::{info, warn};

use super::extracted_frame::ExtractedFrame;
use super::period::{Sinks, pass_on};
use super::plugin::FrameArenaPlugin;
use super::report::{FrameArenaReport, Key, NewEntry, label_of, prefix_of, words_of};
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// Hands each frame to the world of a sub-app, such as Bevy's `RenderApp`, without a copy.
///
/// At extract, before anything else, that world gets
/// - [`ExtractedFrame`]: a lease on the frame that was just simulated. A component or resource
///   with a [`FrameHandle`](crate::FrameHandle) in it is extracted as a copy of the handle, which resolves there;
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
/// The plugin takes effect in [`Plugin::finish`], in any order with others; if you drive the app
/// yourself, call [`App::finish`]. Without such a sub-app it does nothing; without
/// [`FrameArenaPlugin`] in the main world, the [`ExtractedFrame`] stays empty. A sub-app that has a
/// `FrameArenaPlugin` itself goes on swapping its own arenas.
///
/// An extract function that is set after that replaces the hand-over, which warns of it: set it
/// before [`App::finish`], or wrap the one that `take_extract` returns.
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
#[doc(alias = "extract")]
#[doc(alias = "render")]
pub struct FrameArenaSubAppPlugin {
    /// The label of the sub-app.
    pub label: InternedAppLabel,
    /// The memory policy of the sub-app's own arenas.
    pub settings: FrameArenaSettings,
    /// How many frames the [`ExtractedFrame`] holds: 1, or 2 for a sub-app that looks back, for
    /// motion vectors or lists that are made every other frame. Default: 1.
    ///
    /// The second costs one more generation of the main world's memory: three instead of two. With
    /// [`LivesFor::ThreePeriods`](crate::LivesFor::ThreePeriods) there, the main world can read it
    /// as well; otherwise it counts as [`parked`](crate::FrameUsage::parked).
    pub frames: usize,
    /// What the names of the sub-app's diagnostics begin with. Default: after its label,
    /// `render_arena` for `RenderApp`.
    ///
    /// They are those of [`FrameArenaDiagnosticsPlugin`](crate::FrameArenaDiagnosticsPlugin) with
    /// another beginning, `render_arena/used` for one, in the main world's store. `None` publishes
    /// nothing.
    pub diagnostics_prefix: Option<Cow<'static, str>>,
}

impl FrameArenaSubAppPlugin {
    /// Creates the plugin for the sub-app with this label.
    pub fn new(label: impl AppLabel) -> Self {
        let label = label.intern();
        let words = words_of(&format!("{label:?}"));
        let name = words.strip_suffix(" app").unwrap_or(&words);
        Self {
            label,
            settings: FrameArenaSettings::default(),
            frames: 1,
            diagnostics_prefix: Some(prefix_of(name).into()),
        }
    }

    /// Adds the sub-app's arenas to the report of the main world.
    fn add_figures(&self, app: &mut App) -> Option<ReportedArenas> {
        let prefix = self.diagnostics_prefix.as_deref()?;
        let entry = NewEntry {
            label: label_of(prefix),
            prefix,
            history: Some(DEFAULT_MAX_HISTORY_LENGTH),
        };
        let main = app.world_mut();
        FrameArenaReport::add(main, entry, None, &self.settings)
            .then(|| (prefix.to_owned(), SystemState::new(main)))
    }

    /// Says what holding more than one frame costs.
    fn tell_cost(&self, main: &World) {
        let arenas = main.get_resource::<FrameArenas>();
        let Some(lives_for) = arenas.map(|arenas| arenas.settings().lives_for.periods()) else {
            return;
        };
        if self.frames > 1 && self.frames >= lives_for {
            let more = self.frames - lives_for + 1;
            info!(
                "{:?} holds {} frames, and the main world {lives_for}: generations of memory beyond \
                 the main world's: {more}, counted as parked; with a longer \
                 `FrameArenaSettings::lives_for` the main world can read them as well",
                self.label, self.frames,
            );
        }
    }
}

/// The prefix of the sub-app's figures, and the way into the main world for them.
type ReportedArenas = (String, SystemState<Sinks<'static>>);

impl Plugin for FrameArenaSubAppPlugin {
    fn build(&self, _app: &mut App) {}

    // Not in `build`: a sub-app that is added later has none yet, and one with an extract function
    // that is set later would lose this one. Pipelined rendering takes its sub-app away after it.
    fn finish(&self, app: &mut App) {
        let is_due = |sub_app: &SubApp| !sub_app.world().contains_resource::<ExtractedFrame>();
        if !app.get_sub_app(self.label).is_some_and(is_due) {
            return;
        }
        self.tell_cost(app.world());
        let mut figures = self.add_figures(app);
        let Some(sub_app) = app.get_sub_app_mut(self.label) else {
            return;
        };
        let swaps_itself = sub_app.is_plugin_added::<FrameArenaPlugin>();
        let frames = self.frames;
        let world_lives = Arc::new(());
        let guard = HandOver {
            label: self.label,
            world_lives: Arc::downgrade(&world_lives),
        };
        sub_app
            .insert_resource(ExtractedFrame::holding(frames))
            .insert_resource(WorldLives(world_lives));
        if !sub_app.world().contains_resource::<FrameArenas>() {
            sub_app.insert_resource(FrameArenas::new(self.settings.clone()));
        }
        let mut extract = sub_app.take_extract();
        sub_app.set_extract(move |main, sub| {
            guard.hand_over(frames, main, sub);
            if !swaps_itself {
                swap_scratch(sub);
            }
            if let Some(figures) = &mut figures {
                publish(figures, main, sub);
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

/// Is dropped with the sub-app's world.
#[derive(Resource)]
struct WorldLives(#[expect(dead_code, reason = "what counts is that it is there")] Arc<()>);

/// Hands frames over, and warns when it is dropped before the world it hands them to: somebody has
/// set another extract function.
struct HandOver {
    label: InternedAppLabel,
    world_lives: Weak<()>,
}

impl HandOver {
    /// Leases the main world's frame to the other world.
    ///
    /// The last lease ends here and not with commands that are applied later: the next swap of the
    /// main world recycles its frame.
    fn hand_over(&self, frames: usize, main: &World, sub: &mut World) {
        let arenas = main.get_resource::<FrameArenas>();
        if !sub.contains_resource::<ExtractedFrame>() {
            sub.insert_resource(ExtractedFrame::holding(frames));
        }
        sub.resource_mut::<ExtractedFrame>().extract(arenas);
    }
}

impl Drop for HandOver {
    fn drop(&mut self) {
        if self.world_lives.strong_count() > 0 {
            warn!(
                "the extract function of {:?} was replaced after `App::finish`: its world gets no \
                 frames any more, and its own arenas are not swapped; set the function before, or \
                 call the one that `take_extract` returns in it",
                self.label,
            );
        }
    }
}

fn swap_scratch(sub: &mut World) {
    if let Some(mut arenas) = sub.get_resource_mut::<FrameArenas>() {
        arenas.bypass_change_detection().swap();
    }
}

fn publish((prefix, sinks): &mut ReportedArenas, main: &mut World, sub: &World) {
    let arenas = sub.get_resource::<FrameArenas>();
    if let (Some(arenas), Ok(sinks)) = (arenas, sinks.get_mut(main)) {
        pass_on(Key::Prefix(prefix), arenas, sinks);
    }
}
