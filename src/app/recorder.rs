//! The record of a whole run: a table of its figures, and advice for settings.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, mem};

use bevy_app::{App, AppExit, Last, Plugin};
use bevy_ecs::message::MessageReader;
use bevy_ecs::resource::Resource;
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_ecs::system::{Local, Res, ResMut};
use bevy_platform::time::Instant;
use bevy_time::{Real, Time};
use tracing::{info, warn};

use super::advice::Advice;
use super::plugin::TendSystems;
use super::report::{ArenaReport, FrameArenaReport, News, is_due, report_for};
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
        recorder.interval = self.interval;
        app.insert_resource(recorder)
            .add_message::<AppExit>()
            .add_systems(Last, record.after(TendSystems));
    }
}

fn record(
    report: Option<Res<FrameArenaReport>>,
    time: Option<Res<Time<Real>>>,
    recorder: Option<ResMut<FrameArenaRecorder>>,
    mut exits: MessageReader<AppExit>,
    mut clock: Local<Duration>,
    mut last: Local<Option<Instant>>,
    mut is_told: Local<bool>,
) {
    let Some(report) = report_for("FrameArenaRecorderPlugin", report, &mut is_told) else {
        return;
    };
    let Some(mut recorder) = recorder else { return };
    let exits = exits.read().next().is_some();
    recorder.note(&report);
    // A clock that shows less than before was replaced, and the time goes on.
    let elapsed = time.as_ref().map_or(Duration::ZERO, |time| time.elapsed());
    recorder.elapsed += elapsed.saturating_sub(mem::replace(&mut *clock, elapsed));
    if is_due(&mut last, time.as_deref(), recorder.interval) {
        recorder.end_interval();
    }
    if exits {
        recorder.finish();
    }
}

/// The usage of all arenas so far: see [`FrameArenaRecorderPlugin`].
#[derive(Resource, Default)]
pub struct FrameArenaRecorder {
    file: Option<PathBuf>,
    interval: Duration,
    /// The lines of all intervals that have ended, as CSV.
    table: String,
    /// The lines of the running interval.
    open: Vec<Line>,
    /// One for each set of arenas.
    advice: Vec<Advice>,
    /// The time of the last recorded frame.
    elapsed: Duration,
    /// Whether the results were written.
    is_finished: bool,
}

/// Writes the results however the app ends, e.g. by a panic or without an `AppExit`.
impl Drop for FrameArenaRecorder {
    fn drop(&mut self) {
        if !self.advice.is_empty() {
            self.finish();
        }
    }
}

/// The highest figures of an interval, for one set of arenas or one of its workers or sites.
struct Line {
    arenas: String,
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
        let columns = Figures::default().named().map(|(name, _)| name).join(",");
        let columns = format!("{columns},task_arenas,task_results,task_bytes");
        format!("seconds,arenas,kind,name,{columns}\n{}", self.table)
    }

    /// Returns settings that suit the recorded run, as code to paste: the `settings` of the plugin for each
    /// set of arenas, below the number of its periods by peak.
    pub fn advice(&self) -> String {
        self.advice.iter().map(ToString::to_string).collect()
    }

    fn note(&mut self, report: &FrameArenaReport) {
        for (index, arenas) in report.iter().enumerate() {
            if self.advice.len() == index {
                self.advice.push(Advice::default());
            }
            let advice = &mut self.advice[index];
            advice.note(arenas);
            // A period is counted once, however many frames it lasts. A long one also has lines while it
            // runs, from its first allocation on.
            if let Some(news) = advice.seen.look(arenas) {
                self.note_period(arenas, &news);
            }
        }
    }

    fn note_period(&mut self, report: &ArenaReport, news: &News) {
        let (usage, mut of_all) = (news.usage, news.figures);
        // A level that ended has given back what its workers held.
        let of_workers = usage.workers.iter().map(|it| it.held_bytes).sum();
        of_all.held_bytes = of_all.held_bytes.max(of_workers);
        of_all.reserved_bytes = of_all.reserved_bytes.max(of_all.held_bytes);
        let line = self.note_line(report, Subject::All, &of_all);
        line.usage.raise(usage);
        for worker in usage.workers.iter().filter(|it| it.peak_bytes > 0) {
            let subject = Subject::Worker(Arc::clone(&worker.name));
            self.note_line(report, subject, &worker.figures);
        }
        for site in &usage.sites {
            self.note_line(report, Subject::Site(site.site), &site.figures);
        }
    }

    /// Merges figures into the open interval's line for this subject of these arenas, and returns it.
    fn note_line(
        &mut self,
        report: &ArenaReport,
        subject: Subject,
        figures: &Figures,
    ) -> &mut Line {
        let mut lines = self.open.iter();
        let known = lines.position(|it| it.arenas == report.prefix && it.subject == subject);
        let index = known.unwrap_or_else(|| {
            self.open.push(Line {
                arenas: report.prefix.clone(),
                subject,
                usage: FrameUsage::default(),
            });
            self.open.len() - 1
        });
        let line = &mut self.open[index];
        line.usage.figures.merge(figures);
        line
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
            let arenas = field(&line.arenas);
            self.table += &format!("{end:.3},{arenas},{kind},{name}");
            let usage = line.usage;
            for (_, figure) in usage.named() {
                self.table += &format!(",{figure}");
            }
            let (tasks, results) = (usage.task_arenas, usage.task_results);
            self.table += &format!(",{tasks},{results},{}\n", usage.task_bytes);
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
