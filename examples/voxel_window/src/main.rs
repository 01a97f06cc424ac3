//! The world of `voxel_world`, in a window or on a web page.
//!
//! Meshes and instances are uploaded in the render world, straight out of the frame's arena; with
//! the other ways to manage memory, they are copied for it first. Chunks that come into view light up: the
//! arenas still have the list of the frame before.
//!
//! `cargo run -p voxel_window --ignore-rust-version`, with any Rust from 1.95 on.
//! `-- --screenshot FILE` runs for a number of frames, switches between all ways on the way, saves
//! the window, and exits with an error if it does not show a world. `-- --record FOLDER` saves a film.
//!
//! `examples/voxel_window/web/build FOLDER` builds the page, for browsers with WebGL2; `.ci/page`
//! opens it in one, and checks what it shows.
//!
//! | key | |
//! |---|---|
//! | 1 2 3 4 | memory by heap, reused buffers, herd, arenas |
//! | + - | more to do, less to do |
//! | T | chunks are meshed in tasks, or while the frame waits; `-- --tasks` begins with it |
//! | W A S D, arrows, space, shift | fly |
//! | P | back to the camera's path |
#![forbid(unsafe_code)]

mod arrivals;
mod controls;
mod gpu;
#[cfg_attr(target_family = "wasm", path = "page.rs")]
#[cfg_attr(not(target_family = "wasm"), path = "desktop.rs")]
mod platform;
mod render;

// Compiled here with a renderer in place of the stand-in: its `gpu` is ours.
#[path = "../../voxel_world/src"]
mod voxel_world {
    #[expect(
        dead_code,
        reason = "clock and checksums are for the program without a window"
    )]
    pub(crate) mod game;
    #[expect(dead_code, reason = "lines of code are for the report")]
    pub(crate) mod ways;
}

use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy_frame_arena::{FrameArenaOverlayPlugin, FrameArenaSubAppPlugin};
use voxel_world::{game, ways};

use crate::arrivals::ArrivalsPlugin;
use crate::controls::{ChooseSystems, ControlsPlugin};
use crate::game::{Load, WorldPlugin};
use crate::platform::PlatformPlugin;
use crate::render::DrawWorldPlugin;
use crate::ways::Way;

const TITLE: &str = "Frame arenas: a voxel world";

fn main() -> AppExit {
    let mut app = App::new();
    app.add_plugins((
        platform::bevy_plugins(),
        WorldPlugin(Load::default()),
        ControlsPlugin,
    ))
    .insert_resource(ClearColor(Color::srgb(0.55, 0.72, 0.88)))
    .insert_resource(Way::Arena);
    // All ways are there, and one of them is played.
    for way in Way::ALL {
        way.add_to(&mut app);
        let is_played = move |played: Res<Way>| *played == way;
        app.configure_sets(First, way.after(ChooseSystems).run_if(is_played))
            .configure_sets(FixedUpdate, way.run_if(is_played))
            .configure_sets(Update, way.run_if(is_played))
            .configure_sets(Last, way.run_if(is_played));
    }
    app.add_plugins((
        // This line hands each frame to the render world.
        FrameArenaSubAppPlugin::new(RenderApp),
        FrameArenaOverlayPlugin::default(),
        ArrivalsPlugin,
        DrawWorldPlugin,
        PlatformPlugin,
    ));
    app.run()
}
