//! Writes the figures of one set of arenas to a store of diagnostics.
#![forbid(unsafe_code)]

#[cfg(not(feature = "sites"))]
mod no_sites;
#[cfg(feature = "sites")]
mod sites;

use std::borrow::Cow;
use std::sync::Arc;

use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_platform::time::Instant;

#[cfg(not(feature = "sites"))]
use self::no_sites::SitePaths;
#[cfg(feature = "sites")]
use self::sites::SitePaths;
use crate::arenas::FrameUsage;

/// The most workers that get a diagnostic of their own: a store never forgets one.
const MAX_WORKERS: usize = 64;

/// The most workers that are measured in one period. More take turns: Bevy's store needs some 300
/// instructions for a measurement, and the frame's end shall not grow with them.
const WORKERS_IN_TURN: usize = 16;

const MEMORY_SUFFIX: &str = " MiB";

type Figure = (&'static str, &'static str, fn(&FrameUsage) -> f64);

const FIGURES: [Figure; 10] = [
    ("used", MEMORY_SUFFIX, |usage| mebibytes(usage.used_bytes)),
    ("peak", MEMORY_SUFFIX, |usage| mebibytes(usage.peak_bytes)),
    ("high_watermark", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.high_watermark_bytes)
    }),
    ("scratch", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.scratch_high_watermark_bytes)
    }),
    ("reserved", MEMORY_SUFFIX, |usage| {
        mebibytes(usage.reserved_bytes)
    }),
    ("workers", "", |usage| usage.active_workers as f64),
    ("overflows", "", |usage| f64::from(usage.overflows)),
    ("refusals", "", |usage| f64::from(usage.refusals)),
    ("parked", "", |usage| usage.parked as f64),
    ("stale", "", |usage| usage.stale_lookups as f64),
];

/// Writes the figures of one set of arenas to a store, under names with one prefix.
pub(super) struct UsagePublisher {
    prefix: String,
    max_history_length: usize,
    figures: [DiagnosticPath; FIGURES.len()],
    workers: Vec<(Arc<str>, DiagnosticPath)>,
    /// The line of the worker whose turn it is.
    next_worker: usize,
    sites: SitePaths,
}

impl UsagePublisher {
    pub(super) fn new(prefix: &str, max_history_length: usize) -> Self {
        Self {
            prefix: prefix.to_owned(),
            max_history_length,
            figures: FIGURES.map(|(name, ..)| DiagnosticPath::new(format!("{prefix}/{name}"))),
            workers: Vec::new(),
            next_worker: 0,
            sites: SitePaths::default(),
        }
    }

    /// Adds the diagnostics to a store.
    pub(super) fn register(&self, store: &mut DiagnosticsStore) {
        for (path, (_, suffix, _)) in self.figures.iter().zip(FIGURES) {
            store.add(self.diagnostic(path, suffix));
        }
    }

    /// Adds a measurement to each diagnostic of the store; of many workers, to those whose turn it
    /// is.
    ///
    /// It allocates only for workers and sites it has not seen: `Diagnostics`, the system parameter, would
    /// clone their paths each frame.
    pub(super) fn publish(
        &mut self,
        usage: &FrameUsage,
        time: Instant,
        store: &mut DiagnosticsStore,
    ) {
        let measure = |store: &mut DiagnosticsStore, path: &DiagnosticPath, value| {
            if let Some(diagnostic) = store.get_mut(path).filter(|it| it.is_enabled) {
                diagnostic.add_measurement(DiagnosticMeasurement { time, value });
            }
        };
        for (path, (.., value)) in self.figures.iter().zip(FIGURES) {
            measure(store, path, value(usage));
        }
        for line in self.take_turn(usage.workers.len()) {
            let worker = &usage.workers[line];
            if let Some(path) = self.path_of_worker(line, &worker.name, store) {
                measure(store, path, mebibytes(worker.used_bytes));
            }
        }
        let length = self.max_history_length;
        self.sites.add_new(&self.prefix, &usage.sites, |path| {
            store.add(diagnostic(path, MEMORY_SUFFIX, length));
        });
        for (path, used_bytes) in self.sites.measured(&usage.sites) {
            measure(store, path, mebibytes(used_bytes));
        }
    }

    /// Returns the lines of the workers whose turn it is: all, if they are few.
    fn take_turn(&mut self, workers: usize) -> impl Iterator<Item = usize> + use<> {
        let workers = workers.min(MAX_WORKERS);
        // A worker that was idle for long is no longer listed, so there may be fewer than before.
        let first = Some(self.next_worker).filter(|&first| first < workers);
        let first = first.unwrap_or(0);
        let line_at = move |place| match place {
            place if place < workers => place,
            place => place - workers,
        };
        let turn = first..first + workers.min(WORKERS_IN_TURN);
        self.next_worker = line_at(turn.end);
        turn.map(line_at)
    }

    /// Returns the diagnostic of a worker. Mostly its line in the usage says where to look.
    fn path_of_worker(
        &mut self,
        line: usize,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<&DiagnosticPath> {
        let is_there = |(known, _): &(Arc<str>, _)| Arc::ptr_eq(known, name);
        let index = match self.workers.get(line).is_some_and(is_there) {
            true => line,
            false => self.find_worker(line, name, store)?,
        };
        Some(&self.workers[index].1)
    }

    /// Finds the diagnostic of a worker, or adds it, and has it where the next call looks first.
    #[cold]
    fn find_worker(
        &mut self,
        line: usize,
        name: &Arc<str>,
        store: &mut DiagnosticsStore,
    ) -> Option<usize> {
        if line >= MAX_WORKERS {
            return None;
        }
        let known = self.workers.iter().position(|(known, _)| known == name);
        if known.is_none() && self.workers.len() == MAX_WORKERS {
            return None;
        }
        let index = known.unwrap_or_else(|| {
            let path = worker_path(&self.prefix, name);
            store.add(self.diagnostic(&path, MEMORY_SUFFIX));
            self.workers.push((Arc::clone(name), path));
            self.workers.len() - 1
        });
        self.workers[index].0 = Arc::clone(name);
        let place = line.min(self.workers.len() - 1);
        self.workers.swap(index, place);
        Some(place)
    }

    fn diagnostic(&self, path: &DiagnosticPath, suffix: &'static str) -> Diagnostic {
        diagnostic(path, suffix, self.max_history_length)
    }
}

fn diagnostic(path: &DiagnosticPath, suffix: &'static str, length: usize) -> Diagnostic {
    Diagnostic::new(path.clone())
        .with_suffix(suffix)
        .with_max_history_length(length)
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
