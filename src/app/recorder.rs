//! The figures of a whole run, for choosing settings.
#![forbid(unsafe_code)]

mod advice;
mod picture;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, mem};

use bevy_app::{App, AppExit, Last, Plugin};
use bevy_ecs::message::MessageReader;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Local, Res, ResMut};
use bevy_time::{Real, Time};
use tracing::{info, warn};

use self::advice::Advice;
use super::clock::{Timer, now};
use super::report::{ArenaReport, FrameArenaReport, WithoutReport};
use crate::sites::Site;

/// Records what all arenas use over a run, and says at the end which settings would suit it.
///
/// Play a session with it; when the app exits, it logs settings as code to paste, and writes a table
/// and a picture where files are named for them. Ask [`FrameArenaRecorder`] for any of them at any time.
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
/// assert!(recorder.csv().lines().nth(1).unwrap().contains("frame_arena,all"));
/// assert!(recorder.advice().contains("worker_capacity_bytes: 128 << 10"));
/// ```
pub struct FrameArenaRecorderPlugin {
    /// The file for the table, as CSV, written when the app exits. Default: none.
    pub file: Option<PathBuf>,
    /// The file for the picture, as SVG, written when the app exits. Default: none.
    pub picture: Option<PathBuf>,
    /// The time that a line of the table stands for: it has the highest figures of its frames.
    /// Default: a second.
    pub interval: Duration,
}

impl Default for FrameArenaRecorderPlugin {
    fn default() -> Self {
        Self {
            file: None,
            picture: None,
            interval: Duration::from_secs(1),
        }
    }
}

impl Plugin for FrameArenaRecorderPlugin {
    fn build(&self, app: &mut App) {
        let interval = self.interval;
        let (table, picture) = (self.file.clone(), self.picture.clone());
        let mut without = WithoutReport::default();
        let record = move |report: Option<Res<FrameArenaReport>>,
                           time: Option<Res<Time<Real>>>,
                           mut timer: Local<Timer>,
                           mut exits: MessageReader<AppExit>,
                           recorder: Option<ResMut<FrameArenaRecorder>>| {
            let Some(report) = report.filter(|it| !it.is_empty()) else {
                return without.tell("FrameArenaRecorderPlugin");
            };
            let Some(mut recorder) = recorder else { return };
            let exits = exits.read().next().is_some();
            recorder.note(&report);
            if timer.is_due(now(time.as_deref()), interval) || exits {
                let elapsed = time.map_or(Duration::ZERO, |time| time.elapsed());
                recorder.end_interval(elapsed);
            }
            if exits {
                recorder.finish(table.as_deref(), picture.as_deref());
            }
        };
        app.init_resource::<FrameArenaRecorder>()
            .add_message::<AppExit>()
            .add_systems(Last, record);
    }
}

/// What all arenas used so far: see [`FrameArenaRecorderPlugin`].
#[derive(Resource, Default)]
pub struct FrameArenaRecorder {
    lines: Vec<(Duration, Line)>,
    /// Those of the interval that has not ended.
    open: Vec<Line>,
    advice: Vec<Advice>,
}

/// The highest figures of an interval, of one set of arenas or of one worker or site in it.
#[derive(Clone)]
struct Line {
    arenas: Arc<str>,
    subject: Subject,
    used_bytes: usize,
    peak_bytes: usize,
    /// What is reserved for all together; the capacity of one worker.
    held_bytes: usize,
    overflows: u64,
    refusals: u64,
    stale_lookups: u64,
}

/// Whose figures they are.
#[derive(Clone, PartialEq, Eq)]
enum Subject {
    All,
    /// Of the threads with a name.
    Worker(Arc<str>),
    Site(Site),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Worker(name) => f.write_str(name),
            Self::Site(site) => site.fmt(f),
        }
    }
}

const HEADER: &str = "seconds,arenas,worker,used_bytes,peak_bytes,reserved_bytes,overflows,\
                      refusals,stale_lookups\n";

impl FrameArenaRecorder {
    /// Returns the table: a line for each interval and set of arenas, with the worker `all`, and
    /// one for each worker that was busy in it. With the feature `sites` also one for each line of
    /// code that took memory, as `src/cull.rs:12`. If several periods ended in a frame, as fixed steps
    /// may, the last one counts.
    pub fn csv(&self) -> String {
        let mut table = String::from(HEADER);
        for (end, line) in &self.lines {
            // A name may contain anything.
            let worker = line.subject.to_string().replace(['"', ',', '\n'], " ");
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{:.3},{},{worker},{},{},{},{},{},{}",
                end.as_secs_f64(),
                line.arenas,
                line.used_bytes,
                line.peak_bytes,
                line.held_bytes,
                line.overflows,
                line.refusals,
                line.stale_lookups,
            );
        }
        table
    }

    /// Returns a picture, as SVG: over the time of the run, the peak of each set of arenas and what it
    /// used, and the peaks of its busiest workers. With the feature `sites` also those of
    /// the sites that took most.
    pub fn svg(&self) -> String {
        picture::picture(&self.lines)
    }

    /// Returns settings that would suit what was recorded, as code to paste.
    pub fn advice(&self) -> String {
        self.advice.iter().map(ToString::to_string).collect()
    }

    fn note(&mut self, report: &FrameArenaReport) {
        for (index, arenas) in report.iter().enumerate() {
            if self.advice.len() == index {
                self.advice.push(Advice::of(&arenas.label));
            }
            let advice = &mut self.advice[index];
            let is_new = advice.note(arenas);
            // The figures of a period are counted once, however many frames it lasts.
            if is_new {
                self.note_lines(arenas);
            }
        }
    }

    fn note_lines(&mut self, report: &ArenaReport) {
        let usage = &report.usage;
        let line = self.line(&report.prefix, Subject::All);
        line.used_bytes = line.used_bytes.max(usage.used_bytes);
        line.peak_bytes = line.peak_bytes.max(usage.peak_bytes);
        line.held_bytes = line.held_bytes.max(usage.reserved_bytes);
        line.overflows += u64::from(usage.overflows);
        line.refusals += u64::from(usage.refusals);
        line.stale_lookups += usage.stale_lookups;
        for worker in usage.workers.iter().filter(|it| it.peak_bytes > 0) {
            let line = self.line(&report.prefix, Subject::Worker(Arc::clone(&worker.name)));
            line.used_bytes = line.used_bytes.max(worker.used_bytes);
            line.peak_bytes = line.peak_bytes.max(worker.peak_bytes);
            line.held_bytes = line.held_bytes.max(worker.capacity_bytes);
            line.overflows += u64::from(worker.overflows);
        }
        for site in usage.sites.iter() {
            let line = self.line(&report.prefix, Subject::Site(site.site));
            line.used_bytes = line.used_bytes.max(site.used_bytes);
            line.peak_bytes = line.peak_bytes.max(site.peak_bytes);
            line.refusals += u64::from(site.refusals);
            line.stale_lookups += site.stale_lookups;
        }
    }

    /// Returns the line of the open interval for this part of these arenas.
    fn line(&mut self, arenas: &str, subject: Subject) -> &mut Line {
        let is_it = |it: &Line| *it.arenas == *arenas && it.subject == subject;
        let known = self.open.iter().position(is_it);
        let index = known.unwrap_or_else(|| {
            self.open.push(Line {
                arenas: Arc::from(arenas),
                subject,
                used_bytes: 0,
                peak_bytes: 0,
                held_bytes: 0,
                overflows: 0,
                refusals: 0,
                stale_lookups: 0,
            });
            self.open.len() - 1
        });
        &mut self.open[index]
    }

    fn end_interval(&mut self, end: Duration) {
        let lines = mem::take(&mut self.open);
        self.lines.extend(lines.into_iter().map(|line| (end, line)));
    }

    fn finish(&self, table: Option<&Path>, picture: Option<&Path>) {
        info!("settings that would suit this run:\n{}", self.advice());
        if let Some(file) = table {
            write_file(file, &self.csv());
        }
        if let Some(file) = picture {
            write_file(file, &self.svg());
        }
    }
}

fn write_file(file: &Path, text: &str) {
    if let Err(error) = fs::write(file, text) {
        let file = file.display();
        warn!("the record of the run could not be written to `{file}`: {error}");
    }
}
