//! Arenas for any pace: memory that lives for a fixed step, a level, a turn. And the plugin that ends their
//! periods.
#![forbid(unsafe_code)]

use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bevy_app::{App, FixedMain, Last, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleLabel};

use super::edges::{Edge, add_at};
use super::plugin::{self, Paced, TendSystems, add_arenas, tend, watch};
use super::report::{ArenaReport, Key, Sinks};
use crate::arenas::FrameArenas;
use crate::error::Short;
use crate::settings::{FrameArenaSettings, LivesFor};

/// The pace of Bevy's fixed steps: `Res<ArenasOf<FixedStep>>`, with
/// [`FrameArenaPacePlugin::fixed_step`](crate::FrameArenaPacePlugin::fixed_step).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FixedStep;

/// [`FrameArenas`] with a period other than the frame: a fixed step, a level, a turn.
///
/// `P` is any type that names the pace. [`FrameArenaPacePlugin`](crate::FrameArenaPacePlugin) defines
/// when a period ends. `ArenasOf` derefs to `FrameArenas` and has all its methods. Where their docs have
/// "frame", read "period". Handles of one pace do not resolve in the arenas of another.
///
/// Use it where the frame is the wrong period. Above 64 frames a second some frames have no fixed step,
/// so data read by a step may be older than the previous frame:
///
/// | data | memory |
/// |---|---|
/// | made and read in frames, or made and read within one step | [`FrameArenas`] |
/// | messages from a frame to the next step (input, commands) | `ArenasOf<FixedStep>` |
/// | messages from a step to its frame (sounds, effects) | [`FrameArenas`] |
/// | a list rebuilt by each step, read by frames or steps | `ArenasOf<FixedStep>` |
/// | a list rebuilt by each frame, read by steps | [`FrameArenas`] |
/// | data of a level, read until the level ends | `ArenasOf<Level>` |
///
/// In short: allocate a message at the pace of its reader, and a list that its maker rebuilds at the pace
/// of its maker.
///
/// ```
/// use bevy_app::{App, FixedMain, FixedUpdate, Update};
/// use bevy_ecs::prelude::*;
/// use bevy_frame_arena::{ArenasOf, FixedStep, FrameArenaPacePlugin, FrameHandle};
///
/// #[derive(Message)]
/// struct Command(FrameHandle<str>);
///
/// fn send(arenas: Res<ArenasOf<FixedStep>>, mut commands: MessageWriter<Command>) {
///     commands.write(Command(arenas.local().share_str("jump")));
/// }
///
/// // Works whether the next step is in this frame or three frames later.
/// fn obey(arenas: Res<ArenasOf<FixedStep>>, mut commands: MessageReader<Command>) {
///     for command in commands.read() {
///         if let Some(name) = arenas.get(command.0) {
///             assert_eq!(name, "jump");
///         }
///     }
/// }
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPacePlugin::fixed_step())
///     .add_message::<Command>()
///     .add_systems(Update, send)
///     .add_systems(FixedUpdate, obey);
/// app.update();
/// app.world_mut().run_schedule(FixedMain); // as Bevy does, 64 times a second
/// ```
#[derive(Resource)]
#[component(on_add = watch::<Self>)]
pub struct ArenasOf<P: 'static> {
    arenas: FrameArenas,
    pace: PhantomData<fn() -> P>,
}

impl<P: 'static> ArenasOf<P> {
    /// Creates the arenas. Usually [`FrameArenaPacePlugin`](crate::FrameArenaPacePlugin) does this.
    pub fn new(settings: FrameArenaSettings) -> Self {
        Self {
            arenas: FrameArenas::of_pace(settings, type_name::<P>()),
            pace: PhantomData,
        }
    }

    /// Ends the period: swaps the arenas and publishes their figures. This is a system.
    ///
    /// Use it for a pace that ends [by hand](crate::FrameArenaPacePlugin::by_hand). Order it in a
    /// schedule like any system, or run it with `run_system_cached` of a world or of `Commands`.
    ///
    /// ```
    /// use bevy_app::{App, Last};
    /// use bevy_ecs::prelude::*;
    /// use bevy_frame_arena::{ArenasOf, FrameArenaPacePlugin};
    ///
    /// struct AiTick;
    /// let every_tenth = |mut frame: Local<u32>| {
    ///     *frame += 1;
    ///     frame.is_multiple_of(10)
    /// };
    /// let mut app = App::new();
    /// app.add_plugins(FrameArenaPacePlugin::<AiTick>::by_hand())
    ///     .add_systems(Last, ArenasOf::<AiTick>::end_period.run_if(every_tenth));
    /// (0..30).for_each(|_| app.update());
    /// assert_eq!(app.world().resource::<ArenasOf<AiTick>>().period(), 3);
    /// ```
    ///
    /// Where the plugin ends the period, at the start or the end of a schedule, this system runs before
    /// or after all others, including those added later. An explicit `.before(ArenasOf::<P>::end_period)`
    /// or `.after` of another system takes precedence.
    pub fn end_period(arenas: Option<ResMut<Self>>, sinks: Sinks) {
        plugin::end_period(arenas, sinks);
    }
}

impl<P: 'static> Paced for ArenasOf<P> {
    fn arenas_mut(&mut self) -> &mut FrameArenas {
        &mut self.arenas
    }
}

impl<P: 'static> Default for ArenasOf<P> {
    fn default() -> Self {
        Self::new(FrameArenaSettings::default())
    }
}

impl<P: 'static> Deref for ArenasOf<P> {
    type Target = FrameArenas;

    #[inline]
    fn deref(&self) -> &FrameArenas {
        &self.arenas
    }
}

impl<P: 'static> DerefMut for ArenasOf<P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut FrameArenas {
        &mut self.arenas
    }
}

impl<P: 'static> fmt::Debug for ArenasOf<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Short(type_name::<Self>()).to_string();
        f.debug_tuple(&name).field(&self.arenas).finish()
    }
}

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
    /// A period ends at each run of these schedules, before all their systems.
    pub at_start_of: Vec<InternedScheduleLabel>,
    /// A period ends at each run of these schedules, after all their systems. A match that can be won or
    /// left has two.
    pub ending_with: Vec<InternedScheduleLabel>,
    /// The name of the pace in words. Default: that of its type, e.g. `fixed step`.
    ///
    /// The diagnostics are those of [`FrameArenaDiagnosticsPlugin`](crate::FrameArenaDiagnosticsPlugin)
    /// under this name, e.g. `fixed_step_arena/used`. Two paces need two names.
    pub name: Cow<'static, str>,
    /// The type of the pace.
    pub pace: PhantomData<fn() -> P>,
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
            at_start_of: vec![schedule.intern()],
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
    /// use bevy_frame_arena::prelude::*;
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
    /// App::new()
    ///     .add_plugins((
    ///         StatesPlugin,
    ///         FrameArenaPacePlugin::<Level>::ending_with(OnExit(Game::Playing)),
    ///     ))
    ///     .init_state::<Game>();
    /// ```
    pub fn ending_with(schedule: impl ScheduleLabel) -> Self {
        Self {
            ending_with: vec![schedule.intern()],
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
        Self {
            settings: FrameArenaSettings::default(),
            at_start_of: Vec::new(),
            ending_with: Vec::new(),
            name: words_of(type_name::<P>()).into(),
            pace: PhantomData,
        }
    }

    /// Adds the systems that end periods to the schedules that lack them.
    fn add_ends(&self, app: &mut App) {
        for (edge, labels) in [
            (Edge::BeforeAll, &self.at_start_of),
            (Edge::AfterAll, &self.ending_with),
        ] {
            for &label in labels {
                app.edit_schedule(label, |schedule| {
                    add_at(edge, schedule, TypeId::of::<P>(), ArenasOf::<P>::end_period);
                });
            }
        }
    }
}

impl<P: 'static> Plugin for FrameArenaPacePlugin<P> {
    fn build(&self, app: &mut App) {
        let key = Key::of::<ArenasOf<P>>();
        let report = ArenaReport::new(key, &self.name, &self.name, &self.settings);
        add_arenas(app, ArenasOf::<P>::new, report);
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

/// Returns the last part of a type's name in words: `fixed step` for `game::FixedStep`.
pub(super) fn words_of(type_name: &str) -> String {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let name = path.rsplit("::").next().unwrap_or(path);
    let mut words = String::new();
    let mut ends_a_word = false;
    for letter in name.chars() {
        if letter.is_uppercase() && ends_a_word {
            words.push(' ');
        }
        ends_a_word = !letter.is_uppercase();
        words.extend(letter.to_lowercase());
    }
    words
}
