//! A window of its own, and the arguments of the command line.

mod recording;
mod screenshot;

use bevy::app::PluginGroupBuilder;
use bevy::dev_tools::render_debug::RenderDebugOverlayPlugin;
use bevy::prelude::*;
use bevy::window::WindowResolution;

use self::recording::RecordingPlugin;
use self::screenshot::ScreenshotPlugin;
use crate::TITLE;
use crate::game::Load;

pub(crate) fn bevy_plugins() -> PluginGroupBuilder {
    let (width, height) = match argument("--record") {
        Some(_) => recording::SIZE,
        None => (960, 540),
    };
    DefaultPlugins
        .set(WindowPlugin {
            primary_window: Some(Window {
                title: TITLE.into(),
                resolution: WindowResolution::new(width, height).with_scale_factor_override(1.0),
                ..default()
            }),
            ..default()
        })
        // It needs `PbrPlugin`, which this example does without.
        .disable::<RenderDebugOverlayPlugin>()
}

pub(crate) struct PlatformPlugin;

impl Plugin for PlatformPlugin {
    fn build(&self, app: &mut App) {
        if std::env::args().any(|argument| argument == "--tasks") {
            app.world_mut().resource_mut::<Load>().meshes_in_tasks = true;
        }
        if let Some(file) = argument("--screenshot") {
            app.add_plugins(ScreenshotPlugin { file });
        }
        if let Some(folder) = argument("--record") {
            let folder = folder.into();
            app.add_plugins(RecordingPlugin { folder });
        }
    }
}

/// Returns what follows a name.
fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}
