//! The record of a whole run: a table of its figures, and advice for settings.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, mem};

use bevy_app::{App, AppExit, Last, Plugin};
use bevy_ecs::prelude::*;
use bevy_time::{Real, Time};
use tracing::{info, warn};

use super::advice::{Run, advice_for};
use super::plugin::TendSystems;
use super::report::{ArenaReport, FrameArenaReport, News, Seen, every, finds_arenas};
use crate::arenas::FrameUsage;
use crate::figures::Figures;
use crate::sites::Site;

/// Records the usage of all arenas over a run, and suggests settings at its end.
///
/// Play a session with it. When the app exits, panics or is dropped, the suggested settings are logged as
/// code to paste, and a table is written if [`file`](Self::file) is set. [`FrameArenaRecorder`] returns
/// either at any time.
///
/// ```
/// use bevy_app::App;
/// use bevy_frame_arena::{
///     FrameArenaPlugin, FrameArenaRecorder, FrameArenaRecorderPlugin, FrameArenas,
/// };
///
/// let mut app = App::new();
/// app.add_plugins((FrameArenaPlugin::default(), FrameArenaRecorderPlugin::default()));
/// app.world().resource::<FrameArenas>().local().alloc([0_u8; 100_000]);
/// app.update();
///
/// let recorder = app.world().resource::<FrameArenaRecorder>();
/// assert!(recorder.csv().lines().nth(1).unwrap().contains("frame_arena,all,all"));
/// assert!(recorder.advice().contains("budget_bytes: Some(256 << 10)"));
/// ```
pub struct FrameArenaRecorderPlugin {
    /// The CSV file for the table, written when the app ends. Default: none.
    pub file: Option<PathBuf>,
    /// The time covered by a line of the table, which has the highest figures of its frames. Default: a
    /// second.
    pub interval: Duration,
}

impl Default for FrameArenaRecorderPlugin {
    fn default() -> Self {
        Self {
            file: None,
            interval: Duration::from_secs(1),
        }
    }
}

impl Plugin for FrameArenaRecorderPlugin {
    fn build(&self, app: &mut App) {
        let mut recorder = FrameArenaRecorder::default();
        recorder.file.clone_from(&self.file);
        let finds_arenas = finds_arenas("FrameArenaRecorderPlugin");
        let systems = (
            record,
            end_interval.run_if(every(self.interval)),
            finish.run_if(on_message::<AppExit>),
        )
            .chain()
            .run_if(finds_arenas.and_then(resource_exists::<FrameArenaRecorder>));
        app.insert_resource(recorder)
            .add_message::<AppExit>()
            .add_systems(Last, systems.after(TendSystems));
    }
}

fn record(
    report: Res<FrameArenaReport>,
    time: Option<Res<Time<Real>>>,
    mut recorder: ResMut<FrameArenaRecorder>,
    mut clock: Local<Duration>,
) {
    // A clock that shows less than before was replaced, and the time goes on.
    let elapsed = time.map_or(Duration::ZERO, |time| time.elapsed());
    recorder.elapsed += elapsed.saturating_sub(mem::replace(&mut *clock, elapsed));
    let arenas = report.iter().count();
    recorder.runs.resize_with(arenas, Default::default);
    for (index, arenas) in report.iter().enumerate() {
        recorder.note(index, arenas);
    }
}

fn end_interval(mut recorder: ResMut<FrameArenaRecorder>) {
    recorder.end_interval();
}

fn finish(mut recorder: ResMut<FrameArenaRecorder>) {
    recorder.finish();
}

/// The usage of all arenas so far: see [`FrameArenaRecorderPlugin`].
#[derive(Resource, Default)]
pub struct FrameArenaRecorder {
    file: Option<PathBuf>,
    /// The lines of all intervals that have ended, as CSV.
    table: String,
    /// The lines of the running interval.
    open: Vec<Line>,
    /// One for each set of arenas.
    runs: Vec<(Run, Seen)>,
    /// The time of the last recorded frame.
    elapsed: Duration,
    /// Whether the results were written.
    is_finished: bool,
}

/// Writes the results however the app ends, e.g. by a panic or without an `AppExit`.
impl Drop for FrameArenaRecorder {
    fn drop(&mut self) {
        if !self.runs.is_empty() {
            self.finish();
        }
    }
}

/// The highest figures of an interval, for one set of arenas or one of its workers or sites.
struct Line {
    /// The prefix of the arenas, by their place in the report.
    arenas: usize,
    subject: Subject,
    /// Workers and sites have only [`Figures`].
    usage: FrameUsage,
}

/// The subject of a line.
#[derive(PartialEq, Eq)]
enum Subject {
    All,
    /// All threads with this name.
    Worker(Arc<str>),
    Site(Site),
}

/// A column of the table: its name, and its figure.
type Column = (&'static str, fn(&FrameUsage) -> u64);

/// The columns of the table that have figures.
const COLUMNS: [Column; 10] = [
    ("used_bytes", |it| it.used_bytes as u64),
    ("peak_bytes", |it| it.peak_bytes as u64),
    ("held_bytes", |it| it.held_bytes as u64),
    ("reserved_bytes", |it| it.reserved_bytes as u64),
    ("refusals", |it| it.refusals),
    ("stale_lookups", |it| it.stale_lookups),
    ("stale_panics", |it| it.stale_panics),
    ("task_arenas", |it| it.task_arenas as u64),
    ("task_results", |it| it.task_results as u64),
    ("task_bytes", |it| it.task_bytes as u64),
];

/// Returns a CSV field, quoted as in RFC 4180: a thread may have any name.
fn field(text: &str) -> String {
    match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

impl FrameArenaRecorder {
    /// Returns the table as CSV (RFC 4180).
    ///
    /// Each interval has a line of the kind `all` for each set of arenas, and one of the kind `worker`
    /// for each busy worker. With the feature `sites`, it also has one of the kind `site` for each line
    /// of code that took memory, e.g. `src/cull.rs:12`. If several periods ended in a frame, as fixed
    /// steps may, the bytes are those of the last one. A level has lines from its first allocation to its
    /// end, and none between two levels. Only lines of the kind `all` have tasks.
    pub fn csv(&self) -> String {
        let columns = COLUMNS.map(|(name, _)| name).join(",");
        format!("seconds,arenas,kind,name,{columns}\n{}", self.table)
    }

    /// Returns settings that suit the recorded run, as code to paste: the `settings` of the plugin for each
    /// set of arenas, below the figures they are derived from.
    pub fn advice(&self) -> String {
        self.runs.iter().map(|(run, _)| advice_for(run)).collect()
    }

    fn note(&mut self, index: usize, report: &ArenaReport) {
        let (run, seen) = &mut self.runs[index];
        run.note(report);
        // A period is counted once, however many frames it lasts. A long one also has lines while it
        // runs, from its first allocation on.
        if let Some(news) = seen.look(report) {
            self.note_period(index, &news);
        }
    }

    /// Adds a period to the lines of the running interval.
    fn note_period(&mut self, arenas: usize, news: &News) {
        let (usage, mut of_all) = (news.usage, news.figures);
        // A level that ended has given back what its workers held.
        let of_workers = usage.workers.iter().map(|it| it.held_bytes).sum();
        of_all.held_bytes = of_all.held_bytes.max(of_workers);
        of_all.reserved_bytes = of_all.reserved_bytes.max(of_all.held_bytes);
        self.line(arenas, Subject::All, &of_all).raise(usage);
        for worker in usage.workers.iter().filter(|it| it.peak_bytes > 0) {
            let subject = Subject::Worker(Arc::clone(&worker.name));
            self.line(arenas, subject, &worker.figures);
        }
        for site in &usage.sites {
            self.line(arenas, Subject::Site(site.site), &site.figures);
        }
    }

    /// Merges figures into a line of the running interval, and returns the line.
    fn line(&mut self, arenas: usize, subject: Subject, figures: &Figures) -> &mut FrameUsage {
        let is_it = |it: &Line| it.arenas == arenas && it.subject == subject;
        let index = self.open.iter().position(is_it).unwrap_or_else(|| {
            self.open.push(Line {
                arenas,
                subject,
                usage: FrameUsage::default(),
            });
            self.open.len() - 1
        });
        let usage = &mut self.open[index].usage;
        usage.figures.merge(figures);
        usage
    }

    /// Moves the lines of the running interval to the table.
    fn end_interval(&mut self) {
        let end = self.elapsed.as_secs_f64();
        for line in self.open.drain(..) {
            let (kind, name) = match line.subject {
                Subject::All => ("all", "all".to_owned()),
                Subject::Worker(name) => ("worker", field(&name)),
                Subject::Site(site) => ("site", field(&site.to_string())),
            };
            let arenas = &self.runs[line.arenas].0.report.prefix;
            let figures = COLUMNS.map(|(_, figure)| figure(&line.usage).to_string());
            let figures = figures.join(",");
            self.table += &format!("{end:.3},{arenas},{kind},{name},{figures}\n");
        }
    }

    /// Writes the results, once.
    fn finish(&mut self) {
        if mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.end_interval();
        info!("settings that would suit this run:\n{}", self.advice());
        if let Some(file) = &self.file
            && let Err(error) = fs::write(file, self.csv())
        {
            let file = file.display();
            warn!("the record of the run could not be written to `{file}`: {error}");
        }
    }
}
