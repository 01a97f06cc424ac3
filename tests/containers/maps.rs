//! Maps and sets in an arena.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use bevy_frame_arena::{FrameArena, FrameMap};
use bevy_platform::hash::FixedHasher;
use proptest::prelude::*;

use crate::elements::{Element, Tracked, live};
use crate::limits::limited;

#[test]
fn maps_do_what_maps_do() {
    let arena = FrameArena::new(1024);
    let mut map = arena.map();
    assert!(map.is_empty());
    for n in 0..1000_u32 {
        *map.entry(n % 100).or_insert(0) += n;
    }
    assert_eq!(
        (map.len(), map[&7]),
        (100, (0..10).map(|n| n * 100 + 7).sum())
    );
    map.retain(|key, _| key % 2 == 0);
    assert_eq!(map.keys().len(), 50);
    for value in map.values_mut() {
        *value = 1;
    }
    for (_, value) in &mut map {
        *value += 1;
    }
    map.iter_mut().for_each(|(_, value)| *value += 1);
    assert_eq!(map.values().sum::<u32>(), 150);
    assert_eq!((&map).into_iter().len(), map.iter().len());
    *map.get_mut(&2).unwrap() = 9;
    assert_eq!(
        (map.insert(2, 3), map.remove(&2), map.get(&2)),
        (Some(9), Some(3), None)
    );
    assert_eq!(map.drain().count(), 49);
    map.extend([(1, 2)]);
    assert_eq!(format!("{map:?}"), "{1: 2}");
    assert!(map.into_iter().eq([(1, 2)]));
}

#[test]
fn maps_take_the_hasher_of_bevy_and_borrowed_keys() {
    let arena = FrameArena::new(1024);
    let mut map = arena.map_with_hasher(FixedHasher);
    map.insert(String::from("hp"), 10);
    assert_eq!(map.get("hp"), Some(&10));
    let mut set = arena.set_with_hasher(FixedHasher);
    set.insert(String::from("hp"));
    assert!(set.contains("hp") && set.get("mp").is_none());
}

#[test]
fn the_order_of_a_map_is_the_same_in_each_frame() {
    let mut arena = FrameArena::new(4096);
    let order = |arena: &FrameArena| {
        let mut map = arena.map();
        map.extend((0..50).map(|n| (n, ())));
        map.keys().copied().collect::<Vec<i32>>()
    };
    let first = order(&arena);
    arena.reset();
    assert_eq!(order(&arena), first);
}

#[test]
fn a_map_drops_its_elements_once_and_gives_its_memory_back() {
    let before = live();
    let arena = FrameArena::new(4096);
    let mut map = arena.map();
    map.reserve(20);
    map.extend((0..20).map(|n| (n, Tracked::make(n))));
    map.insert(3, Tracked::make(3));
    drop(map.remove(&4));
    drop(map);
    assert_eq!((live(), arena.used_bytes()), (before, 0));
}

/// A key whose hash and equality depend on how often they are asked for, or that panics.
#[derive(Debug)]
struct Hostile {
    inside: Tracked,
    calls: Rc<Cell<u32>>,
    /// The call that panics.
    last_call: u32,
}

impl Hostile {
    fn ask(&self) -> u32 {
        self.calls.set(self.calls.get() + 1);
        assert_ne!(self.calls.get(), self.last_call, "armed");
        self.calls.get()
    }
}

impl Hash for Hostile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.ask() / 3 + self.inside.number() % 2).hash(state);
    }
}

impl PartialEq for Hostile {
    fn eq(&self, _: &Self) -> bool {
        self.ask().is_multiple_of(5)
    }
}

impl Eq for Hostile {}

#[test]
fn a_key_that_lies_or_panics_is_dropped_once() {
    let cases = if cfg!(miri) { 0..20 } else { 0..600 };
    for last_call in cases {
        let before = live();
        let arena = FrameArena::new(512);
        let (mut map, mut set) = (arena.map(), arena.set());
        let calls = Rc::new(Cell::new(0));
        let key = |number| Hostile {
            inside: Tracked::make(number),
            calls: Rc::clone(&calls),
            last_call,
        };
        let _armed = catch_unwind(AssertUnwindSafe(|| {
            for n in 0..40 {
                map.insert(key(n), Tracked::make(n));
                set.insert(key(n));
                *map.entry(key(n)).or_insert(Tracked::make(n)) = Tracked::make(n);
                map.remove(&key(n / 2));
                set.remove(&key(n / 2));
            }
            map.extend((0..20).map(|n| (key(n), Tracked::make(n))));
            set.extend((0..20).map(key));
            map.retain(|key, _| key.ask() % 2 == 0);
            set.retain(|key| key.ask() % 2 == 0);
        }));
        assert_eq!(map.iter().count(), map.len());
        assert_eq!(set.iter().count(), set.len());
        assert!(map.values().all(|value| value.number() < 40));
        drop((map, set));
        assert_eq!(live(), before, "armed at {last_call}");
    }
}

/// An arena whose map has no room left, and the map with all its keys below the length.
fn full_map(arena: &FrameArena) -> FrameMap<'_, u32, u32> {
    let mut map = arena.map();
    while map.try_reserve(1).is_ok() {
        map.insert(map.len() as u32, 0);
    }
    assert!(map.len() > 5 && map.len() == map.capacity());
    map
}

#[test]
fn the_entry_of_a_key_that_is_there_neither_grows_nor_panics() {
    let arena = limited(1024);
    let mut map = full_map(&arena);
    let before = (map.capacity(), arena.used_bytes());
    for key in 0..map.len() as u32 {
        *map.entry(key).or_insert(7) += 1;
    }
    assert!(map.values().all(|&value| value == 1));
    assert_eq!((map.capacity(), arena.used_bytes()), before);
    // Neither does it where there is memory.
    let arena = FrameArena::new(1 << 16);
    let mut map = arena.map();
    map.extend((0..28).map(|key| (key, 0)));
    assert_eq!(map.capacity(), 28);
    *map.entry(3).or_insert(0) += 1;
    assert_eq!(map.capacity(), 28);
}

#[test]
fn methods_of_hashbrown_that_grow_panic_at_a_limit_instead_of_aborting() {
    let arena = limited(1024);
    let refused = |call: &mut dyn FnMut()| {
        let payload = catch_unwind(AssertUnwindSafe(call)).expect_err("it should panic");
        let text = payload.downcast::<String>().expect("a formatted text");
        assert!(text.contains("exhausted"), "{text}");
    };
    let mut map = full_map(&arena);
    let len = map.len();
    refused(&mut || _ = (*map).insert(1000, 1));
    refused(&mut || (*map).reserve(1000));
    while arena.try_alloc(0_u64).is_ok() {}
    refused(&mut || drop((*map).clone()));
    refused(&mut || drop(map.clone()));
    assert_eq!((map.len(), map.iter().count()), (len, len));
    let arena = limited(1024);
    let mut set = arena.set();
    while set.try_reserve(1).is_ok() {
        set.insert(set.len());
    }
    refused(&mut || _ = set.get_or_insert(1000));
    refused(&mut || _ = set.replace(1000));
    while arena.try_alloc(0_u64).is_ok() {}
    refused(&mut || drop(set.clone()));
    assert_eq!(set.iter().count(), set.len());
}

/// A hash function that panics when it is told to.
#[derive(Clone, Default)]
struct Fused(Rc<Cell<bool>>, FixedHasher);

impl BuildHasher for Fused {
    type Hasher = <FixedHasher as BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        assert!(!self.0.get(), "armed");
        self.1.build_hasher()
    }
}

#[test]
fn a_hash_function_that_panics_leaves_no_map_that_aborts() {
    let arena = limited(4096);
    let hasher = Fused::default();
    let mut map = arena.map_with_hasher(hasher.clone());
    map.extend((0..28_u32).map(|key| (key, ())));
    // Few elements, and yet no room: it rehashes in place, and asks for no memory.
    let mut next = 28;
    while map.len() > 8 || map.capacity() > map.len() {
        if map.capacity() > map.len() {
            map.insert(next, ());
            next += 1;
        }
        if map.len() > 8 {
            let key = *map.keys().next().unwrap();
            map.remove(&key);
        }
    }
    hasher.0.set(true);
    assert!(catch_unwind(AssertUnwindSafe(|| map.try_reserve(1))).is_err());
    hasher.0.set(false);
    let payload = catch_unwind(AssertUnwindSafe(|| (*map).reserve(10_000))).unwrap_err();
    let text = payload.downcast::<String>().expect("a formatted text");
    assert!(text.contains("exhausted"), "{text}");
}

#[test]
fn clones_are_in_the_same_arena_and_reuse_their_memory() {
    let arena = FrameArena::new(4096);
    let mut map = arena.map();
    map.extend((0..20).map(|n| (n, Tracked::make(n))));
    let mut clone = map.clone();
    assert!(*clone == *map);
    clone.remove(&3);
    map.insert(30, Tracked::make(30));
    let used = arena.used_bytes();
    (*clone).clone_from(&map);
    assert!(*clone == *map);
    assert_eq!(arena.used_bytes(), used);
    let mut set = arena.set();
    set.extend(0..20);
    let mut clone = set.clone();
    clone.remove(&3);
    assert!(clone.is_subset(&set) && set.difference(&clone).eq([&3]));
    (*clone).clone_from(&set);
    assert!(*clone == *set);
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_map_and_a_set_do_what_those_of_std_do(
        steps in prop::collection::vec((0..7_u8, 0..40_u16), 0..if cfg!(miri) { 20 } else { 120 })
    ) {
        let arena = FrameArena::new(256);
        let (mut map, mut theirs) = (arena.map(), HashMap::new());
        let (mut set, mut their_set) = (arena.set(), HashSet::new());
        for (kind, key) in steps {
            match kind {
                0 | 1 => {
                    prop_assert_eq!(map.insert(key, kind), theirs.insert(key, kind));
                    prop_assert_eq!(set.insert(key), their_set.insert(key));
                }
                2 => {
                    prop_assert_eq!(map.remove(&key), theirs.remove(&key));
                    prop_assert_eq!(set.remove(&key), their_set.remove(&key));
                }
                3 => {
                    prop_assert_eq!(map.entry(key).or_insert(7), theirs.entry(key).or_insert(7));
                    prop_assert_eq!(set.contains(&key), their_set.contains(&key));
                }
                4 => {
                    map.extend((0..key).map(|n| (n, 1)));
                    theirs.extend((0..key).map(|n| (n, 1)));
                    set.extend(0..key);
                    their_set.extend(0..key);
                }
                5 => {
                    prop_assert_eq!(map.remove_entry(&key), theirs.remove_entry(&key));
                    prop_assert_eq!(map.get_key_value(&key), theirs.get_key_value(&key));
                    let taken = sorted(map.extract_if(|k, _| k % 7 == key % 7));
                    prop_assert_eq!(taken, sorted(theirs.extract_if(|k, _| k % 7 == key % 7)));
                    let (mut other, their_other) = (arena.set(), HashSet::from_iter(0..key));
                    other.extend(0..key);
                    let both = sorted(set.union(&other));
                    prop_assert_eq!(both, sorted(their_set.union(&their_other)));
                    let common = sorted(set.intersection(&other));
                    prop_assert_eq!(common, sorted(their_set.intersection(&their_other)));
                    prop_assert_eq!(set.is_subset(&other), their_set.is_subset(&their_other));
                }
                _ => {
                    map.retain(|k, _| k % 3 != key % 3);
                    theirs.retain(|k, _| k % 3 != key % 3);
                    set.retain(|k| k % 3 != key % 3);
                    their_set.retain(|k| k % 3 != key % 3);
                }
            }
            prop_assert_eq!(map.len(), theirs.len());
            prop_assert!(theirs.iter().all(|(key, value)| map.get(key) == Some(value)));
            prop_assert_eq!(set.iter().count(), their_set.len());
            prop_assert!((&set).into_iter().all(|key| their_set.contains(key)));
        }
        prop_assert_eq!(sorted(map.clone().into_iter()), sorted(theirs.into_iter()));
        prop_assert_eq!(sorted(set.into_iter()), sorted(their_set.into_iter()));
    }
}
