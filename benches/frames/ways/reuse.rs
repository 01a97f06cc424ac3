//! Buffers kept in `Local`s and `Parallel`, cleared and filled again each frame.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_utils::Parallel;

use crate::scene::{
    AGENTS, Checksum, Frame, Id, Instance, LABELS, Position, instance, is_visible, neighbours,
    sort_key, sum_of_instances, write_label,
};

pub(crate) fn add_systems(app: &mut App) {
    app.add_systems(Update, (draw, find_neighbours, write_labels));
}

fn draw(
    query: Query<(&Position, &Id)>,
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    mut queues: Local<Parallel<Vec<u64>>>,
    mut keys: Local<Vec<u64>>,
    mut instances: Local<Vec<Instance>>,
) {
    query.par_iter().for_each_init(
        || queues.borrow_local_mut(),
        |queue, (position, id)| {
            if is_visible(frame.0, id.0) {
                queue.push(sort_key(*position, id.0));
            }
        },
    );
    keys.clear();
    queues.drain_into(&mut keys);
    keys.sort_unstable();
    instances.clear();
    instances.extend(keys.iter().map(|key| instance(*key)));
    checksum.add(sum_of_instances(&instances));
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, mut near: Local<Vec<Vec<u32>>>) {
    near.resize_with(AGENTS as usize, Vec::new);
    for (agent, list) in (0..AGENTS).zip(near.iter_mut()) {
        list.clear();
        list.extend(neighbours(frame.0, agent));
    }
    checksum.add(near.iter().flatten().map(|other| u64::from(*other)).sum());
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>, mut labels: Local<Vec<String>>) {
    labels.resize_with(LABELS as usize, String::new);
    for (number, label) in (0..LABELS).zip(labels.iter_mut()) {
        label.clear();
        write_label(label, frame.0, number);
    }
    checksum.add(labels.iter().map(|label| label.len() as u64).sum());
}
