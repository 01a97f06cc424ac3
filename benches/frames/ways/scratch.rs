//! Frame arenas, with scratch memory for what only one system reads.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArenaPlugin, FrameArenas, Scratch};

use super::ours::{draw_all, list_neighbours, write_all_labels};
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
    scratch: Scratch,
) {
    draw_all(&query, frame.0, &arenas, &scratch, &checksum);
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, scratch: Scratch) {
    list_neighbours(&scratch, frame.0, &checksum);
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>, scratch: Scratch) {
    write_all_labels(&scratch, frame.0, &checksum);
}
