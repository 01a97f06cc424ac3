//! Fresh `Vec`s and `String`s each frame, as one writes them first.

use std::sync::Mutex;

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;

use crate::scene::{
    AGENTS, Checksum, Frame, Id, Instance, LABELS, Position, instance, is_visible, neighbours,
    sort_key, sum_of_instances, write_label,
};

pub(crate) fn add_systems(app: &mut App) {
    app.add_systems(Update, (draw, find_neighbours, write_labels));
}

/// The list of one batch, added to the others when the batch is done.
struct Batch<'a> {
    keys: Vec<u64>,
    all: &'a Mutex<Vec<Vec<u64>>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        self.all.lock().expect("no system panics").push(keys);
    }
}

fn draw(query: Query<(&Position, &Id)>, frame: Res<Frame>, checksum: Res<Checksum>) {
    let all = Mutex::new(Vec::new());
    query.par_iter().for_each_init(
        // In a box, because Bevy moves it for each item.
        || {
            Box::new(Batch {
                keys: Vec::new(),
                all: &all,
            })
        },
        |batch, (position, id)| {
            if is_visible(frame.0, id.0) {
                batch.keys.push(sort_key(*position, id.0));
            }
        },
    );
    let lists = all.into_inner().expect("no system panics");
    let mut keys: Vec<u64> = lists.concat();
    keys.sort_unstable();
    let instances: Vec<Instance> = keys.iter().map(|key| instance(*key)).collect();
    checksum.add(sum_of_instances(&instances));
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>) {
    let near: Vec<Vec<u32>> = (0..AGENTS)
        .map(|agent| neighbours(frame.0, agent).collect())
        .collect();
    checksum.add(near.iter().flatten().map(|other| u64::from(*other)).sum());
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>) {
    let labels: Vec<String> = (0..LABELS)
        .map(|number| {
            let mut label = String::new();
            write_label(&mut label, frame.0, number);
            label
        })
        .collect();
    checksum.add(labels.iter().map(|label| label.len() as u64).sum());
}
