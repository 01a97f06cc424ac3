//! Arenas for any pace: memory that lives for a fixed step, a level, a turn.
#![forbid(unsafe_code)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bevy_ecs::resource::Resource;
use bevy_ecs::system::ResMut;

use super::period::{self, Paced, Sinks};
use super::report::words_of;
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// The pace of Bevy's fixed steps: `Res<ArenasOf<FixedStep>>`, with
/// [`FrameArenaPacePlugin::fixed_step`](crate::FrameArenaPacePlugin::fixed_step).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FixedStep;

/// [`FrameArenas`] whose period is not the frame: a fixed step, a level, a turn.
///
/// `P` is any type that names the pace, and [`FrameArenaPacePlugin`](crate::FrameArenaPacePlugin)
/// says when a period ends. All
/// that `FrameArenas` can do, it can do: it derefs to them, and where their docs say "frame", read
/// "period". Handles of one pace do not resolve at another.
///
/// Use it where the frame is the wrong measure. Above 64 frames a second there are frames without a
/// fixed step, so what a step reads may be older than the frame before:
///
/// | who makes it, who reads it | memory |
/// |---|---|
/// | made and read in frames, or made and read within one step | [`FrameArenas`] |
/// | messages from a frame to the next step (input, commands) | `ArenasOf<FixedStep>` |
/// | messages from a step to its frame (sounds, effects) | [`FrameArenas`] |
/// | a list that each step makes anew, and frames or steps read | `ArenasOf<FixedStep>` |
/// | a list that each frame makes anew, and steps read | [`FrameArenas`] |
/// | what a level made, read until it ends | `ArenasOf<Level>` |
///
/// In one sentence: a message is allocated at the pace of its reader, and a list that its maker
/// replaces at the pace of its maker.
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
/// // Whether the next step is in this frame or three frames later.
/// fn obey(arenas: Res<ArenasOf<FixedStep>>, mut commands: MessageReader<Command>) {
///     let command = commands.read().next().expect("it was sent in the frame before");
///     assert_eq!(&arenas[command.0], "jump");
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
///
/// As with the frame's, no reference outlives the period:
///
/// ```compile_fail,E0502
/// # struct Level;
/// # let mut arenas = bevy_frame_arena::ArenasOf::<Level>::default();
/// let name = arenas.local().alloc_str("caves");
/// arenas.swap();
/// assert_eq!(name, "caves");
/// ```
#[derive(Resource)]
pub struct ArenasOf<P: 'static> {
    arenas: FrameArenas,
    pace: PhantomData<fn() -> P>,
}

impl<P: 'static> ArenasOf<P> {
    /// Creates the arenas; [`FrameArenaPacePlugin`](crate::FrameArenaPacePlugin) does it otherwise.
    ///
    /// ```
    /// use bevy_frame_arena::{ArenasOf, FrameArenaSettings};
    ///
    /// struct Turn;
    /// let mut arenas = ArenasOf::<Turn>::new(FrameArenaSettings::default());
    /// let plan = arenas.local().share_str("castle");
    /// arenas.swap();
    /// assert_eq!(&arenas[plan], "castle");
    /// ```
    pub fn new(settings: FrameArenaSettings) -> Self {
        Self {
            arenas: FrameArenas::of_pace(settings, type_name::<P>()),
            pace: PhantomData,
        }
    }

    /// Ends the period, as a system: swaps the arenas and publishes their figures.
    ///
    /// For a pace that you end [by hand](crate::FrameArenaPacePlugin::by_hand). In a schedule, order it
    /// like any system; elsewhere, run it with `run_system_cached` of a world or of `Commands`.
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
    /// assert_eq!(app.world().resource::<ArenasOf<AiTick>>().frame(), 3);
    /// ```
    ///
    /// Where the plugin ends the period, at the start or the end of a schedule, all other systems are
    /// kept clear of this one without being asked, those included that are added later. A system
    /// that says `.before(ArenasOf::<P>::end_period)` or `.after` has its way.
    pub fn end_period(arenas: Option<ResMut<Self>>, sinks: Sinks) {
        period::end_period(arenas, sinks);
    }
}

impl<P: 'static> Paced for ArenasOf<P> {
    fn with_settings(settings: FrameArenaSettings) -> Self {
        Self::new(settings)
    }

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
        f.debug_struct("ArenasOf")
            .field("pace", &words_of(type_name::<P>()))
            .field("arenas", &self.arenas)
            .finish()
    }
}
