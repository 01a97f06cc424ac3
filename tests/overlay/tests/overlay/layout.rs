//! Where things are.

use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaSettings};
use bevy_math::{Rect, Vec2};
use bevy_text::TextFont;
use bevy_ui::UiScale;

use super::screen::{SIZE, allocate, app, place, places};

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
    name.is_some_and(|name| name.ends_with("/period") || name.ends_with("/sum"))
}

#[test]
fn it_stays_as_it_is_from_the_first_frame() {
    let settings = FrameArenaSettings {
        block_bytes: 4096,
        ..Default::default()
    };
    let mut app = app(settings, FrameArenaOverlayConfig::default());
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
        worker_places: Some(68),
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
