//! A headless game whose arenas can be read from outside, with the Bevy Remote Protocol.
#![forbid(unsafe_code)]

use bevy_app::{App, TaskPoolPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_remote::RemotePlugin;
use bevy_remote::http::RemoteHttpPlugin;

/// Makes a game that answers on this port of the loopback address.
pub fn game(port: u16) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        FrameArenaPlugin::default(),
        // These two lines let others read `FrameArenaReport`: it registers itself, with the feature `reflect`.
        RemotePlugin::default(),
        RemoteHttpPlugin::default().with_port(port),
    ))
    .add_systems(Update, think);
    app
}

fn think(arenas: Res<FrameArenas>) {
    let squares = arenas.local().alloc_slice_fill_with(1000, |i| i * i);
    std::hint::black_box(squares);
}
