//! The ways to make the list, each as its docs recommend.

use bevy_ecs::prelude::Entity;
use bevy_frame_arena::{FrameArenas, FrameCollector, FrameHandle};
use bevy_utils::Parallel;

use crate::scene::Scene;

/// Those of ours that need no more instructions than Bevy's own way, unsorted.
pub(crate) const OURS: [&str; 2] = [BATCHES, BATCHES_SORTED];

const BATCHES: &str = "ours: batches, `share`";
const BATCHES_SORTED: &str = "ours: batches, `share_sorted`";

/// One way to run a frame. What it made stays until the next one.
pub(crate) trait Way {
    fn name(&self) -> &'static str;
    fn frame(&mut self, scene: &mut Scene);
    fn visible(&self) -> &[Entity];

    /// What was added and what was removed, if that was asked for.
    fn changes(&self) -> [&[Entity]; 2] {
        [&[], &[]]
    }

    /// The same for the same entities in any order.
    fn checksum(&self) -> [(usize, u64); 3] {
        let [added, removed] = self.changes();
        [self.visible(), added, removed].map(|list| {
            let bits = list.iter().map(|entity| entity.to_bits());
            (list.len(), bits.fold(0, u64::wrapping_add))
        })
    }
}

pub(crate) fn all() -> Vec<Box<dyn Way>> {
    vec![
        Box::new(Bevys::default()),
        Box::new(BevysSorted::default()),
        Box::new(Batches::default()),
        Box::new(BatchesSorted::default()),
        Box::new(Pushes::default()),
    ]
}

/// `Local<Parallel<Vec<Entity>>>`, and a list that is kept from frame to frame.
#[derive(Default)]
struct Bevys {
    queues: Parallel<Vec<Entity>>,
    visible: Vec<Entity>,
}

impl Way for Bevys {
    fn name(&self) -> &'static str {
        "`Parallel<Vec>`, `drain_into`"
    }

    fn frame(&mut self, scene: &mut Scene) {
        let Self { queues, visible } = self;
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
    }

    fn visible(&self) -> &[Entity] {
        &self.visible
    }
}

#[derive(Default)]
struct BevysSorted(Bevys);

impl Way for BevysSorted {
    fn name(&self) -> &'static str {
        "`Parallel<Vec>`, `drain_into`, `sort_unstable`"
    }

    fn frame(&mut self, scene: &mut Scene) {
        self.0.frame(scene);
        self.0.visible.sort_unstable();
    }

    fn visible(&self) -> &[Entity] {
        assert!(self.0.visible.is_sorted());
        &self.0.visible
    }
}

#[derive(Default)]
struct Ours {
    arenas: FrameArenas,
    visible: Option<FrameHandle<[Entity]>>,
}

impl Ours {
    /// One function for both ways, as Bevy's have: how a loop is laid out in memory moves its time by some percent.
    #[inline(never)]
    fn collect(&self, scene: &mut Scene) -> FrameCollector<'_, Entity> {
        let frustum = &scene.frustum;
        let visible = self.arenas.collector();
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || visible.batch(),
            |batch, item| {
                if let Some(entity) = frustum.check(item) {
                    batch.push(entity);
                }
            },
        );
        visible
    }

    fn visible(&self) -> &[Entity] {
        self.visible.map_or(&[], |visible| &self.arenas[visible])
    }
}

#[derive(Default)]
struct Batches(Ours);

impl Way for Batches {
    fn name(&self) -> &'static str {
        BATCHES
    }

    fn frame(&mut self, scene: &mut Scene) {
        self.0.arenas.swap();
        let visible = self.0.collect(scene);
        self.0.visible = Some(visible.share());
    }

    fn visible(&self) -> &[Entity] {
        self.0.visible()
    }
}

#[derive(Default)]
struct BatchesSorted(Ours);

impl Way for BatchesSorted {
    fn name(&self) -> &'static str {
        BATCHES_SORTED
    }

    fn frame(&mut self, scene: &mut Scene) {
        self.0.arenas.swap();
        let visible = self.0.collect(scene);
        self.0.visible = Some(visible.share_sorted());
    }

    fn visible(&self) -> &[Entity] {
        assert!(self.0.visible().is_sorted());
        self.0.visible()
    }
}

#[derive(Default)]
struct Pushes(Ours);

impl Way for Pushes {
    fn name(&self) -> &'static str {
        "ours: `for_each` and `push`, `share`"
    }

    fn frame(&mut self, scene: &mut Scene) {
        self.0.arenas.swap();
        let frustum = &scene.frustum;
        let visible = self.0.arenas.collector();
        scene.query.par_iter_mut(&mut scene.world).for_each(|item| {
            if let Some(entity) = frustum.check(item) {
                visible.push(entity);
            }
        });
        self.0.visible = Some(visible.share());
    }

    fn visible(&self) -> &[Entity] {
        self.0.visible()
    }
}
