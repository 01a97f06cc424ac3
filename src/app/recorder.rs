//! The figures of a whole run, for choosing settings.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, mem};

use bevy_app::{App, AppExit, Last, Plugin};
use bevy_ecs::message::MessageReader;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::{Local, Res, ResMut};
use bevy_time::{Real, Time};
use tracing::{info, warn};

use super::Bytes;
use super::clock::{Timer, now};
use super::log::Count;
use super::problems::enough_for;
use super::report::{ArenaReport, FrameArenaReport, WithoutReport};
use crate::figures::Figures;
use crate::settings::FrameArenaSettings;
use crate::sites::Site;

/// Records what all arenas use over a run, and says at the end which settings would suit it.
///
/// Play a session with it; when the app exits, panics, or is dropped, it logs settings as code to paste,
/// and writes a table if a file is named for it. Ask [`FrameArenaRecorder`] for either at any time.
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
    /// The file for the table, as CSV, written when the app ends. Default: none.
    pub file: Option<PathBuf>,
    /// The time that a line of the table stands for: it has the highest figures of its frames.
    /// Default: a second.
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
        app.insert_resource(FrameArenaRecorder {
            file: self.file.clone(),
            interval: self.interval,
            lines: Vec::new(),
            open: Vec::new(),
            advice: Vec::new(),
            elapsed: Duration::ZERO,
            is_finished: false,
        })
        .add_message::<AppExit>()
        .add_systems(Last, record);
    }
}

fn record(
    report: Option<Res<FrameArenaReport>>,
    time: Option<Res<Time<Real>>>,
    recorder: Option<ResMut<FrameArenaRecorder>>,
    mut exits: MessageReader<AppExit>,
    mut timer: Local<Timer>,
    mut without: Local<WithoutReport>,
) {
    let Some(report) = report.filter(|it| !it.is_empty()) else {
        return without.tell("FrameArenaRecorderPlugin");
    };
    let Some(mut recorder) = recorder else { return };
    let exits = exits.read().next().is_some();
    recorder.note(&report);
    recorder.elapsed = time.as_ref().map_or(Duration::ZERO, |time| time.elapsed());
    if timer.is_due(now(time.as_deref()), recorder.interval) {
        recorder.end_interval();
    }
    if exits {
        recorder.finish();
    }
}

/// What all arenas used so far: see [`FrameArenaRecorderPlugin`].
#[derive(Resource, Default)]
pub struct FrameArenaRecorder {
    file: Option<PathBuf>,
    interval: Duration,
    lines: Vec<(Duration, Line)>,
    /// Those of the interval that has not ended.
    open: Vec<Line>,
    advice: Vec<Advice>,
    /// The time of the last frame that was noted.
    elapsed: Duration,
    /// Whether the run was written.
    is_finished: bool,
}

/// The world goes, by whatever way the app ends: a panic, or an exit that nobody announced.
impl Drop for FrameArenaRecorder {
    fn drop(&mut self) {
        if !self.advice.is_empty() {
            self.finish();
        }
    }
}

/// The highest figures of an interval, of one set of arenas or of one worker or site in it.
#[derive(Clone)]
struct Line {
    arenas: Arc<str>,
    subject: Subject,
    figures: Figures,
}

/// Whose figures they are.
#[derive(Clone, PartialEq, Eq)]
enum Subject {
    All,
    /// Of the threads with a name.
    Worker(Arc<str>),
    Site(Site),
}

impl Subject {
    fn kind(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Worker(_) => "worker",
            Self::Site(_) => "site",
        }
    }
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

/// A field of a table as RFC 4180 has it: a thread may have any name.
struct Field<'a>(&'a str);

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = *self;
        match text.contains(['"', ',', '\r', '\n']) {
            true => write!(f, "\"{}\"", text.replace('"', "\"\"")),
            false => f.write_str(text),
        }
    }
}

const HEADER: &str = "seconds,arenas,kind,name,used_bytes,peak_bytes,held_bytes,reserved_bytes,\
                      refusals,stale_lookups,stale_panics\n";

impl FrameArenaRecorder {
    /// Returns the table, as CSV by RFC 4180: a line for each interval and set of arenas, of the kind
    /// `all`, and one of the kind `worker` for each that was busy in it. With the feature `sites` also
    /// one of the kind `site` for each line of code that took memory, as `src/cull.rs:12`. If several periods ended in a frame, as fixed steps
    /// may, the last one counts.
    pub fn csv(&self) -> String {
        let mut table = String::from(HEADER);
        for (end, line) in &self.lines {
            let (arenas, kind) = (Field(&line.arenas), line.subject.kind());
            let name = line.subject.to_string();
            let name = Field(&name);
            let Figures {
                used_bytes,
                peak_bytes,
                held_bytes,
                reserved_bytes,
                refusals,
                stale_lookups,
                stale_panics,
            } = line.figures;
            // Writing to a string does not fail.
            let _ = writeln!(
                table,
                "{:.3},{arenas},{kind},{name},{used_bytes},{peak_bytes},{held_bytes},\
                 {reserved_bytes},{refusals},{stale_lookups},{stale_panics}",
                end.as_secs_f64(),
            );
        }
        table
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
        self.note_line(report, Subject::All, &usage.figures);
        for worker in usage.workers.iter().filter(|it| it.peak_bytes > 0) {
            let subject = Subject::Worker(Arc::clone(&worker.name));
            self.note_line(report, subject, &worker.figures);
        }
        for site in &usage.sites {
            self.note_line(report, Subject::Site(site.site), &site.figures);
        }
    }

    /// Adds figures to the line of the open interval for this part of these arenas.
    fn note_line(&mut self, report: &ArenaReport, subject: Subject, figures: &Figures) {
        let is_it = |it: &&mut Line| *it.arenas == *report.prefix && it.subject == subject;
        match self.open.iter_mut().find(is_it) {
            Some(line) => line.figures.merge(figures),
            None => self.open.push(Line {
                arenas: Arc::from(&*report.prefix),
                subject,
                figures: *figures,
            }),
        }
    }

    fn end_interval(&mut self) {
        let end = self.elapsed;
        let lines = mem::take(&mut self.open);
        self.lines.extend(lines.into_iter().map(|line| (end, line)));
    }

    /// Writes what there is, once.
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

/// What is to be known of a run for choosing settings.
struct Advice {
    label: String,
    settings: FrameArenaSettings,
    periods: u64,
    /// The highest peak of one worker.
    worker_peak_bytes: usize,
    /// The largest allocation that was refused.
    refused_bytes: usize,
    reserved_bytes: usize,
    scratch_bytes: usize,
    workers: usize,
    generations: usize,
}

impl Advice {
    fn of(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            settings: FrameArenaSettings::default(),
            periods: 0,
            worker_peak_bytes: 0,
            refused_bytes: 0,
            reserved_bytes: 0,
            scratch_bytes: 0,
            workers: 0,
            generations: 0,
        }
    }

    /// Notes the figures of the last period, and returns whether it is a new one.
    fn note(&mut self, report: &ArenaReport) -> bool {
        let usage = &report.usage;
        let is_new = self.periods != report.periods;
        self.periods = report.periods;
        self.settings.clone_from(&report.settings);
        // Not the peak of the last period: several may have ended in a frame.
        let peaks = usage.workers.iter().map(|it| it.high_watermark_bytes);
        self.worker_peak_bytes = peaks.fold(self.worker_peak_bytes, usize::max);
        self.refused_bytes = usage.largest_refusal_bytes;
        self.reserved_bytes = self.reserved_bytes.max(usage.reserved_bytes);
        self.scratch_bytes = self.scratch_bytes.max(usage.scratch_high_watermark_bytes);
        self.workers = self.workers.max(usage.workers.len());
        self.generations = self.generations.max(usage.generations);
        is_new
    }

    /// Returns a budget with some room above what was reserved, and for what was refused.
    fn budget_bytes(&self) -> usize {
        enough_for(self.reserved_bytes.saturating_add(self.refused_bytes))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, periods) = (&self.label, Count(self.periods, "period"));
        if self.worker_peak_bytes == 0 && self.refused_bytes == 0 {
            return writeln!(f, "// {label}: not used in {periods}");
        }
        writeln!(f, "// {label}, after {periods}")?;
        writeln!(f, "FrameArenaSettings {{")?;
        writeln!(
            f,
            "    // The busiest worker took {}.",
            Bytes(self.worker_peak_bytes)
        )?;
        if self.refused_bytes > 0 {
            writeln!(
                f,
                "    // A limit refused allocations of up to {}.",
                Bytes(self.refused_bytes)
            )?;
        }
        writeln!(
            f,
            "    // {}, {}; {} were reserved.",
            Count(self.workers as u64, "worker"),
            Count(self.generations as u64, "generation"),
            Bytes(self.reserved_bytes)
        )?;
        writeln!(
            f,
            "    budget_bytes: Some({}),",
            Shifted(self.budget_bytes())
        )?;
        // What the plugin of a level sets is kept.
        let (own, default) = (&self.settings, FrameArenaSettings::default());
        if own.lives_for != default.lives_for {
            writeln!(f, "    lives_for: LivesFor::{:?},", own.lives_for)?;
        }
        if own.trim_after_frames != default.trim_after_frames {
            writeln!(f, "    trim_after_frames: {:?},", own.trim_after_frames)?;
        }
        if own.block_bytes != default.block_bytes {
            writeln!(f, "    block_bytes: {},", Shifted(own.block_bytes))?;
        }
        writeln!(f, "    ..Default::default()")?;
        writeln!(f, "}}")
    }
}

/// A number of bytes as code: `2 << 20`.
struct Shifted(usize);

impl fmt::Display for Shifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        match bytes {
            bytes if bytes.is_multiple_of(1 << 20) => write!(f, "{} << 20", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(f, "{} << 10", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}
