//! Frame arenas.

use std::sync::Mutex;

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_frame_arena::{FrameArena, FrameArenaPlugin, FrameArenas, FrameHandle, FrameVec};

use crate::scene::{
    AGENTS, Checksum, Frame, Id, LABELS, Position, instance, is_visible, neighbours, sort_key,
    sum_of_instances, write_label,
};

pub(crate) fn add_systems(app: &mut App) {
    app.add_plugins(FrameArenaPlugin::default())
        .add_systems(Update, (draw, find_neighbours, write_labels));
}

/// The list of one batch, shared with the others when the batch is done.
struct Batch<'arena, 'all> {
    keys: FrameVec<'arena, u64>,
    all: &'all Mutex<&'all mut Vec<FrameHandle<[u64]>>>,
}

impl Drop for Batch<'_, '_> {
    fn drop(&mut self) {
        let arena = self.keys.arena();
        let keys = std::mem::replace(&mut self.keys, arena.vec());
        let mut all = self.all.lock().expect("no system panics");
        all.push(keys.share());
    }
}

fn draw(
    query: Query<(&Position, &Id)>,
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    arenas: Res<FrameArenas>,
    mut lists: Local<Vec<FrameHandle<[u64]>>>,
) {
    list_visible(&query, frame.0, &arenas, &mut lists);
    draw_all(&arenas, &mut lists, arenas.local(), &checksum);
}

/// Fills the lists of what is visible, in parallel.
pub(super) fn list_visible(
    query: &Query<(&Position, &Id)>,
    frame: u32,
    arenas: &FrameArenas,
    lists: &mut Vec<FrameHandle<[u64]>>,
) {
    let all = Mutex::new(lists);
    query.par_iter().for_each_init(
        // In a box, because Bevy moves it for each item.
        || {
            let arena = arenas.local();
            arena.boxed(Batch {
                keys: arena.vec(),
                all: &all,
            })
        },
        |batch, (position, id)| {
            if is_visible(frame, id.0) {
                batch.keys.push(sort_key(*position, id.0));
            }
        },
    );
}

/// Makes the instances of all lists, in `arena`.
pub(super) fn draw_all(
    arenas: &FrameArenas,
    lists: &mut Vec<FrameHandle<[u64]>>,
    arena: &FrameArena,
    checksum: &Checksum,
) {
    let total = lists.iter().map(|list| arenas[*list].len()).sum();
    let mut keys = arena.vec_with_capacity(total);
    for list in lists.drain(..) {
        keys.extend_from_slice(&arenas[list]);
    }
    keys.sort_unstable();
    let instances = arena.alloc_slice_fill_iter(keys.iter().map(|key| instance(*key)));
    checksum.add(sum_of_instances(instances));
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, arenas: Res<FrameArenas>) {
    list_neighbours(arenas.local(), frame.0, &checksum);
}

pub(super) fn list_neighbours(arena: &FrameArena, frame: u32, checksum: &Checksum) {
    let near = arena.alloc_slice_fill_with(AGENTS as usize, |agent| {
        &*arena.alloc_slice_fill_iter(neighbours(frame, agent as u32))
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
