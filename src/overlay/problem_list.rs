//! What is wrong, in words.
#![forbid(unsafe_code)]

use std::fmt;

use bevy_ecs::entity::Entity;

use super::history::{History, SLOTS};
use super::names::ShortName;
use super::painter::Painter;
use super::parts::{Builder, FAINT_TEXT, LETTER_EM, WARNING_TEXT, WIDTH_EM};
use crate::app::{Bytes, Cause, Problem};
use crate::figures::Figures;

/// A line for each kind of problem of the last seconds; lines without one stay free.
pub(super) struct ProblemList {
    lines: Vec<Entity>,
}

impl ProblemList {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, prefix: &str, lines: usize) -> Self {
        let letters = WIDTH_EM / LETTER_EM;
        let lines = (0..lines)
            .map(|line| builder.text(block, format!("{prefix}/problems/{line}"), letters));
        Self {
            lines: lines.collect(),
        }
    }

    pub(super) fn draw(&self, painter: &mut Painter, history: &History, interval_secs: f32) {
        let seconds = interval_secs * SLOTS as f32;
        let events = history.events();
        let count = history.problems().len();
        let mut problems = history.problems();
        for (index, &line) in self.lines.iter().enumerate() {
            let left = count.saturating_sub(index);
            let is_last = index + 1 == self.lines.len();
            painter.text_color(line, WARNING_TEXT);
            match problems.next() {
                Some(_) if is_last && left > 1 => {
                    painter.text(line, format_args!("! {left} more problems, see the log"));
                }
                Some(problem) => painter.text(
                    line,
                    InWords {
                        problem,
                        events,
                        seconds,
                    },
                ),
                None if index == 0 => {
                    painter.text(line, format_args!("no problems in {seconds:.0} s"));
                    painter.text_color(line, FAINT_TEXT);
                }
                None => painter.text(line, ""),
            }
        }
    }
}

/// A problem as short as it goes: the log has the rest.
struct InWords<'a> {
    problem: &'a Problem,
    events: Figures,
    seconds: f32,
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            problem,
            events,
            seconds,
        } = self;
        match problem {
            Problem::NearLimit {
                worker,
                peak_bytes,
                limit_bytes,
            } => write!(
                f,
                "! ABOVE 90 %: {} took {} of {}",
                ShortName::of(worker),
                Bytes(*peak_bytes),
                Bytes(*limit_bytes),
            ),
            Problem::Refused { cause, .. } => write!(
                f,
                "! REFUSED {} in {seconds:.0} s: {cause}",
                events.refusals
            ),
            Problem::Parked { generations, .. } => {
                write!(f, "! PARKED {generations} generations: leases are held")
            }
            Problem::Stale { first, .. } => {
                let panics = events.stale_panics;
                write!(
                    f,
                    "! STALE {panics} panics at old handles in {seconds:.0} s"
                )?;
                match first.map(|first| first.read_at) {
                    // The name of the file alone: there is no room for more.
                    Some(line) => {
                        let file = line.file().rsplit(['/', '\\']).next().unwrap_or_default();
                        write!(f, ", {file}:{}", line.line())
                    }
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Worker { bytes } => write!(f, "a worker may take {}", Bytes(bytes)),
            Self::Budget { bytes } => write!(f, "budget {}", Bytes(bytes)),
        }
    }
}
