//! The game without its lists: what Bevy and the computation cost by themselves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bevy_app::{App, Update};
use bevy_ecs::prelude::*;

use crate::scene::{
    AGENTS, Checksum, Frame, Id, LABELS, Position, instance, is_visible, neighbours, sort_key,
    sum_of_instances, write_label,
};

pub(crate) fn add_systems(app: &mut App) {
    app.add_systems(Update, (draw, find_neighbours, write_labels));
}

fn draw(query: Query<(&Position, &Id)>, frame: Res<Frame>, checksum: Res<Checksum>) {
    let total = AtomicU64::new(0);
    query.par_iter().for_each_init(
        || 0,
        |_, (position, id)| {
            if is_visible(frame.0, id.0) {
                let instance = instance(sort_key(*position, id.0));
                total.fetch_add(sum_of_instances(&[instance]), Relaxed);
            }
        },
    );
    checksum.add(total.into_inner());
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>) {
    let near = (0..AGENTS).flat_map(|agent| neighbours(frame.0, agent));
    checksum.add(near.map(u64::from).sum());
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>) {
    struct Length(usize);
    impl std::fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut length = Length(0);
    for number in 0..LABELS {
        write_label(&mut length, frame.0, number);
    }
    checksum.add(length.0 as u64);
}
