//! Pools: keys, limits, panics, odd types, other allocators.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{FrameArena, FrameArenaSettings, OverflowPolicy, Pool, PoolError, PoolKey};

use crate::common::address::address;
use crate::common::droppy::Droppy;
use crate::common::panics::panics;

#[test]
fn a_stale_key_finds_nothing_in_the_slot_that_is_taken_again() {
    let mut pool = Pool::new();
    let old = pool.insert(1);
    assert_eq!(pool.remove(old), Some(1));
    let new = pool.insert(2);
    assert_eq!(pool.get(old), None);
    assert_eq!(pool.get_mut(old), None);
    assert_eq!(pool.remove(old), None);
    assert_eq!((pool.len(), pool[new]), (1, 2));
}

#[test]
fn no_key_is_given_twice_however_often_a_slot_is_taken() {
    let mut pool = Pool::new();
    // More than the stamps that a pool takes at a time.
    let rounds = if cfg!(miri) { 100 } else { 70_000 };
    let mut keys = HashSet::new();
    for n in 0..rounds {
        let key = pool.insert(n);
        assert!(keys.insert(key), "{key:?}");
        pool.remove(key);
    }
    assert!(keys.iter().all(|&key| pool.get(key).is_none()));
}

#[test]
fn a_key_of_another_pool_finds_nothing() {
    let mut pools = [Pool::new(), Pool::new()];
    let keys = pools.each_mut().map(|pool| pool.insert(7));
    let [first, second] = &mut pools;
    assert_eq!((first.get(keys[1]), second.get(keys[0])), (None, None));
    assert_eq!(
        (first.remove(keys[1]), second.remove(keys[0])),
        (None, None)
    );
    std::mem::swap(first, second);
    assert_eq!(
        (first.get(keys[1]), second.get(keys[0])),
        (Some(&7), Some(&7))
    );
}

#[test]
fn a_key_of_a_pool_that_is_gone_finds_nothing_in_the_next_one() {
    let old = Pool::new().insert(1);
    let mut pool = Pool::new();
    let new = pool.insert(1);
    assert_ne!(old, new);
    assert_eq!(pool.get(old), None);
}

#[test]
fn a_key_from_before_clear_stays_stale() {
    let mut pool = Pool::new();
    let old: Vec<_> = (0..100).map(|n| pool.insert(n)).collect();
    pool.clear();
    let new: Vec<_> = (0..100).map(|n| pool.insert(n)).collect();
    assert!(old.iter().all(|&key| pool.get(key).is_none()));
    assert!(new.iter().zip(0..).all(|(&key, n)| pool[key] == n));
}

#[test]
fn an_unset_key_finds_nothing() {
    let mut pool = Pool::with_limit(1000);
    for n in 0..1000 {
        pool.insert(n);
    }
    let unset = PoolKey::default();
    assert_eq!(pool.get(unset), None);
    assert_eq!(pool.remove(unset), None);
    assert_eq!(format!("{unset:?}"), "PoolKey(unset)");
}

#[test]
#[should_panic(expected = "was removed, or is in another pool")]
fn indexing_with_a_stale_key_says_why_it_panics() {
    let mut pool = Pool::new();
    let key = pool.insert(1);
    pool.remove(key);
    pool[key] = 2;
}

#[test]
#[should_panic(expected = "the key was never set")]
fn indexing_with_an_unset_key_says_so() {
    let _ = Pool::<u32>::new()[PoolKey::default()];
}

#[test]
fn a_limit_holds_and_a_removed_object_makes_room() {
    for limit in [0, 1, 8, 1500] {
        let mut pool = Pool::with_limit(limit);
        let keys: Vec<_> = (0..limit).map(|n| pool.insert(n)).collect();
        assert_eq!((pool.len(), pool.capacity()), (limit, limit));
        let full = PoolError::Full { slots: limit };
        assert_eq!(pool.try_insert(0), Err(full));
        assert_eq!(pool.try_insert_with(|_| unreachable!()), Err(full));
        assert_eq!(pool.try_reserve(1), Err(full));
        if let Some(&key) = keys.last() {
            assert_eq!(pool.remove(key), Some(limit - 1));
            assert!(pool.try_insert(0).is_ok());
        }
        pool.clear();
        assert!((0..limit).all(|n| pool.try_insert(n).is_ok()));
        assert_eq!(pool.try_insert(0), Err(full));
    }
}

#[test]
#[should_panic(expected = "it has a limit of 1 slots")]
fn insert_panics_where_a_limit_is_reached() {
    let mut pool = Pool::with_limit(1);
    pool.insert(1);
    pool.insert(2);
}

#[test]
fn sizes_that_no_pool_can_have_are_refused_at_once() {
    let mut pool = Pool::<u64>::new();
    assert!(pool.try_reserve(usize::MAX).is_err());
    assert!(pool.try_reserve(u32::MAX as usize + 1).is_err());
    assert_eq!(pool.capacity(), 0);
    assert!(Pool::<u64, _>::try_with_limit_in(usize::MAX, &FrameArena::default()).is_err());
}

#[test]
fn slots_are_filled_and_visited_in_the_order_of_memory() {
    let slots = if cfg!(miri) { 300 } else { 5000 };
    let mut pool = Pool::new();
    pool.try_reserve(slots).expect("memory");
    let slots = slots as u64;
    let keys: Vec<_> = (0..slots).map(|n| pool.insert(n)).collect();
    assert!(pool.iter().map(|(_, &n)| n).eq(0..slots));
    assert!(pool.iter().map(|(key, _)| key).eq(keys.iter().copied()));
    assert!(keys.is_sorted());
    pool.clear();
    for n in 0..slots {
        pool.insert(n);
    }
    assert!(pool.iter().map(|(_, &n)| n).eq(0..slots));
}

#[test]
fn what_is_in_a_pool_does_not_move_when_it_grows() {
    let mut pool = Pool::new();
    let first = pool.insert([0_u64; 4]);
    let before = address(&pool[first]);
    for _ in 0..if cfg!(miri) { 500 } else { 10_000 } {
        pool.insert([1; 4]);
    }
    assert_eq!(address(&pool[first]), before);
}

#[test]
fn a_maker_that_panics_leaves_the_pool_as_it_was_and_its_key_stale() {
    let mut pool = Pool::new();
    let kept = pool.insert(1);
    let mut told = PoolKey::default();
    assert!(panics(|| {
        pool.insert_with(|key| {
            told = key;
            panic!("no value")
        });
    }));
    assert_eq!((pool.len(), pool.get(told)), (1, None));
    let next = pool.insert(2);
    assert_ne!(next, told);
    assert_eq!((pool.get(told), pool[kept], pool[next]), (None, 1, 2));
}

#[test]
fn values_are_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..10)
        .map(|_| pool.insert(Droppy(Arc::clone(&drops), false)))
        .collect();
    drop(pool.remove(keys[3]));
    drop(pool.remove(keys[3]));
    assert_eq!(drops.load(SeqCst), 1);
    pool.retain(|key, _| key != keys[4]);
    assert_eq!(drops.load(SeqCst), 2);
    pool.clear();
    assert_eq!(drops.load(SeqCst), 10);
    pool.insert(Droppy(Arc::clone(&drops), false));
    drop(pool);
    assert_eq!(drops.load(SeqCst), 11);
    assert_eq!(Arc::strong_count(&drops), 1);
}

#[test]
fn destructors_that_panic_in_clear_keep_none_from_running() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut pool = Pool::new();
    for n in 0..10 {
        pool.insert(Droppy(Arc::clone(&drops), n % 3 == 0));
    }
    assert!(panics(|| pool.clear()));
    assert_eq!((drops.load(SeqCst), pool.len()), (10, 0));
    let key = pool.insert(Droppy(Arc::clone(&drops), false));
    assert!(pool.contains(key));
}

#[test]
fn a_panic_in_retain_keeps_what_was_not_visited() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut pool = Pool::new();
    for n in 0..10 {
        pool.insert(Droppy(Arc::clone(&drops), n == 5));
    }
    // The destructor of the sixth panics.
    assert!(panics(|| pool.retain(|_, _| false)));
    assert_eq!((drops.load(SeqCst), pool.len()), (6, 4));
    assert!(panics(|| pool.retain(|_, _| panic!("no verdict"))));
    assert_eq!((pool.len(), pool.iter().count()), (4, 4));
    for _ in 0..6 {
        pool.insert(Droppy(Arc::clone(&drops), false));
    }
    assert_eq!(pool.iter().count(), 10);
}

#[test]
fn types_without_size_have_keys_too() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..3000).map(|_| pool.insert(())).collect();
    assert_eq!(pool.remove(keys[1]), Some(()));
    assert_eq!(pool.remove(keys[1]), None);
    assert_eq!((pool.len(), pool.iter().len()), (2999, 2999));
}

#[test]
fn over_aligned_types_are_aligned() {
    #[derive(Debug, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);

    let arena = FrameArena::default();
    let mut alone = Pool::new();
    let mut in_arena = Pool::new_in(&arena);
    for n in 0..20 {
        let keys = (alone.insert(Page(n)), in_arena.insert(Page(n)));
        for page in [&alone[keys.0], &in_arena[keys.1]] {
            assert_eq!((page, address(page) % 4096), (&Page(n), 0));
        }
    }
}

#[test]
fn an_arena_that_is_full_is_an_error_and_not_an_abort() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        worker_capacity_bytes: 64 << 10,
        overflow: OverflowPolicy::Fail,
        ..Default::default()
    });
    let mut pool = Pool::new_in(&arena);
    let mut keys = Vec::new();
    let error = loop {
        match pool.try_insert([keys.len(); 8]) {
            Ok(key) => keys.push(key),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
    assert!(panics(|| {
        pool.insert([0; 8]);
    }));
    assert!(keys.len() > 100);
    assert!(keys.iter().zip(0..).all(|(&key, n)| pool[key] == [n; 8]));
}

#[test]
fn growth_in_an_arena_leaves_little_behind() {
    let arena = FrameArena::new(4 << 20);
    let mut pool = Pool::new_in(&arena);
    let values = if cfg!(miri) { 1_000 } else { 20_000 };
    for n in 0..values as u64 {
        pool.insert([n; 3]);
    }
    let bytes = values * 32;
    assert!(
        arena.used_bytes() < bytes + bytes / 10,
        "{}",
        arena.used_bytes()
    );
}

#[test]
fn an_iterator_knows_how_many_are_left() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..10).map(|n| pool.insert(n)).collect();
    pool.remove(keys[0]);
    pool.remove(keys[9]);
    let mut iter = pool.iter();
    assert_eq!(iter.len(), 8);
    iter.next();
    assert_eq!((iter.len(), iter.clone().count()), (7, 7));
    for (key, value) in &mut pool {
        assert_eq!(key, keys[*value as usize]);
        *value += 100;
    }
    assert_eq!(pool.get(keys[1]), Some(&101));
    assert!(format!("{pool:?}").contains("101"));
}

#[test]
fn slots_that_are_taken_do_not_count_as_room() {
    let mut pool = Pool::new();
    pool.try_reserve(1).unwrap();
    let capacity = pool.capacity();
    let mut another = Pool::<usize>::new();
    another.try_reserve(1).unwrap();
    another.try_reserve(capacity + 1).unwrap();
    assert_eq!(another.capacity(), 2 * capacity, "a block more, and no two");
    for number in 0..capacity {
        pool.try_reserve(capacity - number).unwrap();
        assert_eq!(pool.capacity(), capacity, "there is room");
        pool.insert(number);
    }
    pool.try_reserve(1).unwrap();
    assert!(pool.capacity() > capacity);
}

#[test]
fn iterators_say_how_many_values_are_left() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..4).map(|number| pool.insert(number)).collect();
    pool.remove(keys[1]);
    let mut iter = pool.iter();
    for left in [3, 2, 1] {
        assert_eq!(iter.len(), left);
        iter.next();
    }
    assert_eq!((iter.len(), iter.next()), (0, None));
    let mut iter = pool.iter_mut();
    for left in [3, 2, 1] {
        assert_eq!(iter.len(), left);
        iter.next();
    }
    assert_eq!((iter.len(), iter.next()), (0, None));
}
