//! Carries instance data from the main world to the GPU without a copy in between.
//!
//! Tasks on all threads write thousands of instances into the frame arena. The render world, one
//! frame behind on its own thread, uploads them from there with one `write_buffer`.
//!
//! `cargo run -p render_carry --ignore-rust-version`, with any Rust from 1.95 on.
//! `-- --screenshot FILE` runs for 300 frames, saves the window, checks that it shows the instances
//! of one frame in their colours, and exits with an error if it does not.
#![forbid(unsafe_code)]

mod picture;
mod render;

use bevy::dev_tools::render_debug::RenderDebugOverlayPlugin;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
use bevy::tasks::{ComputeTaskPool, ParallelSliceMut};
use bevy::window::WindowResolution;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenaSubAppPlugin, FrameArenas};

use crate::render::{DrawInstancesPlugin, Instances};

/// Frames until the screenshot.
const FRAMES: u64 = 300;
/// Instances that a task writes.
const CHUNK: usize = 512;

fn main() -> AppExit {
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(WindowPlugin {
                primary_window: Some(Window {
                    title: "Frame arenas: instances".into(),
                    resolution: WindowResolution::new(picture::WINDOW.x, picture::WINDOW.y)
                        .with_scale_factor_override(1.0),
                    resizable: false,
                    ..default()
                }),
                ..default()
            })
            // It needs `PbrPlugin`, which this example does without.
            .disable::<RenderDebugOverlayPlugin>(),
        FrameArenaPlugin::default(),
        // This line hands each frame to the render world.
        FrameArenaSubAppPlugin::new(RenderApp),
        DrawInstancesPlugin,
    ))
    .insert_resource(ClearColor(Color::BLACK))
    .add_systems(Startup, |mut commands: Commands| {
        commands.spawn((Camera2d, Msaa::Off));
    })
    .add_systems(Update, write_instances);
    if let Some(file) = screenshot_file() {
        assert!(app.is_plugin_added::<PipelinedRenderingPlugin>());
        app.add_systems(Last, (check_generations, take_screenshot(file)));
    }
    app.run()
}

/// Writes the instances of this frame, on all threads, and shares them.
fn write_instances(arenas: Res<FrameArenas>, mut commands: Commands) {
    let frame = arenas.period() as u32;
    let mut instances = arenas.local().vec();
    instances.resize(picture::TILES, [0.0; 8]);
    instances.par_chunk_map_mut(ComputeTaskPool::get(), CHUNK, |index, chunk| {
        for (tile, instance) in (index * CHUNK..).zip(chunk) {
            *instance = picture::instance(frame, tile);
        }
    });
    commands.insert_resource(Instances(instances.share()));
}

/// The render world gives each frame back in time: two generations are enough.
fn check_generations(arenas: Res<FrameArenas>) {
    let usage = arenas.usage();
    assert_eq!((usage.parked, usage.generations), (0, 2));
}

fn screenshot_file() -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--screenshot");
    arguments.nth(1)
}

fn take_screenshot(file: String) -> impl FnMut(Commands, Res<FrameArenas>) {
    move |mut commands, arenas| {
        if arenas.period() == FRAMES {
            let mut save = save_to_disk(file.clone());
            commands.spawn(Screenshot::primary_window()).observe(
                move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                    let checked = picture::check(&captured.image);
                    save(captured);
                    exit.write(match checked {
                        Ok(frame) => {
                            info!("all instances of frame {frame} have their colours");
                            AppExit::Success
                        }
                        Err(error) => {
                            error!("{error}");
                            AppExit::error()
                        }
                    });
                },
            );
        }
    }
}
