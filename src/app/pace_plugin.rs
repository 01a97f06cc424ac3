//! The plugin that adds the arenas of a pace and ends its periods.
#![forbid(unsafe_code)]

use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::marker::PhantomData;

use bevy_app::{App, FixedMain, Last, Plugin};
use bevy_ecs::schedule::{InternedScheduleLabel, IntoScheduleConfigs, ScheduleLabel, SystemSet};

use super::edges::{Edge, add_at};
use super::pace::{ArenasOf, FixedStep};
use super::period::{TendSystems, add_arenas, tend};
use super::report::{ArenaReport, prefix_of, words_of};
use crate::error::Short;
use crate::settings::{FrameArenaSettings, LivesFor};

/// Adds [`ArenasOf<P>`](ArenasOf), and ends its periods.
///
/// | pace | plugin |
/// |---|---|
/// | fixed step | [`FrameArenaPacePlugin::fixed_step()`](Self::fixed_step) |
/// | level, menu, match | [`FrameArenaPacePlugin::<Level>::ending_with(OnExit(GameState::Playing))`](Self::ending_with) |
/// | each run of a schedule | [`FrameArenaPacePlugin::<NetworkTick>::at_start_of(Receive)`](Self::at_start_of) |
/// | on demand | [`FrameArenaPacePlugin::<Turn>::by_hand()`](Self::by_hand) |
///
/// The frame has its own plugin, [`FrameArenaPlugin`](crate::FrameArenaPlugin), which is not required
/// here. Add one plugin per pace. Its fields can be changed:
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
/// An existing `ArenasOf<P>` is kept. If it is removed later, the plugin does nothing until it is
/// inserted again.
pub struct FrameArenaPacePlugin<P: 'static> {
    /// The memory policy.
    pub settings: FrameArenaSettings,
    /// Where a period ends. A match that can be won or left has two entries.
    pub ends: Vec<PaceEnd>,
    /// The human-readable name of the pace. Default: the name of its type in words, e.g. `fixed step`.
    pub label: Cow<'static, str>,
    /// The prefix of its diagnostics. Default: derived from the name of its type, e.g.
    /// `fixed_step_arena`.
    ///
    /// The diagnostics are those of [`FrameArenaDiagnosticsPlugin`](crate::FrameArenaDiagnosticsPlugin)
    /// with another prefix, e.g. `fixed_step_arena/used`. `None` publishes nothing.
    pub diagnostics_prefix: Option<Cow<'static, str>>,
    /// The type of the pace.
    pub pace: PhantomData<fn() -> P>,
}

/// The end of a period, for [`FrameArenaPacePlugin::ends`].
///
/// ```
/// use bevy_app::{Last, PostUpdate};
/// use bevy_ecs::schedule::ScheduleLabel;
/// use bevy_frame_arena::prelude::*;
///
/// struct Level;
/// let plugin = FrameArenaPacePlugin::<Level> {
///     ends: [PostUpdate.intern(), Last.intern()].map(PaceEnd::AtEndOf).into(),
///     ..FrameArenaPacePlugin::ending_with(Last)
/// };
/// assert_eq!(plugin.ends.len(), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceEnd {
    /// At each run of this schedule, before all its systems.
    AtStartOf(InternedScheduleLabel),
    /// At each run of this schedule, after all its systems.
    AtEndOf(InternedScheduleLabel),
}

impl FrameArenaPacePlugin<FixedStep> {
    /// Swaps [`ArenasOf<FixedStep>`](ArenasOf) before all systems of a fixed step.
    ///
    /// This works for any number of steps in a frame: data lives for its own step and the next one,
    /// whenever that runs. Data allocated by frames after a step belongs to that step.
    pub fn fixed_step() -> Self {
        // This schedule runs all other schedules of a step, whatever their order.
        Self::at_start_of(FixedMain)
    }
}

impl<P: 'static> FrameArenaPacePlugin<P> {
    /// Ends a period at each run of a schedule, before all its systems, e.g. of one that the game runs when
    /// a packet arrives.
    pub fn at_start_of(schedule: impl ScheduleLabel) -> Self {
        Self {
            ends: vec![PaceEnd::AtStartOf(schedule.intern())],
            ..Self::by_hand()
        }
    }

    /// Frees all data at each run of a schedule, after all its systems.
    ///
    /// Use it for a level, a menu or a match, which end with `OnExit` of a state. The systems of that
    /// schedule and their commands can still read the data. After them it is freed all at once: data
    /// lives for only one period, shared values are dropped, and the memory is given back. Leased data
    /// stays until its last lease ends. To keep the memory for the next level, set
    /// [`trim_after_periods`](FrameArenaSettings::trim_after_periods) to `None`.
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
    ///     map.0 = arenas.local().share_iter((0..10_000).map(|_| 7));
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
                trim_after_periods: Some(0),
                ..Default::default()
            },
            ..Self::by_hand()
        }
    }

    /// Leaves the end of a period to the game, which runs [`ArenasOf::end_period`].
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

    /// Returns the code that creates the plugin. Labels are in their `Debug` format, which is code only for
    /// those without a value.
    fn as_code(&self) -> String {
        let plugin = format!("FrameArenaPacePlugin::<{}>", Short(type_name::<P>()));
        let (constructor, label) = match *self.ends {
            [] => return format!("{plugin}::by_hand()"),
            [PaceEnd::AtStartOf(label)] if label == FixedMain.intern() => {
                return "FrameArenaPacePlugin::fixed_step()".to_owned();
            }
            [PaceEnd::AtStartOf(label)] => ("at_start_of", label),
            [PaceEnd::AtEndOf(label)] => ("ending_with", label),
            [..] => return format!("{plugin} {}", ends_as_code(&self.ends)),
        };
        match has_value(label) {
            true => format!("{plugin}::{constructor}(\n    {DEBUG_FORMAT}\n    {label:?},\n)"),
            false => format!("{plugin}::{constructor}({label:?})"),
        }
    }

    /// Adds the systems that end periods to the schedules that lack them.
    fn add_ends(&self, app: &mut App) {
        for end in &self.ends {
            let (label, edge) = match *end {
                PaceEnd::AtStartOf(label) => (label, Edge::BeforeAll),
                PaceEnd::AtEndOf(label) => (label, Edge::AfterAll),
            };
            let set = EndOf(TypeId::of::<P>(), edge);
            app.edit_schedule(label, |schedule| {
                add_at(edge, schedule, set, ArenasOf::<P>::end_period);
            });
        }
    }
}

impl<P: 'static> Plugin for FrameArenaPacePlugin<P> {
    fn build(&self, app: &mut App) {
        let report = self.diagnostics_prefix.as_deref().map(|prefix| {
            let label = &self.label;
            ArenaReport::new(label, label, prefix, &self.settings, self.as_code())
        });
        add_arenas::<ArenasOf<P>>(app, &self.settings, report);
        // Readers of the arenas in `Last` see no difference.
        let tend = tend::<ArenasOf<P>>.in_set(TendSystems);
        app.add_systems(Last, tend.ambiguous_with_all());
        self.add_ends(app);
    }

    fn finish(&self, app: &mut App) {
        // Repeated for schedules that other plugins have replaced.
        self.add_ends(app);
    }
}

/// The comment above labels that have to be completed.
const DEBUG_FORMAT: &str =
    "// Schedules are in their `Debug` format: complete the paths of their values.";

/// Returns whether a label has a value, e.g. `OnExit(Playing)`, whose path is missing.
fn has_value(label: InternedScheduleLabel) -> bool {
    format!("{label:?}").contains(['(', '{'])
}

/// Returns the fields of a plugin with several ends. Its other fields are those of all plugins.
fn ends_as_code(ends: &[PaceEnd]) -> String {
    let mut lines = String::new();
    let labels = ends.iter().map(|end| match *end {
        PaceEnd::AtStartOf(label) | PaceEnd::AtEndOf(label) => label,
    });
    if labels.into_iter().any(has_value) {
        lines += &format!("        {DEBUG_FORMAT}\n");
    }
    for end in ends {
        let (kind, label) = match *end {
            PaceEnd::AtStartOf(label) => ("AtStartOf", label),
            PaceEnd::AtEndOf(label) => ("AtEndOf", label),
        };
        lines += &format!("        PaceEnd::{kind}({label:?}.intern()),\n");
    }
    format!("{{\n    ends: vec![\n{lines}    ],\n    ..FrameArenaPacePlugin::by_hand()\n}}")
}

/// The set of the system that ends periods of the pace with this type, at an edge of a schedule.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct EndOf(TypeId, Edge);
