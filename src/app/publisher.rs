//! Writes the figures of one `FrameArenas` to a store of diagnostics.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::world::World;
use bevy_platform::time::Instant;
use tracing::warn;

use crate::arenas::FrameUsage;

/// The most workers that get a diagnostic of their own: a store never forgets one.
const MAX_WORKERS: usize = 64;

const MEMORY_SUFFIX: &str = " MiB";

type Figure = (&'static str, &'static str, fn(&FrameUsage) -> f64);

const FIGURES: [Figure; 7] = [
    ("used", MEMORY_SUFFIX, |usage| mebibytes(usage.used_bytes)),
    ("high_watermark", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.high_watermark_bytes)
    }),
    ("reserved", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.reserved_bytes)
    }),
    ("workers", "", |usage| usage.active_workers as f64),
    ("overflows", "", |usage| f64::from(usage.overflows)),
    ("parked", "", |usage| usage.parked as f64),
    ("stale", "", |usage| usage.stale_lookups as f64),
];

/// Writes the figures of one `FrameArenas` to a store, under names with one prefix.
pub(super) struct UsagePublisher {
    prefix: String,
    max_history_length: usize,
    figures: [DiagnosticPath; FIGURES.len()],
    workers: Vec<(Arc<str>, DiagnosticPath)>,
}

impl UsagePublisher {
    pub(super) fn new(prefix: &str, max_history_length: usize) -> Self {
        Self {
            prefix: prefix.to_owned(),
            max_history_length,
            figures: FIGURES.map(|(name, ..)| DiagnosticPath::new(format!("{prefix}/{name}"))),
            workers: Vec::new(),
        }
    }

    /// Makes a publisher for the store of a world, unless others publish under this prefix: figures
    /// of two arenas under one name would be worth nothing.
    pub(super) fn add_to(
        world: &mut World,
        prefix: &str,
        max_history_length: usize,
    ) -> Option<Self> {
        let publisher = Self::new(prefix, max_history_length);
        let mut store = world.get_resource_or_init::<DiagnosticsStore>();
        if store.get(&publisher.figures[0]).is_some() {
            warn!(
                "two arenas would publish their figures as `{prefix}/…`, so the second publishes \
                 none; give it a `diagnostics_prefix` of its own"
            );
            return None;
        }
        publisher.register(&mut store);
        Some(publisher)
    }

    /// Adds the diagnostics to a store.
    pub(super) fn register(&self, store: &mut DiagnosticsStore) {
        for (path, (_, suffix, _)) in self.figures.iter().zip(FIGURES) {
            store.add(self.diagnostic(path, suffix));
        }
    }

    /// Adds a measurement to each diagnostic of the store.
    ///
    /// It allocates only for workers it has not seen: `Diagnostics`, the system parameter, would
    /// clone their paths each frame.
    pub(super) fn publish(&mut self, usage: &FrameUsage, store: &mut DiagnosticsStore) {
        let time = Instant::now();
        let measure = |store: &mut DiagnosticsStore, path: &DiagnosticPath, value| {
            if let Some(diagnostic) = store.get_mut(path).filter(|it| it.is_enabled) {
                diagnostic.add_measurement(DiagnosticMeasurement { time, value });
            }
        };
        for (path, (.., value)) in self.figures.iter().zip(FIGURES) {
            measure(store, path, value(usage));
        }
        for worker in &usage.workers {
            if let Some(path) = self.path_of_worker(&worker.name, store) {
                measure(store, path, mebibytes(worker.used_bytes));
            }
        }
    }

    fn path_of_worker(
        &mut self,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<&DiagnosticPath> {
        let known = self.workers.iter().position(|(known, _)| known == name);
        let index = match known {
            Some(index) => index,
            None if self.workers.len() == MAX_WORKERS => return None,
            None => {
                let path = worker_path(&self.prefix, name);
                store.add(self.diagnostic(&path, MEMORY_SUFFIX));
                self.workers.push((Arc::clone(name), path));
                self.workers.len() - 1
            }
        };
        Some(&self.workers[index].1)
    }

    fn diagnostic(&self, path: &DiagnosticPath, suffix: &'static str) -> Diagnostic {
        Diagnostic::new(path.clone())
            .with_suffix(suffix)
            .with_max_history_length(self.max_history_length)
    }
}

/// A thread may have any name; a path may have no empty component.
pub(super) fn worker_path(prefix: &str, thread_name: &str) -> DiagnosticPath {
    let name = match thread_name {
        "" => Cow::Borrowed("unnamed"),
        name => Cow::Owned(name.replace('/', "|")),
    };
    DiagnosticPath::new(format!("{prefix}/worker/{name}"))
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
