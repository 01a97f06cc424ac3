//! Arenas for any pace: memory that lives for a fixed step, a level, a turn.
#![forbid(unsafe_code)]

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bevy_ecs::resource::Resource;
use bevy_ecs::system::ResMut;

use super::period::{self, Paced, Sinks, watch};
use super::report::words_of;
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

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
        period::end_period(arenas, sinks);
    }
}

impl<P: 'static> Paced for ArenasOf<P> {
    fn with_settings(settings: FrameArenaSettings) -> Self {
        Self::new(settings)
    }

    fn arenas(&self) -> &FrameArenas {
        &self.arenas
    }

    fn arenas_mut(&mut self) -> &mut FrameArenas {
        &mut self.arenas
    }

    fn pace() -> Option<&'static str> {
        Some(type_name::<P>())
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
