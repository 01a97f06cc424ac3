//! The app of the benchmark `frames`, whose data nobody reads in the next frame, with its work spread over the workers.

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;
use bevy_utils::Parallel;

use crate::frames::ways::WAYS;
use crate::scene::{
    self, AGENTS, Checksum, Frame, Id, Instance, LABELS, Position, instance, is_visible,
    neighbours, sort_key, sum_of_instances, write_label,
};
use crate::ways::{Way, arenas_of_one_period};

pub(crate) fn app(way: Way) -> Option<App> {
    let mut app = scene::app();
    let name = match way {
        Way::Nothing => "nothing stored",
        Way::Reuse => "`Local` and `Parallel`, reused",
        Way::ReuseTwice => {
            app.add_systems(Update, (draw, find_neighbours, write_labels));
            return Some(app);
        }
        Way::Herd => "bumpalo-herd",
        Way::Ours => "ours",
        Way::Scratch => "ours, with scratch",
        Way::OnePeriod => {
            app.insert_resource(arenas_of_one_period());
            "ours, with scratch"
        }
    };
    let way = WAYS.iter().find(|way| way.name == name);
    (way.expect("a way of this name").add_systems)(&mut app);
    Some(app)
}

fn draw(
    query: Query<(&Position, &Id)>,
    (frame, checksum): (Res<Frame>, Res<Checksum>),
    mut queues: Local<Parallel<Vec<u64>>>,
    mut keys: Local<Vec<u64>>,
    mut instances: Local<[Vec<Instance>; 2]>,
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
    let instances = &mut instances[frame.0 as usize % 2];
    instances.clear();
    instances.extend(keys.iter().map(|key| instance(*key)));
    checksum.add(sum_of_instances(instances));
}

fn find_neighbours(
    (frame, checksum): (Res<Frame>, Res<Checksum>),
    mut lists: Local<[(Vec<u32>, Vec<usize>); 2]>,
) {
    let (near, ends) = &mut lists[frame.0 as usize % 2];
    near.clear();
    ends.clear();
    for agent in 0..AGENTS {
        near.extend(neighbours(frame.0, agent));
        ends.push(near.len());
    }
    checksum.add(near.iter().map(|other| u64::from(*other)).sum());
}

fn write_labels(
    (frame, checksum): (Res<Frame>, Res<Checksum>),
    mut labels: Local<[(String, Vec<usize>); 2]>,
) {
    let (text, ends) = &mut labels[frame.0 as usize % 2];
    text.clear();
    ends.clear();
    for number in 0..LABELS {
        write_label(text, frame.0, number);
        ends.push(text.len());
    }
    checksum.add(text.len() as u64);
}
