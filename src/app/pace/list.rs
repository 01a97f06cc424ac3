//! All paces of an app.
#![forbid(unsafe_code)]

use std::any::TypeId;

use bevy_ecs::resource::Resource;

use crate::app::figures::{FigureSinks, Figures};
use crate::app::report::FrameArenaReport;
use crate::arenas::FrameArenas;

/// The paces that [`FrameArenaPacePlugin`](crate::FrameArenaPacePlugin) has added to an app, in
/// their order.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{FrameArenaPacePlugin, Paces};
///
/// let mut app = App::new();
/// app.add_plugins(FrameArenaPacePlugin::fixed_step());
/// let pace = app.world().resource::<Paces>().iter().next().unwrap();
/// assert_eq!(pace.label, "fixed step");
/// assert_eq!(pace.diagnostics_prefix.as_deref(), Some("fixed_step_arena"));
/// ```
#[derive(Resource, Default)]
pub struct Paces(Vec<Pace>);

struct Pace {
    id: TypeId,
    info: PaceInfo,
    figures: Option<Figures>,
}

/// What is known of a pace without its type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PaceInfo {
    /// The name for people: `fixed step`.
    pub label: String,
    /// What the names of its diagnostics begin with; `None` if it has none.
    pub diagnostics_prefix: Option<String>,
}

impl Paces {
    /// Returns what is known of each pace.
    pub fn iter(&self) -> impl Iterator<Item = &PaceInfo> {
        self.0.iter().map(|pace| &pace.info)
    }

    pub(super) fn add<P: 'static>(&mut self, info: PaceInfo, figures: Option<Figures>) {
        self.0.push(Pace {
            id: TypeId::of::<P>(),
            info,
            figures,
        });
    }

    /// Passes on what the period has used that goes on.
    pub(super) fn note_so_far<P: 'static>(
        &self,
        arenas: &FrameArenas,
        report: &mut FrameArenaReport,
    ) {
        let id = TypeId::of::<P>();
        let pace = self.0.iter().find(|pace| pace.id == id);
        if let Some(figures) = pace.and_then(|pace| pace.figures.as_ref()) {
            figures.note_so_far(arenas, report);
        }
    }

    /// Passes on the figures of a period that ended.
    pub(super) fn publish<P: 'static>(&mut self, arenas: &FrameArenas, sinks: FigureSinks) {
        let id = TypeId::of::<P>();
        let pace = self.0.iter_mut().find(|pace| pace.id == id);
        if let Some(figures) = pace.and_then(|pace| pace.figures.as_mut()) {
            figures.end_period(arenas, sinks);
        }
    }
}
