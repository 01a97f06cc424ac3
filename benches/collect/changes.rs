//! The ways to make a sorted list and to find out what has changed since the last frame.

use std::any::TypeId;
use std::mem;

use bevy_ecs::prelude::Entity;
use bevy_frame_arena::{Change, FrameArenas, FrameHandle, TwoFrames};
use bevy_utils::{Parallel, TypeIdHashMap};

use crate::scene::Scene;
use crate::ways::Way;

/// Has the most instructions that it may, as a part of Bevy's.
pub(crate) const OURS: &str = "ours: batches, `share_sorted`, `TwoFrames::changes`";

pub(crate) fn all() -> Vec<Box<dyn Way>> {
    vec![
        Box::new(Bevys::default()),
        Box::new(ByHand::default()),
        Box::new(Ours::default()),
    ]
}

/// What Bevy 0.20.1 does: `check_visibility_cpu_culling` of `bevy_camera`, then `update_cpu_culled_entities` of
/// `bevy_render`, without the copy of the list to the render world.
#[derive(Default)]
struct Bevys {
    queues: Parallel<TypeIdHashMap<Vec<Entity>>>,
    visible: TypeIdHashMap<Vec<Entity>>,
    entities: Vec<Entity>,
    added: Vec<Entity>,
    removed: Vec<Entity>,
}

impl Way for Bevys {
    fn name(&self) -> &'static str {
        "Bevy 0.20.1: queue for each class, `append`, `sort_unstable`, diff"
    }

    fn frame(&mut self, scene: &mut Scene) {
        let queues = &self.queues;
        let frustum = &scene.frustum;
        let class = TypeId::of::<Scene>();
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || queues.borrow_local_mut(),
            |queue, item| {
                if let Some(entity) = frustum.check(item) {
                    queue.entry(class).or_default().push(entity);
                }
            },
        );
        self.visible.values_mut().for_each(Vec::clear);
        for class_queues in self.queues.iter_mut() {
            for (class, entities) in class_queues {
                self.visible.entry(*class).or_default().append(entities);
            }
        }
        for visible in self.visible.values_mut() {
            visible.sort_unstable();
        }
        self.added.clear();
        self.removed.clear();
        let old = mem::take(&mut self.entities);
        let mut old = old.iter().peekable();
        for entity in &self.visible[&class] {
            while old.peek().is_some_and(|it| **it < *entity) {
                self.removed.extend(old.next());
            }
            self.entities.push(*entity);
            if old.peek().is_some_and(|it| **it == *entity) {
                old.next();
            } else {
                self.added.push(*entity);
            }
        }
        self.removed.extend(old.copied());
    }

    fn visible(&self) -> &[Entity] {
        assert!(self.entities.is_sorted());
        &self.entities
    }

    fn changes(&self) -> [&[Entity]; 2] {
        [&self.added, &self.removed]
    }
}

/// The same with one class, and with two lists that change places.
#[derive(Default)]
struct ByHand {
    queues: Parallel<Vec<Entity>>,
    now: Vec<Entity>,
    before: Vec<Entity>,
    added: Vec<Entity>,
    removed: Vec<Entity>,
}

impl Way for ByHand {
    fn name(&self) -> &'static str {
        "by hand: `Parallel<Vec>`, `drain_into`, `sort_unstable`, two kept lists"
    }

    fn frame(&mut self, scene: &mut Scene) {
        let queues = &self.queues;
        let frustum = &scene.frustum;
        scene.query.par_iter_mut(&mut scene.world).for_each_init(
            || queues.borrow_local_mut(),
            |queue, item| {
                if let Some(entity) = frustum.check(item) {
                    queue.push(entity);
                }
            },
        );
        mem::swap(&mut self.now, &mut self.before);
        self.now.clear();
        self.queues.drain_into(&mut self.now);
        self.now.sort_unstable();
        self.added.clear();
        self.removed.clear();
        let mut old = self.before.iter().peekable();
        for entity in &self.now {
            while old.peek().is_some_and(|it| **it < *entity) {
                self.removed.extend(old.next());
            }
            if old.peek().is_some_and(|it| **it == *entity) {
                old.next();
            } else {
                self.added.push(*entity);
            }
        }
        self.removed.extend(old.copied());
    }

    fn visible(&self) -> &[Entity] {
        &self.now
    }

    fn changes(&self) -> [&[Entity]; 2] {
        [&self.added, &self.removed]
    }
}

#[derive(Default)]
struct Ours {
    arenas: FrameArenas,
    visible: TwoFrames<Entity>,
    changes: [FrameHandle<[Entity]>; 2],
}

impl Way for Ours {
    fn name(&self) -> &'static str {
        OURS
    }

    fn frame(&mut self, scene: &mut Scene) {
        self.arenas.swap();
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
        self.visible.set(visible.share_sorted());
        // The others keep the changes in lists, so this does too: most games would go through them.
        let [added, removed] = [self.arenas.collector(), self.arenas.collector()];
        let (mut to_added, mut to_removed) = (added.batch(), removed.batch());
        for change in self.visible.changes(&self.arenas) {
            match change {
                Change::Added(entity) => to_added.push(*entity),
                Change::Removed(entity) => to_removed.push(*entity),
                Change::Changed { .. } => {}
            }
        }
        self.changes = [added.share(), removed.share()];
    }

    fn visible(&self) -> &[Entity] {
        &self.arenas[self.visible.now()]
    }

    fn changes(&self) -> [&[Entity]; 2] {
        self.changes.map(|list| &self.arenas[list])
    }
}
