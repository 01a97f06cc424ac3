//! Frame arenas, with a scratch arena for what only one system reads.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArena, FrameArenaPlugin, FrameArenas, FrameHandle};

use super::ours::{draw_all, list_neighbours, list_visible, write_all_labels};
use crate::scene::{Checksum, Frame, Id, Position};

pub(crate) fn add_systems(app: &mut App) {
    app.add_plugins(FrameArenaPlugin::default())
        .add_systems(Update, (draw, find_neighbours, write_labels));
}

fn draw(
    query: Query<(&Position, &Id)>,
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    arenas: Res<FrameArenas>,
    mut lists: Local<Vec<FrameHandle<[u64]>>>,
    mut scratch: Local<FrameArena>,
) {
    scratch.reset();
    list_visible(&query, frame.0, &arenas, &mut lists);
    draw_all(&arenas, &mut lists, &scratch, &checksum);
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, mut scratch: Local<FrameArena>) {
    scratch.reset();
    list_neighbours(&scratch, frame.0, &checksum);
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>, mut scratch: Local<FrameArena>) {
    scratch.reset();
    write_all_labels(&scratch, frame.0, &checksum);
}
