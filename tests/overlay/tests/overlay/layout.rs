//! Where things are.

use bevy_app::Plugin;
use bevy_ecs::prelude::*;
use bevy_frame_arena::{
    ArenasOf, FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaPacePlugin, FrameArenaSettings,
    FrameArenas,
};
use bevy_math::{Rect, UVec2, Vec2};
use bevy_text::TextFont;
use bevy_ui::UiScale;

use super::screen::{SIZE, allocate, app, app_on, entity, place, places, text};

fn window(app: &mut bevy_app::App) -> Rect {
    let mut windows = app
        .world_mut()
        .query_filtered::<Entity, With<FrameArenaOverlay>>();
    let window = windows.single(app.world()).expect("there is one");
    place(app, window)
}

/// Everything that says how much, and is as long as that.
fn is_bar(app: &bevy_app::App, entity: Entity) -> bool {
    let name = app.world().get::<Name>(entity);
    name.is_some_and(|name| name.ends_with("/bar") || name.contains("/graph/"))
}

/// Texts at the right of their places begin where they have to.
fn ends_at_the_right(app: &bevy_app::App, entity: Entity) -> bool {
    let name = app.world().get::<Name>(entity);
    name.is_some_and(|name| {
        let ends = ["/period", "/sum", "/whole"];
        ends.iter().any(|end| name.ends_with(end))
    })
}

#[test]
fn it_stays_as_it_is_from_the_first_frame() {
    let settings = FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    };
    let config = FrameArenaOverlayConfig {
        details: true,
        ..Default::default()
    };
    let mut app = app(settings, config);
    app.update();
    let first = places(&mut app);
    assert!(first.len() > 100);
    for frame in 0..30 {
        for worker in 0..frame {
            let thread = format!("Compute Task Pool ({worker})");
            allocate(&app, &thread, &[3000, frame * 100]);
        }
        app.update();
        let now = places(&mut app);
        assert_eq!(now.len(), first.len());
        for (&(entity, then), (_, now)) in first.iter().zip(now) {
            if !is_bar(&app, entity) && !ends_at_the_right(&app, entity) {
                assert_eq!(then, now, "{:?}", app.world().get::<Name>(entity));
            }
        }
    }
}

#[test]
fn it_is_at_the_upper_right_clear_of_the_fps() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.update();
    let window = window(&mut app);
    assert_eq!(window.max.x, SIZE.x as f32 - 8.0);
    assert_eq!(window.min.y, 8.0);
    // Bevy's FPS overlay takes about 200 pixels at the upper left.
    assert!(window.min.x > 640.0, "{window:?}");
}

#[test]
fn sixty_four_workers_are_inside_the_screen() {
    let config = FrameArenaOverlayConfig {
        worker_places: 68,
        details: true,
        ..Default::default()
    };
    let mut app = app(FrameArenaSettings::default(), config);
    for worker in 0..64 {
        let thread = format!("Compute Task Pool ({worker})");
        allocate(&app, &thread, &[100 << 10]);
    }
    app.update();
    app.update();
    let screen = Rect::from_corners(Vec2::ZERO, SIZE.as_vec2());
    for (entity, place) in places(&mut app) {
        let is_inside = screen.contains(place.min) && screen.contains(place.max);
        assert!(is_inside, "{place:?} {:?}", app.world().get::<Name>(entity));
    }
    let cell = super::screen::text(&mut app, "frame_arena/workers/63");
    assert!(cell.starts_with("C63 "), "{cell}");
}

#[test]
fn on_a_low_screen_the_workers_without_room_share_a_cell() {
    let size = UVec2::new(640, 360);
    let config = FrameArenaOverlayConfig {
        worker_places: 68,
        details: true,
        ..Default::default()
    };
    let mut app = app_on(size, FrameArenaSettings::default(), config);
    for _ in 0..3 {
        for worker in 0..64 {
            let thread = format!("Compute Task Pool ({worker})");
            allocate(&app, &thread, &[4 << 10]);
        }
        app.update();
    }
    let screen = Rect::from_corners(Vec2::ZERO, size.as_vec2());
    let window = window(&mut app);
    assert!(screen.contains(window.min), "{window:?}");
    assert!(screen.contains(window.max), "{window:?}");
    let mut shown = 0;
    let rest = (0..68).find_map(|cell| {
        let name = format!("frame_arena/workers/{cell}");
        let place = entity(&mut app, &name);
        let place = super::screen::place(&app, place);
        assert!(window.contains(place.max), "{place:?} in {window:?}");
        shown += 1;
        let cell = text(&mut app, &name);
        cell.strip_prefix('+').map(str::to_owned)
    });
    let others = 64 - (shown - 1);
    assert!(shown > 20, "{shown}");
    assert_eq!(rest, Some(format!("{others}: {} KiB", 4 * others)));
}

#[test]
fn on_a_low_screen_nothing_overlaps() {
    struct Dungeon;
    let size = UVec2::new(640, 300);
    let settings = FrameArenaSettings {
        worker_limit_bytes: Some(16 << 10),
        ..Default::default()
    };
    let config = FrameArenaOverlayConfig {
        worker_places: 68,
        details: true,
        ..Default::default()
    };
    let mut app = app_on(size, settings, config);
    // The app is finished, and would refuse a plugin.
    FrameArenaPacePlugin::<Dungeon>::by_hand().build(&mut app);
    app.update();
    let arenas = app.world().resource::<ArenasOf<Dungeon>>();
    arenas.local().alloc(1);
    for _ in 0..3 {
        let arenas = app.world().resource::<FrameArenas>();
        assert!(arenas.local().try_alloc([0_u8; 17 << 10]).is_err());
        app.update();
    }
    let window = window(&mut app);
    let parts = [
        "frame_arena/used",
        "frame_arena/whole",
        "frame_arena/more",
        "frame_arena/graph/start",
        "frame_arena/workers/sum",
        "frame_arena/workers/0",
        "frame_arena/problems/0/what",
        "frame_arena/problems/0/cure",
        "dungeon_arena",
    ];
    let parts = parts.map(|name| {
        let entity = entity(&mut app, name);
        (name, place(&app, entity))
    });
    for [(above, one), (below, other)] in parts.array_windows() {
        assert!(
            one.max.y <= other.min.y,
            "{above}: {one:?}, {below}: {other:?}"
        );
    }
    let (_, last) = parts[parts.len() - 1];
    assert!(last.max.y < window.max.y, "{last:?} in {window:?}");
    assert!(window.max.y < size.y as f32);
}

#[test]
fn all_lines_have_the_same_margin_on_both_sides() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.update();
    app.update();
    let window = window(&mut app);
    let [first, last] = ["frame_arena/used/bar", "frame_arena/whole"].map(|name| {
        let entity = entity(&mut app, name);
        place(&app, entity)
    });
    assert_eq!(first.min.x - window.min.x, window.max.x - last.max.x);
}

#[test]
fn it_scales_with_the_ui_and_with_its_font() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.update();
    let before = window(&mut app).size();
    app.world_mut().resource_mut::<UiScale>().0 = 1.5;
    app.update();
    let scaled = window(&mut app).size();
    assert!((scaled - before * 1.5).abs().max_element() < 2.0);

    app.world_mut().resource_mut::<UiScale>().0 = 1.0;
    let mut config = app.world_mut().resource_mut::<FrameArenaOverlayConfig>();
    config.text_config = TextFont::from_font_size(15.0);
    app.update();
    app.update();
    let scaled = window(&mut app).size();
    assert!(
        (scaled - before * 1.5).abs().max_element() < 8.0,
        "{scaled}"
    );
}

#[test]
fn without_details_it_is_less_than_half_as_large() {
    let size_of = |details| {
        let config = FrameArenaOverlayConfig {
            details,
            ..Default::default()
        };
        let mut app = app(FrameArenaSettings::default(), config);
        app.update();
        let size = window(&mut app).size();
        size.x * size.y
    };
    assert!(size_of(false) * 2.0 < size_of(true));
    // 422 x 410 pixels were too many for a screen of 1280 x 720.
    assert!(size_of(false) * 2.0 < 422.0 * 410.0);
}
