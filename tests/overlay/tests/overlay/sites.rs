//! The lines of code that took most, with the feature `sites`.

use bevy_app::App;
use bevy_frame_arena::{FrameArenaOverlayConfig, FrameArenaSettings, FrameArenas, SiteUsage};

use super::screen::{app, percent, report, text};

const KIB: usize = 1 << 10;

/// Returns the text and the bar of each row.
fn rows(app: &mut App) -> [(String, f32); 3] {
    std::array::from_fn(|row| {
        let name = format!("frame_arena/site/{row}");
        (text(app, &name), percent(app, &format!("{name}/bar")))
    })
}

#[test]
fn rows_show_the_lines_that_took_most_with_their_part_of_all() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig {
            details: true,
            ..Default::default()
        },
    );
    app.update();
    for frame in 0..10 {
        let arenas = app.world().resource::<FrameArenas>();
        arenas.local().alloc_slice_fill_copy(10 * KIB, 0_u8);
        arenas.local().alloc_slice_fill_copy(60 * KIB, 0_u8);
        arenas.local().alloc_slice_fill_copy(20 * KIB, 0_u8);
        arenas
            .local()
            .alloc_slice_fill_copy((frame + 1) * 4 * KIB, 0_u8);
        app.update();

        let usage = report(&app).usage.clone();
        assert_eq!(usage.sites.len(), 4);
        let expected = |site: &SiteUsage| {
            // A row has room for so many letters, and the end of a place says more.
            let place = site.site.to_string();
            let letters = 40 - "1023 KiB at ".len();
            let shown = &place[place.len().saturating_sub(letters)..];
            let part = site.used_bytes as f32 / usage.used_bytes as f32 * 100.0;
            (format!("{} KiB at {shown}", site.used_bytes / KIB), part)
        };
        for (row, site) in rows(&mut app).iter().zip(usage.sites.iter()) {
            let (text, part) = expected(site);
            // Below ten there is a digit more.
            assert_eq!(row.0.replace(".0 KiB", " KiB"), text, "frame {frame}");
            assert!((row.1 - part).abs() < 0.01, "{row:?}, {part}");
        }
        let shown: f32 = rows(&mut app).iter().map(|row| row.1).sum();
        assert!(shown <= 100.01, "parts of one whole: {shown}");
    }
    app.update();
    for (text, part) in rows(&mut app) {
        assert_eq!((text.as_str(), part), ("", 0.0), "nobody asked");
    }
}
