//! A global allocator that uses a free list while the list takes memory for itself.

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use bevy_frame_arena::{FrameArenas, FreeList};
use hashbrown::HashMap;

use crate::common::settings::blocks_of;
use crate::hostile_allocator::{Trick, with};

type Map = HashMap<usize, [usize; 3], foldhash::fast::FixedState, &'static FreeList<'static>>;

thread_local! {
    static LIST: Cell<Option<&'static FreeList<'static>>> = const { Cell::new(None) };
    /// Maps of the list that grow and end within calls.
    static MAPS: RefCell<Vec<Map>> = const { RefCell::new(Vec::new()) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn list() -> &'static FreeList<'static> {
    LIST.get().expect("it was set")
}

fn new_map() -> Map {
    HashMap::with_hasher_in(foldhash::fast::FixedState::default(), list())
}

/// Allocates, resizes and frees blocks of the list, small and large.
fn use_list() {
    let n = CALLS.replace(CALLS.get() + 1);
    let mut maps = MAPS.take();
    if n.is_multiple_of(3) {
        maps.push(new_map());
    }
    for map in &mut maps {
        (map.len()..map.len() + 9).for_each(|key| _ = map.insert(key, [key; 3]));
        assert!(map.iter().all(|(key, value)| *value == [*key; 3]));
    }
    if n % 5 == 4 {
        maps.remove(0);
    }
    let mut shrinking = new_map();
    (0..n % 70).for_each(|key| _ = shrinking.insert(key, [n; 3]));
    shrinking.retain(|key, _| key % 8 == 0);
    shrinking.shrink_to_fit();
    assert!(shrinking.values().all(|value| *value == [n; 3]));
    MAPS.set(maps);
}

#[test]
fn a_global_allocator_may_use_the_free_list_that_it_allocates_for() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(|| FrameArenas::new(blocks_of(256)));
    let arena = ARENAS.local();
    LIST.set(Some(arena.alloc(FreeList::new_in(100, arena))));
    let rounds = if cfg!(miri) { 3 } else { 20 };
    let mut outer: Vec<_> = (0..rounds).map(|_| new_map()).collect();
    for key in 0..rounds * 4 {
        for map in &mut outer {
            with(Trick::EachCall(use_list), || map.insert(key, [key; 3]));
        }
        with(Trick::EachCall(use_list), || list().try_reserve(key * 300)).expect("no limit");
    }
    assert!(CALLS.get() >= 3, "the allocator called back");
    for map in outer {
        assert!((0..rounds * 4).all(|key| map[&key] == [key; 3]));
    }
    MAPS.set(Vec::new());
    let capacity = list().capacity_bytes();
    list()
        .try_reserve((rounds * 4 - 1) * 300)
        .expect("no limit");
    assert_eq!(list().capacity_bytes(), capacity, "all is free and joined");
}
