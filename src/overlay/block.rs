//! The block of one set of arenas.
#![forbid(unsafe_code)]

use std::mem;

use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_ui::prelude::{AlignItems, Node, UiRect};

use super::graph::{Graph, History};
use super::parts::{
    Builder, FAINT_TEXT, LETTER_EM, LINE_EM, LINE_LETTERS, PEAK, Painter, RESERVED, USED, WIDTH_EM,
    percent,
};
use super::problems::ProblemList;
use super::sites::SiteRows;
use super::workers::Grid;
use crate::app::{ArenaReport, Bytes};
use crate::arenas::FrameUsage;
use crate::error::Count;
use crate::sites;

/// The number of problems shown at once: for the frame's arenas, and for others.
const PROBLEMS: [usize; 2] = [3, 1];

/// Letters of the bar's maximum: `highest 1023 KiB`.
const WHOLE_LETTERS: f32 = 16.0;

/// Words, letters and colours of the numbers, from the right to the left: the last one is in front of the
/// others in the bar.
const FIGURES: [(&str, f32, Color); 3] = [
    ("reserved", 17.0, RESERVED),
    ("peak", 13.0, PEAK),
    ("used", 13.0, USED),
];

/// The block of one set of arenas: numbers, a bar, tasks, problems and, for the frame's arenas, details.
pub(super) struct Block {
    root: Entity,
    /// Whether these are the frame's arenas.
    is_first: bool,
    period: Entity,
    figures: [Figure; 3],
    whole: Entity,
    tasks: Entity,
    details: Option<Details>,
    problems: ProblemList,
    /// The number of periods that had ended at the last update.
    periods: u64,
}

/// A number, the square of its colour, and its part of the bar.
struct Figure {
    square: Entity,
    text: Entity,
    fill: Entity,
}

struct Details {
    more: Entity,
    graph: Graph,
    grid: Grid,
    /// With the feature `sites`.
    sites: Option<SiteRows>,
}

impl Block {
    /// Spawns the block, with details if there are places for workers.
    pub(super) fn spawn(
        builder: &mut Builder,
        contents: Entity,
        report: &ArenaReport,
        is_first: bool,
        worker_places: Option<usize>,
    ) -> Self {
        builder.prefix.clone_from(&report.prefix);
        let root = match is_first {
            // The rows of the first block are those of the window, so that its grid can shrink.
            true => contents,
            false => {
                let node = Node {
                    margin: UiRect::top(builder.px(0.4)),
                    ..builder.column()
                };
                builder.node(contents, node, Color::NONE)
            }
        };
        let name = Name::new(report.prefix.clone());
        builder.commands.entity(root).insert(name);
        let row = builder.row(root, LINE_EM);
        builder.caption(row, &report.label, builder.color);
        let period = builder.free_text(row, "period", builder.color);

        let numbers = builder.row(root, LINE_EM);
        let row = builder.row(root, LINE_EM);
        let track = builder.track(row, WIDTH_EM - WHOLE_LETTERS * LETTER_EM - 0.5);
        let figures = FIGURES.map(|it| Figure::spawn(builder, numbers, track, it));
        let whole = builder.free_text(row, "whole", FAINT_TEXT);
        let tasks = builder.text(root, "tasks", LINE_LETTERS, builder.color);
        let details = worker_places.map(|places| Details {
            more: builder.text(root, "more", LINE_LETTERS, FAINT_TEXT),
            graph: Graph::spawn(builder, root),
            grid: Grid::spawn(builder, root, places),
            sites: sites::IS_ON.then(|| SiteRows::spawn(builder, root)),
        });
        let problems = PROBLEMS[usize::from(!is_first)];
        Self {
            root,
            is_first,
            period,
            figures,
            whole,
            tasks,
            details,
            problems: ProblemList::spawn(builder, root, problems),
            periods: 0,
        }
    }

    /// Shows the figures of the last period, and of the last seconds.
    pub(super) fn draw(&mut self, painter: &mut Painter, report: &ArenaReport, history: &History) {
        painter.show(self.root, self.is_first || report.is_used());
        let usage = self.draw_period(painter, report);
        let budget = report.settings.budget_bytes;
        let (word, whole) = match budget {
            Some(budget) => ("budget", budget),
            None => ("highest", usage.high_watermark_bytes),
        };
        painter.text(self.whole, format_args!("{word} {}", Bytes(whole)));
        let [reserved, peak, used] = &self.figures;
        used.draw(painter, "used", usage.used_bytes, whole);
        peak.draw(painter, "peak", usage.peak_bytes, whole);
        // Without a budget it is not in the bar, which it would always fill.
        let whole = budget.unwrap_or(0);
        reserved.draw(painter, "reserved", usage.reserved_bytes, whole);
        painter.show(reserved.square, budget.is_some());
        self.draw_tasks(painter, usage);
        if let Some(details) = &mut self.details {
            details.draw(painter, report, history);
        }
        self.problems.draw(painter, history);
    }

    /// Shows the period whose figures are shown, and returns them: those of the last period or, if none has
    /// ended since the last update, of the running one.
    fn draw_period<'a>(
        &mut self,
        painter: &mut Painter,
        report: &'a ArenaReport,
    ) -> &'a FrameUsage {
        let is_old = mem::replace(&mut self.periods, report.periods) == report.periods;
        if is_old && report.is_running() {
            let so_far = &report.so_far;
            painter.text(self.period, format_args!("period {} so far", so_far.period));
            return so_far;
        }
        let usage = &report.usage;
        let workers = Count(usage.active_workers as u64, "worker");
        let word = if self.is_first { "frame" } else { "period" };
        let number = usage.period;
        painter.text(self.period, format_args!("{workers}, {word} {number}"));
        usage
    }

    /// Shows the number of tasks and results and the memory they hold, if there are any.
    fn draw_tasks(&self, painter: &mut Painter, usage: &FrameUsage) {
        let (tasks, results) = (usage.task_arenas, usage.task_results);
        painter.show(self.tasks, tasks + results > 0);
        painter.text(
            self.tasks,
            format_args!(
                "{}, {}: {}",
                Count(tasks as u64, "task"),
                Count(results as u64, "result"),
                Bytes(usage.task_bytes)
            ),
        );
    }
}

impl Figure {
    /// Spawns a number beside its colour, and its bar.
    fn spawn(
        builder: &mut Builder,
        numbers: Entity,
        track: Entity,
        (word, letters, color): (&str, f32, Color),
    ) -> Self {
        let cell = Node {
            align_items: AlignItems::Center,
            column_gap: builder.px(0.3),
            flex_shrink: 0.0,
            ..Node::default()
        };
        let cell = builder.node(numbers, cell, Color::NONE);
        builder.commands.entity(numbers).insert_child(0, cell);
        let square = builder.fixed(0.8, 0.8);
        Self {
            square: builder.node(cell, square, color),
            text: builder.text(cell, word, letters, builder.color),
            fill: builder.fill(track, word, color),
        }
    }

    fn draw(&self, painter: &mut Painter, word: &str, bytes: usize, whole: usize) {
        painter.text(self.text, format_args!("{word} {}", Bytes(bytes)));
        painter.width(self.fill, percent(bytes, whole));
    }
}

impl Details {
    fn draw(&mut self, painter: &mut Painter, report: &ArenaReport, history: &History) {
        let usage = &report.usage;
        let scratch = Bytes(usage.scratch_high_watermark_bytes);
        let (parked, all) = (usage.parked, usage.generations);
        let highest = Bytes(usage.high_watermark_bytes);
        match report.settings.budget_bytes {
            Some(_) => painter.text(
                self.more,
                format_args!("highest {highest}, scratch {scratch}, {parked} of {all} parked"),
            ),
            // The bar has the highest peak.
            None => painter.text(
                self.more,
                format_args!("scratch {scratch}, {parked} of {all} generations parked"),
            ),
        }
        self.graph.draw(painter, history);
        self.grid.draw(painter, report);
        if let Some(sites) = &self.sites {
            sites.draw(painter, usage);
        }
    }
}
