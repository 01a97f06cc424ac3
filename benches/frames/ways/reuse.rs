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

/// All lists in one, with the end of each: faster than a list of lists.
fn find_neighbours(
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    mut near: Local<Vec<u32>>,
    mut ends: Local<Vec<usize>>,
) {
    near.clear();
    ends.clear();
    for agent in 0..AGENTS {
        near.extend(neighbours(frame.0, agent));
        ends.push(near.len());
    }
    let lists = pairs(&ends).map(|(start, end)| &near[start..end]);
    checksum.add(lists.flatten().map(|other| u64::from(*other)).sum());
}

/// All labels in one, with the end of each.
fn write_labels(
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    mut text: Local<String>,
    mut ends: Local<Vec<usize>>,
) {
    text.clear();
    ends.clear();
    for number in 0..LABELS {
        write_label(&mut *text, frame.0, number);
        ends.push(text.len());
    }
    let labels = pairs(&ends).map(|(start, end)| &text[start..end]);
    checksum.add(labels.map(|label| label.len() as u64).sum());
}

/// Returns where each part starts and ends.
fn pairs(ends: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    std::iter::once(0)
        .chain(ends.iter().copied())
        .zip(ends.iter().copied())
}
