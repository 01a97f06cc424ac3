//! The lines of code that took most, each with a bar.
#![forbid(unsafe_code)]

use bevy_ecs::entity::Entity;
use bevy_ui::prelude::Node;

use super::painter::{Painter, percent};
use super::parts::{Builder, LETTER_EM, LINE_EM, TRACK, USED, WIDTH_EM};
use crate::app::Bytes;
use crate::arenas::FrameUsage;

/// How many sites are shown.
const SITES: usize = 3;

/// Letters of a row: the bytes, and as much of the place as there is room for.
const LETTERS: usize = 48;

/// Letters of the place.
const PLACE_LETTERS: usize = LETTERS - "1023 KiB at ".len();

/// A row for each of the sites that took most of the last frame's memory; the bar is its part of all.
pub(super) struct SiteRows {
    rows: [Row; SITES],
}

struct Row {
    text: Entity,
    fill: Entity,
}

impl SiteRows {
    pub(super) fn spawn(builder: &mut Builder, block: Entity, prefix: &str) -> Self {
        let rows = std::array::from_fn(|index| Row::spawn(builder, block, prefix, index));
        Self { rows }
    }

    pub(super) fn draw(&self, painter: &mut Painter, usage: &FrameUsage) {
        let mut sites = usage.sites.iter().filter(|site| site.used_bytes > 0);
        for row in &self.rows {
            let Some(site) = sites.next() else {
                painter.text(row.text, "");
                painter.width(row.fill, 0.0);
                continue;
            };
            let (bytes, place) = (Bytes(site.used_bytes), site.site.to_string());
            painter.text(row.text, format_args!("{bytes} at {}", shortened(&place)));
            painter.width(row.fill, percent(site.used_bytes, usage.used_bytes));
        }
    }
}

impl Row {
    fn spawn(builder: &mut Builder, block: Entity, prefix: &str, index: usize) -> Self {
        let row = builder.row(block, LINE_EM);
        let text = builder.text(row, format!("{prefix}/site/{index}"), LETTERS as f32);
        let track = Node {
            width: builder.px(WIDTH_EM - LETTERS as f32 * LETTER_EM),
            height: builder.px(0.7),
            flex_shrink: 0.0,
            ..Node::default()
        };
        let track = builder.node(row, track, TRACK);
        let fill = builder.fill(track, format!("{prefix}/site/{index}/bar"), USED);
        Self { text, fill }
    }
}

/// Returns the end of a place, which says more than its beginning.
fn shortened(place: &str) -> &str {
    let letters = place.chars().count();
    let cut = letters.saturating_sub(PLACE_LETTERS);
    place
        .char_indices()
        .nth(cut)
        .map_or("", |(start, _)| &place[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_place_keeps_its_end() {
        assert_eq!(shortened("src/cull.rs:12"), "src/cull.rs:12");
        let long = format!("{}/cull.rs:12", "ä".repeat(100));
        let shown = shortened(&long);
        assert_eq!(shown.chars().count(), PLACE_LETTERS);
        assert!(shown.ends_with("/cull.rs:12"));
        assert_eq!(shortened(""), "");
    }
}
