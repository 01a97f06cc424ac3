//! The block of one set of arenas.
#![forbid(unsafe_code)]

use std::mem;
use std::time::Duration;

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ecs::name::Name;
use bevy_ui::prelude::{AlignItems, Node};

use super::graph::Graph;
use super::grid::Grid;
use super::history::History;
use super::painter::{Painter, percent};
use super::parts::{
    Builder, FAINT_TEXT, LETTER_EM, LINE_EM, PEAK, RESERVED, TRACK, USED, WIDTH_EM,
};
use super::problem_list::ProblemList;
use super::site_rows::SiteRows;
use crate::app::{ArenaReport, Bytes, Count};
use crate::sites;

/// Lines for problems, in a block with details and without.
const PROBLEM_LINES: [usize; 2] = [3, 1];

/// The block of one set of arenas: numbers and a bar, problems, and, for the frame's, details.
pub(super) struct Block {
    period: Entity,
    used: Figure,
    peak: Figure,
    reserved: Figure,
    budget: Entity,
    details: Option<Details>,
    problems: ProblemList,
    /// How many periods had ended at the last picture.
    periods: u64,
}

/// A number, and its part of the bar.
struct Figure {
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
    /// Spawns the block; with places for workers, it has details.
    pub(super) fn spawn(
        builder: &mut Builder,
        window: Entity,
        report: &ArenaReport,
        worker_places: Option<usize>,
    ) -> Self {
        let prefix = report.prefix.as_str();
        let block = builder.column(window);
        builder
            .commands
            .entity(block)
            .insert(Name::new(prefix.to_owned()));
        let row = builder.row(block, LINE_EM);
        builder.caption(row, &report.label, builder.color);
        let period = builder.text_to_the_right(row, format!("{prefix}/period"), 30.0);

        let row = builder.row(block, LINE_EM);
        let used = figure_text(builder, row, format!("{prefix}/used"), 13.0, USED);
        let peak = figure_text(builder, row, format!("{prefix}/peak"), 13.0, PEAK);
        let reserved = figure_text(builder, row, format!("{prefix}/reserved"), 17.0, RESERVED);
        let budget = figure_text(builder, row, format!("{prefix}/budget"), 15.0, TRACK);

        let track = Node {
            width: builder.px(WIDTH_EM),
            height: builder.px(0.7),
            flex_shrink: 0.0,
            ..Node::default()
        };
        let track = builder.node(block, track, TRACK);
        // Those in front come last.
        let reserved = Figure {
            text: reserved,
            fill: builder.fill(track, format!("{prefix}/reserved/bar"), RESERVED),
        };
        let peak = Figure {
            text: peak,
            fill: builder.fill(track, format!("{prefix}/peak/bar"), PEAK),
        };
        let used = Figure {
            text: used,
            fill: builder.fill(track, format!("{prefix}/used/bar"), USED),
        };
        let details = worker_places.map(|places| Details {
            more: builder.text(block, format!("{prefix}/more"), WIDTH_EM / LETTER_EM),
            graph: Graph::spawn(builder, block, prefix),
            grid: Grid::spawn(builder, block, prefix, places),
            sites: sites::IS_ON.then(|| SiteRows::spawn(builder, block, prefix)),
        });
        let lines = PROBLEM_LINES[usize::from(details.is_none())];
        Self {
            period,
            used,
            peak,
            reserved,
            budget,
            details,
            problems: ProblemList::spawn(builder, block, prefix, lines),
            periods: 0,
        }
    }

    /// Shows the figures of the last period, and of the last seconds.
    pub(super) fn draw(
        &mut self,
        painter: &mut Painter,
        report: &ArenaReport,
        history: &History,
        interval: Duration,
    ) {
        let usage = &report.usage;
        self.draw_period(painter, report);
        let budget = report.settings.budget_bytes;
        let whole = budget.unwrap_or(usage.reserved_bytes);
        for (figure, word, bytes) in [
            (&self.used, "used", usage.used_bytes),
            (&self.peak, "peak", usage.peak_bytes),
            (&self.reserved, "reserved", usage.reserved_bytes),
        ] {
            painter.text(figure.text, format_args!("{word} {}", Bytes(bytes)));
            painter.width(figure.fill, percent(bytes, whole));
        }
        match budget {
            Some(bytes) => painter.text(self.budget, format_args!("budget {}", Bytes(bytes))),
            None => painter.text(self.budget, "no budget"),
        }
        if let Some(details) = &mut self.details {
            details.draw(painter, report, history, interval);
        }
        self.problems.draw(painter, history, interval.as_secs_f32());
    }

    /// Shows which period the figures are of; of one that goes on for longer, what it has used so far.
    fn draw_period(&mut self, painter: &mut Painter, report: &ArenaReport) {
        let ArenaReport {
            usage,
            periods,
            so_far,
            ..
        } = report;
        let goes_on = mem::replace(&mut self.periods, *periods) == *periods;
        if goes_on && so_far.used_bytes > 0 {
            let used = Bytes(so_far.used_bytes);
            return painter.text(self.period, format_args!("period {periods}: {used} so far"));
        }
        let workers = Count(usage.active_workers as u64, "worker");
        let period = match self.details {
            Some(_) => "frame",
            None => "period",
        };
        let number = usage.frame;
        painter.text(self.period, format_args!("{workers}, {period} {number}"));
    }
}

impl Details {
    fn draw(
        &mut self,
        painter: &mut Painter,
        report: &ArenaReport,
        history: &History,
        interval: Duration,
    ) {
        let usage = &report.usage;
        painter.text_color(self.more, FAINT_TEXT);
        painter.text(
            self.more,
            format_args!(
                "highest so far {}, scratch {}, {}, {} parked",
                Bytes(usage.high_watermark_bytes),
                Bytes(usage.scratch_high_watermark_bytes),
                Count(usage.generations as u64, "generation"),
                usage.parked,
            ),
        );
        self.graph.draw(painter, history, interval);
        self.grid.draw(painter, report);
        if let Some(sites) = &self.sites {
            sites.draw(painter, usage);
        }
    }
}

/// Spawns a number beside the colour that it has in the bar.
fn figure_text(
    builder: &mut Builder,
    row: Entity,
    name: String,
    letters: f32,
    color: Color,
) -> Entity {
    let cell = Node {
        align_items: AlignItems::Center,
        column_gap: builder.px(0.3),
        flex_shrink: 0.0,
        ..Node::default()
    };
    let cell = builder.node(row, cell, Color::NONE);
    builder.swatch(cell, color);
    builder.text(cell, name, letters)
}
