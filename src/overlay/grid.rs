//! The workers, four in a row.
#![forbid(unsafe_code)]

use std::fmt;

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ui::prelude::{AlignContent, FlexWrap, Node, Overflow, PositionType, Val};

use super::names::{ShortName, natural_order};
use super::painter::{Painter, percent};
use super::parts::{Builder, FAINT_TEXT, LETTER_EM, LINE_EM, TRACK, USED, WARNING, WIDTH_EM};
use crate::app::{ArenaReport, Bytes, is_near};
use crate::arenas::WorkerUsage;

/// Workers in a row.
pub(super) const IN_A_ROW: usize = 4;

/// A worker that was idle for longer has no place of its own. Work is stolen to and fro: one that
/// has nothing to do in one frame has something in the next.
const IDLE_FRAMES: u32 = 60;

const GAP_EM: f32 = 0.3;

/// Letters of a cell: `!Render 1023 KiB`.
const CELL_LETTERS: f32 = 16.0;

/// A cell for each worker: a bar that shows which part of its limit, or of its blocks, it had in use, at its peak.
pub(super) struct Grid {
    sum: Entity,
    cells: Vec<Cell>,
    /// The workers that have a place, in their order. Kept for its memory.
    listed: Vec<usize>,
}

struct Cell {
    track: Entity,
    fill: Entity,
    text: Entity,
}

impl Grid {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, prefix: &str, places: usize) -> Self {
        let row = builder.row(block, LINE_EM);
        builder.caption(
            row,
            "peak by worker (C: compute, A: async compute)",
            FAINT_TEXT,
        );
        let sum = builder.text_to_the_right(row, format!("{prefix}/workers/sum"), 18.0);

        let rows = places.div_ceil(IN_A_ROW).max(1);
        let cell_em = LINE_EM + GAP_EM;
        let grid = Node {
            width: builder.px(WIDTH_EM),
            height: builder.px(rows as f32 * cell_em),
            flex_wrap: FlexWrap::Wrap,
            align_content: AlignContent::FlexStart,
            flex_shrink: 0.0,
            column_gap: builder.px(GAP_EM),
            row_gap: builder.px(GAP_EM),
            ..Node::default()
        };
        let grid = builder.node(block, grid, Color::NONE);
        let cells = (0..rows * IN_A_ROW).map(|place| Cell::spawn(builder, grid, prefix, place));
        Self {
            sum,
            cells: cells.collect(),
            listed: Vec::new(),
        }
    }

    pub(super) fn draw(&mut self, painter: &mut Painter, report: &ArenaReport) {
        let usage = &report.usage;
        painter.text(self.sum, format_args!("sum {}", Bytes(usage.peak_bytes)));
        self.list(&usage.workers);
        let fits = match self.listed.len() < usage.workers.len() {
            true => self.listed.len() < self.cells.len(),
            false => self.listed.len() <= self.cells.len(),
        };
        let shown = match fits {
            true => self.listed.len(),
            false => self.cells.len() - 1,
        };
        let mut cells = self.cells.iter();
        for (&index, cell) in self.listed[..shown].iter().zip(&mut cells) {
            cell.draw_worker(
                painter,
                &usage.workers[index],
                report.settings.worker_limit_bytes,
            );
        }
        let rest = Rest {
            workers: usage.workers.len() - shown,
            peak_bytes: {
                let rest = self.listed[shown..].iter();
                rest.map(|&index| usage.workers[index].peak_bytes).sum()
            },
        };
        if rest.workers > 0
            && let Some(cell) = cells.next()
        {
            cell.draw(painter, rest, 0.0, USED);
        }
        for cell in cells {
            cell.draw(painter, "", 0.0, USED);
            painter.color(cell.track, Color::NONE);
        }
    }

    /// Lists the workers that have a place of their own.
    fn list(&mut self, workers: &[WorkerUsage]) {
        self.listed.clear();
        let busy = workers.iter().enumerate();
        let busy = busy.filter(|(_, worker)| worker.idle_frames <= IDLE_FRAMES);
        self.listed.extend(busy.map(|(index, _)| index));
        let name = |index: usize| &*workers[index].name;
        self.listed
            .sort_unstable_by(|&one, &other| natural_order(name(one), name(other)));
    }
}

impl Cell {
    fn spawn(builder: &mut Builder, grid: Entity, prefix: &str, place: usize) -> Self {
        let gaps = GAP_EM * (IN_A_ROW - 1) as f32;
        let track = Node {
            width: builder.px((WIDTH_EM - gaps) / IN_A_ROW as f32 - 0.01),
            height: builder.px(LINE_EM),
            overflow: Overflow::clip(),
            flex_shrink: 0.0,
            ..Node::default()
        };
        let track = builder.node(grid, track, Color::NONE);
        let fill = builder.fill(track, format!("{prefix}/workers/{place}/bar"), USED);
        let text = builder.text(track, format!("{prefix}/workers/{place}"), CELL_LETTERS);
        let node = Node {
            position_type: PositionType::Absolute,
            left: builder.px(LETTER_EM / 3.0),
            top: Val::ZERO,
            width: builder.px(CELL_LETTERS * LETTER_EM),
            height: builder.px(LINE_EM),
            ..Node::default()
        };
        builder.commands.entity(text).insert(node);
        Self { track, fill, text }
    }

    fn draw_worker(&self, painter: &mut Painter, worker: &WorkerUsage, limit: Option<usize>) {
        let warns = limit.is_some_and(|bytes| is_near(worker, bytes));
        let (mark, color) = if warns { ("!", WARNING) } else { ("", USED) };
        let text = format_args!(
            "{mark}{} {}",
            ShortName::of(&worker.name),
            Bytes(worker.peak_bytes)
        );
        let part = percent(worker.peak_bytes, limit.unwrap_or(worker.held_bytes));
        self.draw(painter, text, part, color);
    }

    fn draw(&self, painter: &mut Painter, text: impl fmt::Display, part: f32, color: Color) {
        painter.text(self.text, text);
        painter.width(self.fill, part);
        painter.color(self.fill, color);
        painter.color(self.track, TRACK);
    }
}

/// The workers without a place of their own.
struct Rest {
    workers: usize,
    peak_bytes: usize,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peak_bytes {
            0 => write!(f, "+{} idle", self.workers),
            bytes => write!(f, "+{}: {}", self.workers, Bytes(bytes)),
        }
    }
}
