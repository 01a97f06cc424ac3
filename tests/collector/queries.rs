//! Collecting from Bevy's parallel queries.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_ecs::prelude::{Component, Entity, World};
use bevy_ecs::query::With;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};

use crate::common::panics::panics;
use crate::{Drops, MANY, small};

#[derive(Component)]
struct Number(usize);

fn world(entities: usize) -> World {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    let mut world = World::new();
    world.spawn_batch((0..entities).map(Number));
    world
}

#[test]
fn a_parallel_query_gives_the_same_list_each_time() {
    let mut world = world(MANY);
    let mut arenas = small();
    let mut query = world.query::<(Entity, &Number)>();
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        let even = arenas.collector();
        let odd = arenas.collector();
        query.par_iter(&world).for_each_init(
            || even.batch(),
            |batch, (entity, number)| match number.0 % 2 {
                0 => batch.push(entity),
                _ => odd.push(number.0),
            },
        );
        let (even, odd) = (even.share_sorted(), odd.share_sorted());
        assert_eq!(arenas[even].len(), MANY / 2);
        assert!(arenas[even].is_sorted());
        assert!(arenas[odd].iter().copied().eq((0..MANY).skip(1).step_by(2)));
        arenas.swap();
    }
}

#[test]
fn a_scope_nested_on_the_same_worker_collects_too() {
    let mut world = world(if cfg!(miri) { 8 } else { 64 });
    let arenas = small();
    let mut query = world.query_filtered::<Entity, With<Number>>();
    query.update_archetypes(&world);
    let query = query.query_manual(&world);
    let outer = arenas.collector();
    // A worker that waits for the inner loop may run a part of the outer one.
    query.par_iter().for_each_init(
        || outer.batch(),
        |batch, entity| {
            let inner = arenas.collector();
            query.par_iter().for_each_init(
                || inner.batch(),
                |batch, entity| {
                    batch.push(entity);
                    let scratch = arenas.scratch();
                    assert_eq!(*scratch.alloc(entity), entity);
                },
            );
            batch.push((entity, arenas[inner.share()].len()));
        },
    );
    let list = outer.share_sorted();
    let all = query.iter().count();
    assert_eq!(arenas[list].len(), all);
    assert!(arenas[list].iter().all(|(_, inner)| *inner == all));
}

#[test]
fn a_panic_in_a_parallel_query_drops_each_element_once() {
    let mut world = world(if cfg!(miri) { 40 } else { 2_000 });
    let drops = Drops::default();
    let pushed = AtomicUsize::new(0);
    let arenas = small();
    let mut query = world.query::<&Number>();
    assert!(panics(|| {
        let collector = arenas.collector();
        query.par_iter(&world).for_each_init(
            || collector.batch(),
            |batch, number| {
                assert_ne!(number.0, 33, "expected");
                pushed.fetch_add(1, SeqCst);
                batch.push(drops.tracked(number.0));
            },
        );
    }));
    assert_eq!(drops.count(), pushed.load(SeqCst));
}
