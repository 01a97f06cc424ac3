//! Frame arenas.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArena, FrameArenaPlugin, FrameArenaSettings, FrameArenas, LivesFor};

use crate::scene::{
    AGENTS, Checksum, Frame, Id, LABELS, Position, instance, is_visible, neighbours, sort_key,
    sum_of_instances, write_label,
};

pub(crate) fn add_systems(app: &mut App) {
    app.add_plugins(FrameArenaPlugin::default())
        .add_systems(Update, (draw, find_neighbours, write_labels));
}

/// For data that nobody reads later: one generation of memory instead of two.
pub(crate) fn add_systems_for_one_frame(app: &mut App) {
    let settings = FrameArenaSettings {
        lives_for: LivesFor::OnePeriod,
        ..FrameArenaSettings::default()
    };
    app.insert_resource(FrameArenas::new(settings));
    add_systems(app);
}

fn draw(
    query: Query<(&Position, &Id)>,
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    arenas: Res<FrameArenas>,
) {
    draw_all(&query, frame.0, &arenas, arenas.local(), &checksum);
}

/// Lists what is visible, in parallel, and makes the instances in `arena`.
pub(super) fn draw_all(
    query: &Query<(&Position, &Id)>,
    frame: u32,
    arenas: &FrameArenas,
    arena: &FrameArena,
    checksum: &Checksum,
) {
    let visible = arenas.collector();
    query.par_iter().for_each_init(
        || visible.batch(),
        |batch, (position, id)| {
            if is_visible(frame, id.0) {
                batch.push(sort_key(*position, id.0));
            }
        },
    );
    let mut keys = arena.vec();
    visible.gather_into(&mut keys);
    keys.sort_unstable();
    let instances = arena.collect(keys.iter().map(|key| instance(*key))).leak();
    checksum.add(sum_of_instances(instances));
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, arenas: Res<FrameArenas>) {
    list_neighbours(arenas.local(), frame.0, &checksum);
}

pub(super) fn list_neighbours(arena: &FrameArena, frame: u32, checksum: &Checksum) {
    let near = arena.alloc_slice_fill_with(AGENTS as usize, |agent| {
        &*arena.collect(neighbours(frame, agent as u32)).leak()
    });
    let all = near.iter().flat_map(|list| list.iter());
    checksum.add(all.map(|other| u64::from(*other)).sum());
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>, arenas: Res<FrameArenas>) {
    write_all_labels(arenas.local(), frame.0, &checksum);
}

pub(super) fn write_all_labels(arena: &FrameArena, frame: u32, checksum: &Checksum) {
    let labels = arena.alloc_slice_fill_with(LABELS as usize, |number| {
        let mut label = arena.string();
        write_label(&mut label, frame, number as u32);
        &*label.leak()
    });
    checksum.add(labels.iter().map(|label| label.len() as u64).sum());
}
