//! What a pointer does to the window.

use bevy_app::App;
use bevy_camera::{NormalizedRenderTarget, RenderTarget};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaSettings};
use bevy_math::{Rect, Vec2};
use bevy_picking::pointer::{Location, PointerAction, PointerButton, PointerId, PointerInput};
use bevy_ui::UiScale;
use bevy_window::PrimaryWindow;

use super::screen::{app as screen, entity, place};

const POINTER: PointerId = PointerId::Mouse;

fn app() -> App {
    let mut app = screen(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.world_mut().spawn(POINTER);
    app.update();
    app
}

fn target(app: &mut App) -> NormalizedRenderTarget {
    let mut windows = app
        .world_mut()
        .query_filtered::<Entity, With<PrimaryWindow>>();
    let window = windows.single(app.world()).ok();
    let target = RenderTarget::default().normalize(window);
    target.expect("there is a window")
}

/// Does something with the pointer, as a mouse would.
fn input(app: &mut App, position: Vec2, action: PointerAction) {
    let target = target(app);
    let location = Location { target, position };
    let mut inputs = app.world_mut().resource_mut::<Messages<PointerInput>>();
    inputs.write(PointerInput::new(POINTER, location, action));
    app.update();
}

fn press_and_move(app: &mut App, from: Vec2, by: Vec2) {
    input(app, from, PointerAction::Move { delta: from });
    input(app, from, PointerAction::Press(PointerButton::Primary));
    if by != Vec2::ZERO {
        input(app, from + by, PointerAction::Move { delta: by });
    }
    input(
        app,
        from + by,
        PointerAction::Release(PointerButton::Primary),
    );
    app.update();
}

fn window(app: &mut App) -> Rect {
    let mut windows = app
        .world_mut()
        .query_filtered::<Entity, With<FrameArenaOverlay>>();
    let window = windows.single(app.world()).expect("there is one");
    place(app, window)
}

fn title(app: &mut App) -> Vec2 {
    let title = entity(app, "Frame arena overlay title");
    place(app, title).center()
}

#[test]
fn the_title_drags_the_window() {
    let mut app = app();
    let (title, before) = (title(&mut app), window(&mut app));
    press_and_move(&mut app, title, Vec2::new(-300.0, 40.0));
    let after = window(&mut app);
    assert_eq!(after.min, before.min + Vec2::new(-300.0, 40.0));
    assert_eq!(after.size(), before.size(), "a drag is no click");
}

#[test]
fn the_window_follows_the_pointer_at_any_scale() {
    let mut app = app();
    app.world_mut().resource_mut::<UiScale>().0 = 2.0;
    app.update();
    let (title, before) = (title(&mut app), window(&mut app));
    press_and_move(&mut app, title, Vec2::new(-60.0, 10.0));
    let after = window(&mut app);
    assert_eq!(after.min, before.min + Vec2::new(-60.0, 10.0));
}

#[test]
fn a_click_on_the_title_shows_the_details_and_hides_them() {
    let mut app = app();
    let before = window(&mut app);
    let title_center = title(&mut app);
    press_and_move(&mut app, title_center, Vec2::ZERO);
    let unfolded = window(&mut app);
    assert!(unfolded.height() > 2.0 * before.height(), "{unfolded:?}");
    assert_eq!(unfolded.min, before.min);
    let title_center = title(&mut app);
    press_and_move(&mut app, title_center, Vec2::ZERO);
    assert_eq!(window(&mut app), before);
}

#[test]
fn where_it_is_and_whether_it_is_unfolded_outlives_the_window() {
    let mut app = app();
    let title_center = title(&mut app);
    press_and_move(&mut app, title_center, Vec2::new(-100.0, 30.0));
    let title_center = title(&mut app);
    press_and_move(&mut app, title_center, Vec2::ZERO);
    let before = window(&mut app);
    for enabled in [false, true] {
        let mut config = app.world_mut().resource_mut::<FrameArenaOverlayConfig>();
        config.enabled = enabled;
        app.update();
    }
    app.update();
    assert_eq!(window(&mut app), before);
}

#[test]
fn the_rest_of_the_window_lets_the_pointer_through() {
    let mut app = app();
    let before = window(&mut app);
    let middle = before.center();
    press_and_move(&mut app, middle, Vec2::new(-50.0, 0.0));
    assert_eq!(window(&mut app), before);
}
