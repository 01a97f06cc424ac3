//! The end of a period, of the frame as of any other pace: one system, and one way for the figures.
#![forbid(unsafe_code)]

use std::any::TypeId;

use bevy_app::App;
use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::change_detection::DetectChangesMut;
use bevy_ecs::component::Mutable;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Res, ResMut};
use bevy_time::{Real, Time};

use super::clock::now;
use super::report::{FrameArenaReport, Key, NewEntry};
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// A resource with the arenas of one pace.
pub(super) trait Paced: Resource<Mutability = Mutable> + Sized {
    fn with_settings(settings: FrameArenaSettings) -> Self;

    fn arenas_mut(&mut self) -> &mut FrameArenas;
}

impl Paced for FrameArenas {
    fn with_settings(settings: FrameArenaSettings) -> Self {
        Self::new(settings)
    }

    fn arenas_mut(&mut self) -> &mut FrameArenas {
        self
    }
}

/// Where figures go. Any of them may be missing.
pub(super) type Sinks<'w> = (
    Option<ResMut<'w, FrameArenaReport>>,
    Option<ResMut<'w, DiagnosticsStore>>,
    Option<Res<'w, Time<Real>>>,
);

/// Adds the arenas of a pace, unless they exist, and reports them, if they have a name.
pub(super) fn add_arenas<R: Paced>(
    app: &mut App,
    settings: &FrameArenaSettings,
    entry: Option<NewEntry<'_>>,
) {
    if !app.world().contains_resource::<R>() {
        app.insert_resource(R::with_settings(settings.clone()));
    }
    if let Some(entry) = entry {
        FrameArenaReport::add(app.world_mut(), entry, Some(TypeId::of::<R>()), settings);
    }
}

/// Ends a period: swaps the arenas, and passes their figures on.
pub(super) fn end_period<R: Paced>(arenas: Option<ResMut<R>>, sinks: Sinks<'_>) {
    let Some(mut arenas) = arenas else {
        return;
    };
    // The end of a period is no news; leave change detection to the user.
    let arenas = arenas.bypass_change_detection().arenas_mut();
    arenas.swap();
    pass_on(Key::Pace(TypeId::of::<R>()), arenas, sinks);
}

/// Passes the figures of the period that has just ended to the report, the log and the diagnostics.
pub(super) fn pass_on(key: Key<'_>, arenas: &FrameArenas, (report, store, time): Sinks<'_>) {
    if let Some(mut report) = report {
        let store = store.map(ResMut::into_inner);
        report.end_period(key, arenas, store.zip(now(time.as_deref())));
    }
}

/// Recycles what was leased when its period ended, and is no longer; and reports what the period
/// has used that goes on.
///
/// A period may be long, and its end would be late: a level's memory is wanted back when the
/// task that read it is done, not when the next level ends, and its figures while it runs.
pub(super) fn tend<R: Paced>(arenas: Option<ResMut<R>>, report: Option<ResMut<FrameArenaReport>>) {
    let Some(mut arenas) = arenas else {
        return;
    };
    let arenas = arenas.bypass_change_detection().arenas_mut();
    if arenas.usage().parked > 0 {
        arenas.recycle_parked();
    }
    if let Some(mut report) = report {
        let report = report.bypass_change_detection();
        report.note_so_far(Key::Pace(TypeId::of::<R>()), arenas);
    }
}
