//! The workers, four in a row, and the short names of their threads.
#![forbid(unsafe_code)]

use std::fmt;

use bevy_color::Color;
use bevy_ecs::entity::Entity;
use bevy_ui::prelude::{AlignContent, FlexWrap, Node, Overflow, PositionType, Val};

use super::parts::{
    Builder, FAINT_TEXT, LETTER_EM, LINE_EM, Painter, TRACK, USED, WARNING, WIDTH_EM, percent,
};
use crate::app::{ArenaReport, Bytes, is_near};
use crate::arenas::WorkerUsage;

/// Workers in a row.
pub(super) const IN_A_ROW: usize = 4;

/// A worker that was idle for longer has no cell of its own. The time is long because of work stealing: a
/// worker without work in one frame often has some in the next.
const IDLE_FRAMES: u32 = 60;

const GAP_EM: f32 = 0.2;

/// The height of a row with the gap below it.
const ROW_EM: f32 = LINE_EM + GAP_EM;

/// Letters of a cell: `!C63 1023 KiB`.
const CELL_LETTERS: f32 = 13.0;

/// A cell for each worker. Its bar shows the worker's peak as a part of its limit, or of its blocks if
/// there is no limit. On a low screen the grid has fewer rows.
pub(super) struct Grid {
    sum: Entity,
    grid: Entity,
    /// The height of a row in logical pixels.
    row_pixels: f32,
    cells: Vec<Cell>,
    /// The indices of recently busy workers, in display order. Kept to reuse its memory.
    listed: Vec<usize>,
}

struct Cell {
    track: Entity,
    fill: Entity,
    text: Entity,
}

impl Grid {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, places: usize) -> Self {
        let row = builder.row(block, LINE_EM);
        builder.caption(row, "peak by worker (C: compute)", FAINT_TEXT);
        let sum = builder.free_text(row, "workers/sum", builder.color);
        let rows = places.div_ceil(IN_A_ROW).max(1);
        let grid = Node {
            flex_wrap: FlexWrap::Wrap,
            align_content: AlignContent::FlexStart,
            // Before the graph.
            flex_shrink: 100.0,
            min_height: builder.px(ROW_EM),
            overflow: Overflow::clip(),
            column_gap: builder.px(GAP_EM),
            row_gap: builder.px(GAP_EM),
            ..builder.fixed(WIDTH_EM, rows as f32 * ROW_EM)
        };
        let grid = builder.node(block, grid, Color::NONE);
        let cells = (0..rows * IN_A_ROW).map(|place| Cell::spawn(builder, grid, place));
        let cells = cells.collect();
        Self {
            sum,
            grid,
            row_pixels: ROW_EM * builder.em,
            cells,
            listed: Vec::new(),
        }
    }

    pub(super) fn draw(&mut self, painter: &mut Painter, report: &ArenaReport) {
        let (usage, limit) = (&report.usage, report.settings.worker_limit_bytes);
        let workers = &usage.workers;
        painter.text(self.sum, format_args!("sum {}", Bytes(usage.peak_bytes)));
        self.list(workers);
        let places = self.places(painter);
        // All in their own cells, or the last cell for the rest.
        let shown = match workers.len() <= places {
            true => self.listed.len(),
            false => self.listed.len().min(places - 1),
        };
        let (listed, rest) = self.listed.split_at(shown);
        let mut cells = self.cells.iter();
        for (&index, cell) in listed.iter().zip(&mut cells) {
            cell.draw_worker(painter, &workers[index], limit);
        }
        let bytes: usize = rest.iter().map(|&index| workers[index].peak_bytes).sum();
        let rest = workers.len() - shown;
        if rest > 0
            && let Some(cell) = cells.next()
        {
            let text = match bytes {
                0 => format!("+{rest} idle"),
                _ => format!("+{rest}: {}", Bytes(bytes)),
            };
            cell.draw(painter, text, 0.0, USED);
        }
        for cell in cells {
            painter.text(cell.text, "");
            painter.width(cell.fill, 0.0);
            painter.color(cell.track, Color::NONE);
        }
    }

    /// Returns the number of cells in the rows that have room on the screen.
    fn places(&self, painter: &Painter) -> usize {
        let Some(pixels) = painter.height_of(self.grid) else {
            return self.cells.len();
        };
        // The layout rounds to whole pixels.
        let rows = (pixels + 1.0) / self.row_pixels;
        (rows as usize * IN_A_ROW).clamp(IN_A_ROW, self.cells.len())
    }

    /// Lists the recently busy workers in display order.
    fn list(&mut self, workers: &[WorkerUsage]) {
        self.listed.clear();
        let busy = workers.iter().enumerate();
        let busy = busy.filter(|(_, worker)| worker.idle_periods <= IDLE_FRAMES);
        self.listed.extend(busy.map(|(index, _)| index));
        let name = |&index: &usize| ShortName::of(&workers[index].name);
        self.listed.sort_unstable_by_key(name);
    }
}

impl Cell {
    fn spawn(builder: &mut Builder, grid: Entity, place: usize) -> Self {
        let gaps = GAP_EM * (IN_A_ROW - 1) as f32;
        let track = Node {
            overflow: Overflow::clip(),
            ..builder.fixed((WIDTH_EM - gaps) / IN_A_ROW as f32 - 0.01, LINE_EM)
        };
        let track = builder.node(grid, track, Color::NONE);
        let name = format!("workers/{place}");
        let fill = builder.fill(track, &name, USED);
        let text = builder.text(track, &name, CELL_LETTERS, builder.color);
        let over_the_bar = Node {
            position_type: PositionType::Absolute,
            left: builder.px(LETTER_EM / 3.0),
            top: Val::ZERO,
            ..builder.fixed(CELL_LETTERS * LETTER_EM, LINE_EM)
        };
        builder.commands.entity(text).insert(over_the_bar);
        Self { track, fill, text }
    }

    fn draw_worker(&self, painter: &mut Painter, worker: &WorkerUsage, limit: Option<usize>) {
        let WorkerUsage { name, .. } = worker;
        let peak = worker.peak_bytes;
        let warns = limit.is_some_and(|bytes| is_near(worker, bytes));
        let (mark, color) = if warns { ("!", WARNING) } else { ("", USED) };
        let text = format_args!("{mark}{} {}", ShortName::of(name), Bytes(peak));
        let part = percent(peak, limit.unwrap_or(worker.held_bytes));
        self.draw(painter, text, part, color);
    }

    fn draw(&self, painter: &mut Painter, text: impl fmt::Display, part: f32, color: Color) {
        painter.text(self.text, text);
        painter.width(self.fill, part);
        painter.color(self.fill, color);
        painter.color(self.track, TRACK);
    }
}

/// The maximum number of letters in a short name, with its number: the bytes need the rest of a cell.
const MAX_LETTERS: usize = 4;

/// The name of a thread: `C3` for `Compute Task Pool (3)`. Names without a number are ordered first, then
/// the pools, each by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShortName<'a> {
    has_number: bool,
    pool: &'a str,
    number: u32,
}

impl<'a> ShortName<'a> {
    pub(super) fn of(thread: &'a str) -> Self {
        let numbered = thread.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
        let numbered = numbered.and_then(|(pool, number)| Some((pool, number.parse().ok()?)));
        let (pool, number) = numbered.unwrap_or((thread, 0));
        Self {
            has_number: numbered.is_some(),
            pool: match pool {
                "Compute Task Pool" => "C",
                "Async Compute Task Pool" => "A",
                "IO Task Pool" => "IO",
                other => other,
            },
            number,
        }
    }
}

impl fmt::Display for ShortName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, number, .. } = self;
        if !self.has_number {
            return write!(f, "{pool:.MAX_LETTERS$}");
        }
        let digits = number.checked_ilog10().map_or(1, |it| it as usize + 1);
        let letters = MAX_LETTERS.saturating_sub(digits).max(1);
        write!(f, "{pool:.letters$}{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (thread, name) in [
            ("Compute Task Pool (12)", "C12"),
            ("Async Compute Task Pool (0)", "A0"),
            ("IO Task Pool (3)", "IO3"),
            ("main", "main"),
            ("Render thread", "Rend"),
            ("loader (7)", "loa7"),
            ("loader (1007)", "l1007"),
            ("Fäden (7)", "Fäd7"),
            ("(x)", "(x)"),
            ("", ""),
        ] {
            assert_eq!(ShortName::of(thread).to_string(), name);
        }
    }

    #[test]
    fn numbers_are_in_their_order() {
        let mut names = [
            "Compute Task Pool (10)",
            "Compute Task Pool (9)",
            "main",
            "IO Task Pool (1)",
            "Compute Task Pool (1)",
            "Async Compute Task Pool (2)",
        ]
        .map(ShortName::of);
        names.sort();
        let short = names.map(|name| name.to_string());
        assert_eq!(short, ["main", "A2", "C1", "C9", "C10", "IO1"]);
    }
}
