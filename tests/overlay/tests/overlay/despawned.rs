//! A game that despawns everything on the screen, the overlay included.

use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaOverlay, FrameArenaOverlayConfig, FrameArenaSettings};

use super::screen::{allocate, app};

/// As `for root in &roots { commands.entity(root).despawn() }` of a game that leaves a level.
#[test]
fn a_game_may_despawn_the_window() {
    let mut app = app(
        FrameArenaSettings::default(),
        FrameArenaOverlayConfig::default(),
    );
    app.update();
    let mut windows = app
        .world_mut()
        .query_filtered::<Entity, With<FrameArenaOverlay>>();
    let window = windows.single(app.world()).expect("it is open");
    app.world_mut().despawn(window);
    for bytes in [100, 2000] {
        allocate(&app, "main", &[bytes]);
        app.update();
    }
    // It opens anew when the config changes.
    app.world_mut()
        .resource_mut::<FrameArenaOverlayConfig>()
        .set_changed();
    app.update();
    assert_eq!(windows.iter(app.world()).count(), 1);
}
