//! The plugin that gives a pace its arenas, and says when its periods end.
#![forbid(unsafe_code)]

use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::marker::PhantomData;

use bevy_app::{App, FixedMain, Last, Plugin};
use bevy_diagnostic::DEFAULT_MAX_HISTORY_LENGTH;
use bevy_ecs::schedule::{
    ApplyDeferred, InternedScheduleLabel, IntoScheduleConfigs, Schedule, ScheduleLabel, SystemSet,
};

use super::edges::{Edge, keep_edges};
use super::pace::{ArenasOf, FixedStep};
use super::period::{add_arenas, tend};
use super::report::{NewEntry, label_of, prefix_of, words_of};
use crate::settings::{FrameArenaSettings, LivesFor};

/// Adds [`ArenasOf<P>`](ArenasOf), and ends its periods.
///
/// | pace | plugin |
/// |---|---|
/// | fixed step | [`FrameArenaPacePlugin::fixed_step()`](Self::fixed_step) |
/// | level, menu, match | [`FrameArenaPacePlugin::<Level>::ending_with(OnExit(GameState::Playing))`](Self::ending_with) |
/// | each run of a schedule | [`FrameArenaPacePlugin::<NetworkTick>::at_start_of(Receive)`](Self::at_start_of) |
/// | whenever you say so | [`FrameArenaPacePlugin::<Turn>::by_hand()`](Self::by_hand) |
///
/// The frame needs none of them: that is [`FrameArenaPlugin`](crate::FrameArenaPlugin), with or
/// without which this works. One pace has one plugin, whose fields can be changed:
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaPacePlugin, FrameArenaSettings};
///
/// let fixed_step = FrameArenaPacePlugin::fixed_step();
/// App::new().add_plugins(FrameArenaPacePlugin {
///     settings: FrameArenaSettings {
///         budget_bytes: Some(64 << 20),
///         ..fixed_step.settings.clone()
///     },
///     ..fixed_step
/// });
/// ```
///
/// An `ArenasOf<P>` that is already there is kept; if it is removed later, the plugin waits until
/// there is one again.
pub struct FrameArenaPacePlugin<P: 'static> {
    /// The memory policy.
    pub settings: FrameArenaSettings,
    /// What ends a period. A match that is won or left has two entries.
    pub ends: Vec<PaceEnd>,
    /// The name of the pace for people. Default: the name of its type, `fixed step`.
    pub label: Cow<'static, str>,
    /// What the names of its diagnostics begin with. Default: after the name of its type,
    /// `fixed_step_arena`.
    ///
    /// They are those of [`FrameArenaDiagnosticsPlugin`](crate::FrameArenaDiagnosticsPlugin) with
    /// another beginning, `fixed_step_arena/used` for one, measured when a period ends. `None`
    /// publishes nothing.
    pub diagnostics_prefix: Option<Cow<'static, str>>,
    /// Whose arenas they are.
    pub pace: PhantomData<fn() -> P>,
}

/// What ends a period, in [`FrameArenaPacePlugin::ends`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceEnd {
    /// A run of this schedule, before all its systems.
    AtStartOf(InternedScheduleLabel),
    /// A run of this schedule, after all its systems.
    AtEndOf(InternedScheduleLabel),
}

impl FrameArenaPacePlugin<FixedStep> {
    /// Swaps [`ArenasOf<FixedStep>`](ArenasOf) before everything of a fixed step.
    ///
    /// That is right for no, one or many steps in a frame: data lives for its own step and the
    /// next, whenever that is. What frames allocate after a step counts as that step's.
    pub fn fixed_step() -> Self {
        // The schedule that runs all those of a step, whatever their order.
        Self::at_start_of(FixedMain)
    }
}

impl<P: 'static> FrameArenaPacePlugin<P> {
    /// Ends a period whenever a schedule runs, before all systems of it.
    ///
    /// ```
    /// use bevy_app::{App, Update};
    /// use bevy_ecs::prelude::*;
    /// use bevy_ecs::schedule::ScheduleLabel;
    /// use bevy_frame_arena::{ArenasOf, FrameArenaPacePlugin};
    ///
    /// /// Run by the game when a packet has come.
    /// #[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
    /// struct NetworkTick;
    ///
    /// let mut app = App::new();
    /// app.add_plugins(FrameArenaPacePlugin::<NetworkTick>::at_start_of(NetworkTick))
    ///     .add_systems(NetworkTick, |arenas: Res<ArenasOf<NetworkTick>>| {
    ///         assert_eq!(arenas.frame(), 1);
    ///     });
    /// app.update();
    /// app.world_mut().run_schedule(NetworkTick);
    /// ```
    pub fn at_start_of(schedule: impl ScheduleLabel) -> Self {
        Self {
            ends: vec![PaceEnd::AtStartOf(schedule.intern())],
            ..Self::by_hand()
        }
    }

    /// Frees all that was allocated when a schedule has run, after all systems of it.
    ///
    /// For a level, a menu, a match: what ends with `OnExit` of a state. The systems of that
    /// schedule still read the data, and so do the commands they give. Then all of it goes at
    /// once: data lives for one period alone, shared values are dropped, and the memory is given
    /// back. What is leased stays until its last lease ends. To keep the memory for the next
    /// level, set [`trim_after_frames`](FrameArenaSettings::trim_after_frames) to `None`.
    ///
    /// ```
    /// use bevy_app::App;
    /// use bevy_ecs::prelude::*;
    /// use bevy_frame_arena::prelude::*;
    /// use bevy_frame_arena::{ArenasOf, FrameArenaPacePlugin};
    /// use bevy_state::app::StatesPlugin;
    /// use bevy_state::prelude::*;
    ///
    /// #[derive(States, Clone, Debug, Default, PartialEq, Eq, Hash)]
    /// enum Game {
    ///     #[default]
    ///     Playing,
    ///     Menu,
    /// }
    ///
    /// struct Level;
    ///
    /// #[derive(Resource, Default)]
    /// struct Map(FrameHandle<[u8]>);
    ///
    /// fn load(arenas: Res<ArenasOf<Level>>, mut map: ResMut<Map>) {
    ///     map.0 = arenas.local().share_slice_fill_with(10_000, |_| 7);
    /// }
    ///
    /// fn save(arenas: Res<ArenasOf<Level>>, map: Res<Map>) {
    ///     assert_eq!(arenas[map.0].len(), 10_000);
    /// }
    ///
    /// let mut app = App::new();
    /// app.add_plugins((
    ///         StatesPlugin,
    ///         FrameArenaPacePlugin::<Level>::ending_with(OnExit(Game::Playing)),
    ///     ))
    ///     .init_state::<Game>()
    ///     .init_resource::<Map>()
    ///     .add_systems(OnEnter(Game::Playing), load)
    ///     .add_systems(OnExit(Game::Playing), save);
    /// app.update();
    /// app.world_mut().resource_mut::<NextState<Game>>().set(Game::Menu);
    /// app.update();
    ///
    /// let arenas = app.world().resource::<ArenasOf<Level>>();
    /// assert_eq!(arenas.get(app.world().resource::<Map>().0), None);
    /// assert_eq!(arenas.usage().reserved_bytes, 0);
    /// ```
    pub fn ending_with(schedule: impl ScheduleLabel) -> Self {
        Self {
            ends: vec![PaceEnd::AtEndOf(schedule.intern())],
            settings: FrameArenaSettings {
                lives_for: LivesFor::OnePeriod,
                trim_after_frames: Some(0),
                ..Default::default()
            },
            ..Self::by_hand()
        }
    }

    /// Leaves the end of a period to you: run [`ArenasOf::end_period`].
    pub fn by_hand() -> Self {
        let label = words_of(type_name::<P>());
        Self {
            settings: FrameArenaSettings::default(),
            ends: Vec::new(),
            diagnostics_prefix: Some(prefix_of(&label).into()),
            label: label.into(),
            pace: PhantomData,
        }
    }

    /// Adds the systems that end periods to the schedules that do not have them.
    fn add_ends(&self, app: &mut App) {
        for end in &self.ends {
            let (PaceEnd::AtStartOf(label) | PaceEnd::AtEndOf(label)) = *end;
            app.edit_schedule(label, |schedule| add_end::<P>(*end, schedule));
        }
    }
}

impl<P: 'static> Plugin for FrameArenaPacePlugin<P> {
    fn build(&self, app: &mut App) {
        let prefix = self.diagnostics_prefix.as_deref();
        let entry = prefix.map(|prefix| NewEntry {
            label: label_of(&format!("{} arena", self.label)),
            prefix,
            history: Some(DEFAULT_MAX_HISTORY_LENGTH),
        });
        add_arenas::<ArenasOf<P>>(app, &self.settings, entry);
        // Whoever reads the arenas then sees no difference.
        app.add_systems(Last, tend::<ArenasOf<P>>.ambiguous_with_all());
        self.add_ends(app);
    }

    fn finish(&self, app: &mut App) {
        // Again, for schedules that other plugins have replaced.
        self.add_ends(app);
    }
}

/// The end of the pace with this type, at an edge of a schedule.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EndOf(TypeId, Edge);

fn add_end<P: 'static>(end: PaceEnd, schedule: &mut Schedule) {
    let edge = match end {
        PaceEnd::AtStartOf(_) => Edge::BeforeAll,
        PaceEnd::AtEndOf(_) => Edge::AfterAll,
    };
    let own = EndOf(TypeId::of::<P>(), edge);
    if schedule.graph().system_sets.contains(own) {
        return;
    }
    keep_edges(schedule);
    // The order with all others is settled, and several paces that end here do so in any order.
    let end_period = ArenasOf::<P>::end_period.in_set(own).ambiguous_with_all();
    match edge {
        Edge::BeforeAll => schedule.add_systems(end_period.in_set(edge)),
        // Commands may read what is about to go.
        Edge::AfterAll => {
            let ends = (ApplyDeferred.ambiguous_with_all(), end_period).chain();
            schedule.add_systems(ends.in_set(edge))
        }
    };
}
