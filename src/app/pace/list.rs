//! All paces of an app.
#![forbid(unsafe_code)]

use std::any::TypeId;

use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::resource::Resource;

use crate::app::publisher::UsagePublisher;
use crate::arenas::FrameUsage;

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
    publisher: Option<UsagePublisher>,
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

    pub(super) fn add<P: 'static>(&mut self, info: PaceInfo, publisher: Option<UsagePublisher>) {
        self.0.push(Pace {
            id: TypeId::of::<P>(),
            info,
            publisher,
        });
    }

    /// Writes the figures of a period that ended to the store.
    pub(super) fn publish<P: 'static>(&mut self, usage: &FrameUsage, store: &mut DiagnosticsStore) {
        let id = TypeId::of::<P>();
        let pace = self.0.iter_mut().find(|pace| pace.id == id);
        if let Some(publisher) = pace.and_then(|pace| pace.publisher.as_mut()) {
            publisher.publish(usage, store);
        }
    }
}
