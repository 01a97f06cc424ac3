//! Bevy's visibility check: one list of what is visible, out of a `par_iter`.
#![expect(
    unsafe_code,
    reason = "reads what was written, of memory that is not filled before"
)]

use std::mem::MaybeUninit;
use std::sync::Mutex;

use bevy_ecs::prelude::Entity;
use bevy_frame_arena::{FrameArenas, FrameHandle, FrameVec};
use bevy_utils::Parallel;
use bumpalo_herd::{Herd, Member};

use crate::scene::{SCENES, Scene};
use crate::ways::{self, Entry, Way};

pub(crate) const ENTRIES: [Entry; 6] = [
    Entry::new("visibility", ways::HEAP, || Box::new(Heap(scene()))),
    Entry::new("visibility", ways::REUSE, || Box::new(Reuse::new())),
    Entry::new("visibility", ways::HERD, || {
        Box::new(Herded(scene(), Herd::new()))
    }),
    Entry::new("visibility", ways::OURS, || {
        Box::new(Ours(scene(), FrameArenas::default()))
    }),
    Entry::new("visibility", ways::SCRATCH, || {
        Box::new(Collector(scene(), FrameArenas::default()))
    }),
    Entry::new("visibility", ways::ONE_FRAME, || {
        Box::new(Collector(scene(), ways::arenas_of_one_frame()))
    }),
];

/// 20,000 entities, of which 60 % are visible.
fn scene() -> Scene {
    Scene::new(SCENES[1])
}

fn sum(visible: &[Entity]) -> u64 {
    let bits = visible.iter().map(|entity| entity.to_bits());
    bits.fold(visible.len() as u64, u64::wrapping_add)
}

/// The list of one batch, added to the others when the batch is done.
struct HeapBatch<'a> {
    list: Vec<Entity>,
    all: &'a Mutex<Vec<Vec<Entity>>>,
}

impl Drop for HeapBatch<'_> {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.list);
        self.all.lock().expect("no system panics").push(list);
    }
}

struct Heap(Scene);

impl Way for Heap {
    fn prepare(&mut self, frame: u32) {
        self.0.scatter(frame);
    }

    fn frame(&mut self, _frame: u32) -> u64 {
        let scene = &mut self.0;
        let (frustum, all) = (&scene.frustum, &Mutex::new(Vec::new()));
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            // In a box, because Bevy moves it for each item.
            || {
                Box::new(HeapBatch {
                    list: Vec::new(),
                    all,
                })
            },
            |batch, item| batch.list.extend(frustum.check(item)),
        );
        let lists = all.lock().expect("no system panics");
        sum(&lists.concat())
    }
}

struct Reuse {
    scene: Scene,
    queues: Parallel<Vec<Entity>>,
    visible: Vec<Entity>,
}

impl Reuse {
    fn new() -> Self {
        Self {
            scene: scene(),
            queues: Parallel::default(),
            visible: Vec::new(),
        }
    }
}

impl Way for Reuse {
    fn prepare(&mut self, frame: u32) {
        self.scene.scatter(frame);
    }

    fn frame(&mut self, _frame: u32) -> u64 {
        let Self {
            scene,
            queues,
            visible,
        } = self;
        let frustum = &scene.frustum;
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || queues.borrow_local_mut(),
            |queue, item| {
                if let Some(entity) = frustum.check(item) {
                    queue.push(entity);
                }
            },
        );
        visible.clear();
        queues.drain_into(visible);
        sum(visible)
    }
}

/// The list of one batch. A vector would borrow the member, so the list grows by hand.
struct HerdBatch<'herd, 'all> {
    member: Member<'herd>,
    list: &'herd mut [MaybeUninit<Entity>],
    len: usize,
    all: &'all Mutex<Vec<&'herd [Entity]>>,
}

impl HerdBatch<'_, '_> {
    fn push(&mut self, entity: Entity) {
        if self.len == self.list.len() {
            let capacity = 64.max(2 * self.len);
            let larger = self
                .member
                .alloc_slice_fill_with(capacity, |_| MaybeUninit::uninit());
            larger[..self.len].copy_from_slice(self.list);
            self.list = larger;
        }
        self.list[self.len].write(entity);
        self.len += 1;
    }
}

impl Drop for HerdBatch<'_, '_> {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.list);
        let mut all = self.all.lock().expect("no system panics");
        // SAFETY: `push` wrote as many.
        all.push(unsafe { list[..self.len].assume_init_ref() });
    }
}

struct Herded(Scene, Herd);

impl Way for Herded {
    fn prepare(&mut self, frame: u32) {
        self.0.scatter(frame);
    }

    fn frame(&mut self, _frame: u32) -> u64 {
        let Self(scene, herd) = self;
        let result = {
            let (herd, frustum, all) = (&*herd, &scene.frustum, &Mutex::new(Vec::new()));
            scene.query.par_iter_mut(&mut scene.world).for_each_init(
                || {
                    Box::new(HerdBatch {
                        member: herd.get(),
                        list: &mut [],
                        len: 0,
                        all,
                    })
                },
                |batch, item| {
                    frustum
                        .check(item)
                        .into_iter()
                        .for_each(|it| batch.push(it));
                },
            );
            let lists = all.lock().expect("no system panics");
            let member = herd.get();
            let total = lists.iter().map(|list| list.len()).sum();
            let bump = member.as_bump();
            let mut visible = bumpalo::collections::Vec::with_capacity_in(total, bump);
            for list in &*lists {
                visible.extend_from_slice_copy(list);
            }
            sum(&visible)
        };
        herd.reset();
        result
    }
}

/// The list of one batch, shared with the others when the batch is done.
struct OursBatch<'arena, 'all> {
    list: FrameVec<'arena, Entity>,
    all: &'all Mutex<Vec<FrameHandle<[Entity]>>>,
}

impl Drop for OursBatch<'_, '_> {
    fn drop(&mut self) {
        let empty = self.list.arena().vec();
        let list = std::mem::replace(&mut self.list, empty);
        let mut all = self.all.lock().expect("no system panics");
        all.push(list.share());
    }
}

/// By hand, as one wrote it before there were collectors.
struct Ours(Scene, FrameArenas);

impl Way for Ours {
    fn prepare(&mut self, frame: u32) {
        self.0.scatter(frame);
    }

    fn frame(&mut self, _frame: u32) -> u64 {
        let Self(scene, arenas) = self;
        arenas.swap();
        let (frustum, all) = (&scene.frustum, &Mutex::new(Vec::new()));
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || {
                let arena = arenas.local();
                let list = arena.vec();
                arena.boxed(OursBatch { list, all })
            },
            |batch, item| {
                frustum
                    .check(item)
                    .into_iter()
                    .for_each(|it| batch.list.push(it));
            },
        );
        let lists = all.lock().expect("no system panics");
        let mut visible = arenas.local().vec();
        visible.reserve(lists.iter().map(|list| arenas[*list].len()).sum());
        for list in &*lists {
            visible.extend_from_slice(&arenas[*list]);
        }
        sum(&visible)
    }
}

struct Collector(Scene, FrameArenas);

impl Way for Collector {
    fn prepare(&mut self, frame: u32) {
        self.0.scatter(frame);
    }

    fn frame(&mut self, _frame: u32) -> u64 {
        let Self(scene, arenas) = self;
        arenas.swap();
        let (frustum, visible) = (&scene.frustum, arenas.collector());
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || visible.batch(),
            |batch, item| {
                if let Some(entity) = frustum.check(item) {
                    batch.push(entity);
                }
            },
        );
        sum(&arenas[visible.share()])
    }
}
