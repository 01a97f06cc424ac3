//! bumpalo-herd as a resource, reset at the end of each frame.
#![expect(
    unsafe_code,
    reason = "reads what was written, of memory that is not filled before"
)]

use std::mem::MaybeUninit;
use std::sync::Mutex;

use bevy_app::{App, Last, Update};
use bevy_ecs::prelude::*;
use bumpalo::collections::{String, Vec};
use bumpalo_herd::{Herd, Member};

use crate::scene::{
    AGENTS, Checksum, Frame, Id, LABELS, Position, instance, is_visible, neighbours, sort_key,
    sum_of_instances, write_label,
};

#[derive(Resource)]
struct FrameHerd(Herd);

pub(crate) fn add_systems(app: &mut App) {
    app.insert_resource(FrameHerd(Herd::new()))
        .add_systems(Update, (draw, find_neighbours, write_labels))
        .add_systems(Last, |mut herd: ResMut<FrameHerd>| herd.0.reset());
}

/// The list of one batch. A vector would borrow the member, so the list grows by hand.
struct Batch<'herd, 'all> {
    member: Member<'herd>,
    keys: &'herd mut [MaybeUninit<u64>],
    len: usize,
    all: &'all Mutex<std::vec::Vec<&'herd [u64]>>,
}

impl Batch<'_, '_> {
    fn push(&mut self, key: u64) {
        if self.len == self.keys.len() {
            let larger = self
                .member
                .alloc_slice_fill_with(64.max(2 * self.len), |_| MaybeUninit::uninit());
            larger[..self.len].copy_from_slice(self.keys);
            self.keys = larger;
        }
        self.keys[self.len].write(key);
        self.len += 1;
    }
}

impl Drop for Batch<'_, '_> {
    fn drop(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        let mut all = self.all.lock().expect("no system panics");
        // SAFETY: `push` wrote as many.
        all.push(unsafe { keys[..self.len].assume_init_ref() });
    }
}

fn draw(
    query: Query<(&Position, &Id)>,
    frame: Res<Frame>,
    checksum: Res<Checksum>,
    herd: Res<FrameHerd>,
) {
    let all = Mutex::new(std::vec::Vec::new());
    query.par_iter().for_each_init(
        // In a box, because Bevy moves it for each item.
        || {
            Box::new(Batch {
                member: herd.0.get(),
                keys: &mut [],
                len: 0,
                all: &all,
            })
        },
        |batch, (position, id)| {
            if is_visible(frame.0, id.0) {
                batch.push(sort_key(*position, id.0));
            }
        },
    );
    let lists = all.into_inner().expect("no system panics");
    let member = herd.0.get();
    let total = lists.iter().map(|list| list.len()).sum();
    let mut keys = Vec::with_capacity_in(total, member.as_bump());
    for list in lists {
        keys.extend_from_slice_copy(list);
    }
    keys.sort_unstable();
    let instances = member.alloc_slice_fill_iter(keys.iter().map(|key| instance(*key)));
    checksum.add(sum_of_instances(instances));
}

fn find_neighbours(frame: Res<Frame>, checksum: Res<Checksum>, herd: Res<FrameHerd>) {
    let member = herd.0.get();
    let bump = member.as_bump();
    let near = Vec::from_iter_in(
        (0..AGENTS).map(|agent| Vec::from_iter_in(neighbours(frame.0, agent), bump)),
        bump,
    );
    checksum.add(near.iter().flatten().map(|other| u64::from(*other)).sum());
}

fn write_labels(frame: Res<Frame>, checksum: Res<Checksum>, herd: Res<FrameHerd>) {
    let member = herd.0.get();
    let bump = member.as_bump();
    let label = |number| {
        let mut label = String::new_in(bump);
        write_label(&mut label, frame.0, number);
        label
    };
    let labels = Vec::from_iter_in((0..LABELS).map(label), bump);
    checksum.add(labels.iter().map(|label| label.len() as u64).sum());
}
