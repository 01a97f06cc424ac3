//! The block of one set of arenas: numbers, a bar, tasks, problems and, for the frame's arenas, details.
#![forbid(unsafe_code)]

use bevy_color::Color;
use bevy_ui::prelude::*;

use super::graph::{self, History};
use super::parts::{
    FAINT_TEXT, LETTER_EM, LINE_LETTERS, PEAK, Painter, RESERVED, USED, WARNING_TEXT, WIDTH_EM,
    display, percent,
};
use super::workers;
use crate::app::{ArenaReport, Bytes, Kind, Problem};
use crate::arenas::FrameUsage;
use crate::error::Count;
use crate::figures::Figures;
use crate::sites;

/// The number of problems shown at once: for the frame's arenas, and for others.
const PROBLEMS: [usize; 2] = [3, 1];

/// Letters of the bar's maximum: `highest 1023 KiB`.
const WHOLE_LETTERS: f32 = 16.0;

/// Describes the figures of the last period, and of the last seconds.
pub(super) fn draw(
    painter: &mut Painter,
    report: &ArenaReport,
    history: &mut History,
    is_first: bool,
) {
    let text_color = painter.config.text_color;
    // The figures of the running period are shown if none has ended since the last update.
    let (usage, period) = match history.is_running(report) {
        true => {
            let period = report.so_far.period;
            (&report.so_far, format!("period {period} so far"))
        }
        false => {
            let workers = Count(report.usage.active_workers as u64, "worker");
            let word = if is_first { "frame" } else { "period" };
            let period = report.usage.period;
            (&report.usage, format!("{workers}, {word} {period}"))
        }
    };
    painter.row(|row| {
        row.free_text("caption", text_color, &report.label);
        row.free_text("period", text_color, period);
    });
    draw_numbers(painter, usage, report.settings.budget_bytes);
    let (tasks, results) = (usage.task_arenas as u64, usage.task_results as u64);
    let tasks = (tasks + results > 0).then(|| {
        let (tasks, results) = (Count(tasks, "task"), Count(results, "result"));
        format!("{tasks}, {results}: {}", Bytes(usage.task_bytes))
    });
    painter.line("tasks", LINE_LETTERS, text_color, tasks);
    if is_first && painter.config.details {
        let more = more(report);
        painter.line("more", LINE_LETTERS, FAINT_TEXT, Some(more));
        graph::draw(painter, history);
        workers::draw(painter, report);
        if sites::IS_ON {
            draw_sites(painter, &report.usage);
        }
    }
    let (sum, seconds) = (history.sum(), graph::seconds(painter.config));
    let mut problems = history.problems();
    for index in 0..PROBLEMS[usize::from(!is_first)] {
        let problem = problems.next();
        let mut line = |part: &str, text| {
            let name = format_args!("problems/{index}/{part}");
            painter.line(name, LINE_LETTERS, WARNING_TEXT, text);
        };
        line("what", problem.map(|problem| what(problem, &sum, seconds)));
        line("cure", problem.map(|problem| format!("  {}", problem.cure)));
    }
}

/// Describes the used, peak and reserved memory, as numbers and as a bar. Without a budget, reserved memory is
/// not in the bar, which it would always fill.
fn draw_numbers(painter: &mut Painter, usage: &FrameUsage, budget: Option<usize>) {
    let (word, whole) = match budget {
        Some(budget) => ("budget", budget),
        None => ("highest", usage.high_watermark_bytes),
    };
    let numbers = [
        ("used", usage.used_bytes, 13.0, USED),
        ("peak", usage.peak_bytes, 13.0, PEAK),
        ("reserved", usage.reserved_bytes, 17.0, RESERVED),
    ];
    let is_in_bar = |word| word != "reserved" || budget.is_some();
    painter.row(|row| {
        for (word, bytes, letters, color) in numbers {
            let cell = Node {
                align_items: AlignItems::Center,
                column_gap: row.px(0.3),
                flex_shrink: 0.0,
                ..Node::default()
            };
            row.group("number", cell, Color::NONE, |cell| {
                let square = Node {
                    display: display(is_in_bar(word)),
                    ..cell.fixed(0.8, 0.8)
                };
                cell.part("square", square, color);
                let text = format_args!("{word} {}", Bytes(bytes));
                cell.line(word, letters, cell.config.text_color, Some(text));
            });
        }
    });
    painter.row(|row| {
        row.bar(WIDTH_EM - WHOLE_LETTERS * LETTER_EM - 0.5, |bar| {
            // The last one is in front of the others.
            for (word, bytes, _, color) in numbers.into_iter().rev() {
                let bytes = if is_in_bar(word) { bytes } else { 0 };
                bar.fill(word, percent(bytes, whole), color);
            }
        });
        let whole = format_args!("{word} {}", Bytes(whole));
        row.free_text("whole", FAINT_TEXT, whole);
    });
}

/// Returns the figures that are shown only as details.
fn more(report: &ArenaReport) -> String {
    let usage = &report.usage;
    let (parked, all) = (usage.parked, usage.generations);
    let highest = Bytes(usage.high_watermark_bytes);
    let scratch = Bytes(usage.scratch_high_watermark_bytes);
    match report.settings.budget_bytes {
        Some(_) => format!("highest {highest}, scratch {scratch}, {parked} of {all} parked"),
        // The bar has the highest peak.
        None => format!("scratch {scratch}, {parked} of {all} generations parked"),
    }
}

/// The number of sites shown.
const SITES: usize = 3;

/// Letters of a row with a site: the bytes, and the end of the place.
const SITE_LETTERS: usize = 40;

/// Letters of the place.
const PLACE_LETTERS: usize = SITE_LETTERS - "1023 KiB at ".len();

/// Describes the lines of code that took the most memory, each with a bar: its part of the used memory.
fn draw_sites(painter: &mut Painter, usage: &FrameUsage) {
    let mut sites = usage.sites.iter().filter(|site| site.used_bytes > 0);
    for index in 0..SITES {
        let site = sites.next();
        let bytes = site.map_or(0, |site| site.used_bytes);
        let text = site.map_or(String::new(), |site| {
            let place = site.site.to_string();
            // The end of a place is more useful than its beginning.
            let mut letters = place.char_indices().rev();
            let start = letters.nth(PLACE_LETTERS - 1).map_or(0, |(start, _)| start);
            format!("{} at {}", Bytes(bytes), &place[start..])
        });
        painter.row(|row| {
            let name = format_args!("site/{index}");
            let color = row.config.text_color;
            row.line(name, SITE_LETTERS as f32, color, Some(text));
            row.bar(WIDTH_EM - SITE_LETTERS as f32 * LETTER_EM, |bar| {
                bar.fill(name, percent(bytes, usage.used_bytes), USED);
            });
        });
    }
}

/// Returns a problem in short; the log has the full text.
fn what(problem: &Problem, sum: &Figures, seconds: f32) -> String {
    let short = &problem.short;
    let (refusals, panics) = (sum.refusals, sum.stale_panics);
    match problem.kind {
        Kind::Refused => format!("! REFUSED {refusals} in {seconds:.0} s: {short}"),
        Kind::Stale => format!("! STALE {panics} panics in {seconds:.0} s{short}"),
        _ => format!("! {short}"),
    }
}
