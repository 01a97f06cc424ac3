//! What becomes of the figures of one set of arenas when a period ends.
#![forbid(unsafe_code)]

use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::system::{Res, ResMut, SystemParam};
use bevy_ecs::world::World;
use bevy_time::{Real, Time};
use tracing::warn;

use super::clock::now;
use super::publisher::UsagePublisher;
use super::report::{FrameArenaReport, UsageReporter};
use crate::arenas::FrameArenas;
use crate::settings::FrameArenaSettings;

/// Reports the figures of one set of arenas and publishes them as diagnostics, each time a period
/// has ended.
pub(super) struct Figures {
    reporter: UsageReporter,
    publisher: Option<UsagePublisher>,
}

/// Where figures go. Any of them may be missing.
#[derive(SystemParam)]
pub struct FigureSinks<'w> {
    report: Option<ResMut<'w, FrameArenaReport>>,
    store: Option<ResMut<'w, DiagnosticsStore>>,
    time: Option<Res<'w, Time<Real>>>,
}

impl Figures {
    /// Adds the arenas to the report of the main world, so that those who show it know of them from
    /// the start, and to its diagnostics, if these are to have a history.
    ///
    /// Not if there are others with this prefix: figures of two arenas under one name would be worth
    /// nothing.
    pub(super) fn add_to(
        main: &mut World,
        (label, prefix): (String, &str),
        max_history_length: Option<usize>,
        settings: &FrameArenaSettings,
    ) -> Option<Self> {
        let mut report = main.get_resource_or_init::<FrameArenaReport>();
        if report.get(prefix).is_some() {
            warn!(
                "two arenas would publish their figures as `{prefix}/…`, so the second publishes \
                 none; give it a `diagnostics_prefix` of its own"
            );
            return None;
        }
        let reporter = UsageReporter::add_to(&mut report, label, prefix, settings);
        let publisher = max_history_length.map(|length| {
            let publisher = UsagePublisher::new(prefix, length);
            publisher.register(&mut main.get_resource_or_init::<DiagnosticsStore>());
            publisher
        });
        Some(Self {
            reporter,
            publisher,
        })
    }

    /// Passes on what the period has used that goes on.
    pub(super) fn note_so_far(&self, arenas: &FrameArenas, report: &mut FrameArenaReport) {
        self.reporter.report_so_far(arenas, report);
    }

    /// Passes the figures on.
    pub(super) fn end_period(&mut self, arenas: &FrameArenas, sinks: FigureSinks) {
        if let Some(mut report) = sinks.report {
            self.reporter.report(arenas, &mut report);
        }
        let now = now(sinks.time.as_deref());
        if let (Some(publisher), Some(mut store), Some(now)) =
            (&mut self.publisher, sinks.store, now)
        {
            publisher.publish(arenas.usage(), now, &mut store);
        }
    }
}
