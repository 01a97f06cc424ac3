//! The workers, four in a row, and the short names of their threads.
#![forbid(unsafe_code)]

use bevy_color::Color;
use bevy_ui::prelude::*;

use super::parts::{
    FAINT_TEXT, LETTER_EM, LINE_EM, Painter, TRACK, USED, WARNING, WIDTH_EM, percent,
};
use crate::app::{ArenaReport, Bytes, is_near, parts_of, short_name};

/// Workers in a row.
const IN_A_ROW: usize = 4;

/// A worker that was idle for longer has no cell of its own. The time is long because of work stealing: a
/// worker without work in one frame often has some in the next.
const IDLE_FRAMES: u32 = 60;

const GAP_EM: f32 = 0.2;

/// The height of a row with the gap below it.
const ROW_EM: f32 = LINE_EM + GAP_EM;

/// Letters of a cell: `!C63 1023 KiB`.
const CELL_LETTERS: f32 = 13.0;

/// The maximum number of places for workers.
const MAX_PLACES: usize = 64 * IN_A_ROW;

/// Describes a cell for each worker. Its bar shows the worker's peak as a part of its limit, or of its blocks if
/// there is no limit. On a low screen the grid has fewer rows.
pub(super) fn draw(painter: &mut Painter, report: &ArenaReport) {
    let (usage, limit) = (&report.usage, report.settings.worker_limit_bytes);
    painter.row(|row| {
        row.free_text("caption", FAINT_TEXT, "peak by worker (C: compute)");
        let sum = format_args!("sum {}", Bytes(usage.peak_bytes));
        row.free_text("workers/sum", row.config.text_color, sum);
    });
    let places = painter.config.worker_places;
    // Each place has nodes of its own, and no screen has room for more.
    let rows = places.min(MAX_PLACES).div_ceil(IN_A_ROW).max(1);
    let grid = Node {
        flex_wrap: FlexWrap::Wrap,
        align_content: AlignContent::FlexStart,
        // Before the graph.
        flex_shrink: 100.0,
        min_height: painter.px(ROW_EM),
        overflow: Overflow::clip(),
        column_gap: painter.px(GAP_EM),
        row_gap: painter.px(GAP_EM),
        ..painter.fixed(WIDTH_EM, rows as f32 * ROW_EM)
    };
    // The rows that have room on the screen. The layout rounds to whole pixels.
    let room = painter.next_height().map_or(rows, |pixels| {
        let rows_with_room = (pixels + 1.0) / (ROW_EM * painter.config.em());
        (rows_with_room as usize).clamp(1, rows)
    });
    let busy = usage.workers.iter();
    let busy = busy.filter(|worker| worker.idle_periods <= IDLE_FRAMES);
    let mut busy: Vec<_> = busy.collect();
    busy.sort_unstable_by_key(|it| parts_of(&it.name));
    // All in their own cells, or the last cell for the rest.
    let shown = match usage.workers.len() <= room * IN_A_ROW {
        true => busy.len(),
        false => busy.len().min(room * IN_A_ROW - 1),
    };
    let (busy, others) = busy.split_at(shown);
    let others_bytes: usize = others.iter().map(|worker| worker.peak_bytes).sum();
    let rest = usage.workers.len() - shown;
    painter.group("workers", grid, Color::NONE, |grid| {
        for place in 0..rows * IN_A_ROW {
            let Some(worker) = busy.get(place) else {
                let text = match others_bytes {
                    _ if place > shown || rest == 0 => None,
                    0 => Some(format!("+{rest} idle")),
                    _ => Some(format!("+{rest}: {}", Bytes(others_bytes))),
                };
                draw_cell(grid, place, text, 0.0, USED);
                continue;
            };
            let (peak, held) = (worker.peak_bytes, worker.held_bytes);
            let warns = limit.is_some_and(|bytes| is_near(worker, bytes));
            let (mark, color) = if warns { ("!", WARNING) } else { ("", USED) };
            let text = format!("{mark}{} {}", short_name(&worker.name), Bytes(peak));
            let part = percent(peak, limit.unwrap_or(held));
            draw_cell(grid, place, Some(text), part, color);
        }
    });
}

/// Describes a cell. One without a text is invisible.
fn draw_cell(grid: &mut Painter, place: usize, text: Option<String>, part: f32, color: Color) {
    let gaps = GAP_EM * (IN_A_ROW - 1) as f32;
    let track = Node {
        overflow: Overflow::clip(),
        ..grid.fixed((WIDTH_EM - gaps) / IN_A_ROW as f32 - 0.01, LINE_EM)
    };
    let track_color = text.as_ref().map_or(Color::NONE, |_| TRACK);
    grid.group("cell", track, track_color, |cell| {
        let name = format_args!("workers/{place}");
        cell.fill(name, part, color);
        let over_the_bar = Node {
            position_type: PositionType::Absolute,
            left: cell.px(LETTER_EM / 3.0),
            top: Val::ZERO,
            ..cell.fixed(CELL_LETTERS * LETTER_EM, LINE_EM)
        };
        let color = cell.config.text_color;
        cell.text(name, over_the_bar, color, text.unwrap_or_default());
    });
}
