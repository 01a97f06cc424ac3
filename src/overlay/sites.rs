//! The lines of code that took the most memory, each with a bar.
#![forbid(unsafe_code)]

use bevy_ecs::entity::Entity;

use super::parts::{Builder, LETTER_EM, LINE_EM, Painter, USED, WIDTH_EM, percent};
use crate::app::Bytes;
use crate::arenas::FrameUsage;

/// The number of sites shown.
const SITES: usize = 3;

/// Letters of a row: the bytes, and the end of the place.
const LETTERS: usize = 40;

/// Letters of the place.
const PLACE_LETTERS: usize = LETTERS - "1023 KiB at ".len();

/// A row for each of the top sites of the last frame: its text, and the fill of its bar, which shows the
/// site's part of the used memory.
pub(super) struct SiteRows([(Entity, Entity); SITES]);

impl SiteRows {
    pub(super) fn spawn(builder: &mut Builder, block: Entity) -> Self {
        Self(std::array::from_fn(|index| {
            let row = builder.row(block, LINE_EM);
            let name = format!("site/{index}");
            let text = builder.text(row, &name, LETTERS as f32, builder.color);
            let track = builder.track(row, WIDTH_EM - LETTERS as f32 * LETTER_EM);
            (text, builder.fill(track, &name, USED))
        }))
    }

    pub(super) fn draw(&self, painter: &mut Painter, usage: &FrameUsage) {
        let mut sites = usage.sites.iter().filter(|site| site.used_bytes > 0);
        for &(text, fill) in &self.0 {
            let Some(site) = sites.next() else {
                painter.text(text, "");
                painter.width(fill, 0.0);
                continue;
            };
            let (bytes, place) = (Bytes(site.used_bytes), site.site.to_string());
            painter.text(text, format_args!("{bytes} at {}", shortened(&place)));
            painter.width(fill, percent(site.used_bytes, usage.used_bytes));
        }
    }
}

/// Returns the end of a place, which is more useful than its beginning.
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
