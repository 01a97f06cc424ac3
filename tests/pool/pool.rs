//! Pools: keys, limits, panics, odd types, the store of a level.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bevy_frame_arena::{ArenaError, FrameArena, FrameArenaSettings, FrameArenas, Pool, PoolKey};

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
    let mut pool = Pool::new();
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
fn sizes_that_no_pool_can_have_are_refused_at_once() {
    let mut pool = Pool::<u64>::new();
    for slots in [usize::MAX, usize::MAX / 16, isize::MAX as usize / 16] {
        assert!(pool.try_reserve(slots).is_err(), "{slots}");
    }
    assert_eq!(pool.capacity(), 0);
    pool.insert(7);
    assert!(pool.try_reserve(usize::MAX).is_err());
    assert_eq!(pool.iter().count(), 1);
}

#[test]
fn slots_are_filled_and_visited_in_the_order_of_memory() {
    let mut pool = Pool::new();
    let count = if cfg!(miri) { 600 } else { 5000 };
    let keys: Vec<_> = (0..count).map(|n| pool.insert(n)).collect();
    assert!(pool.iter().map(|(_, &n)| n).eq(0..count));
    assert!(pool.iter().map(|(key, _)| key).eq(keys.iter().copied()));
    pool.clear();
    pool.try_reserve(count + 100).expect("memory");
    pool.clear();
    for n in 0..count {
        pool.insert(n);
    }
    assert!(pool.iter().map(|(_, &n)| n).eq(0..count));
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
    assert!(pool.get(key).is_some());
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
    let count = if cfg!(miri) { 300 } else { 3000 };
    let keys: Vec<_> = (0..count).map(|_| pool.insert(())).collect();
    assert_eq!(pool.remove(keys[1]), Some(()));
    assert_eq!(pool.remove(keys[1]), None);
    assert_eq!((pool.len(), pool.iter().count()), (count - 1, count - 1));
}

#[test]
fn over_aligned_types_are_aligned() {
    #[derive(Debug, PartialEq)]
    #[repr(align(4096))]
    struct Page(u8);

    let mut alone = Pool::new();
    let mut in_store = Pool::with_store_of(&FrameArenas::default());
    for n in 0..20 {
        let keys = (alone.insert(Page(n)), in_store.insert(Page(n)));
        for page in [&alone[keys.0], &in_store[keys.1]] {
            assert_eq!((page, address(page) % 4096), (&Page(n), 0));
        }
    }
}

#[test]
fn an_arena_that_is_full_is_an_error_and_not_an_abort() {
    let arena = FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(64 << 10),
        ..Default::default()
    });
    let mut pool = Pool::new_in(arena);
    let mut keys = Vec::new();
    let error = loop {
        match pool.try_insert([keys.len(); 8]) {
            Ok(key) => keys.push(key),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ArenaError::Exhausted { .. }), "{error}");
    assert!(panics(|| {
        pool.insert([0; 8]);
    }));
    assert!(keys.len() > 100);
    assert!(keys.iter().zip(0..).all(|(&key, n)| pool[key] == [n; 8]));
}

#[test]
fn growth_takes_little_more_memory_than_the_values() {
    let count = if cfg!(miri) { 2000 } else { 20_000 };
    let bytes = count * 32;
    let mut pool = Pool::new_in(FrameArena::with_settings(&FrameArenaSettings {
        worker_limit_bytes: Some(bytes + bytes / 10),
        ..Default::default()
    }));
    for n in 0..count {
        pool.try_insert([n as u64; 3]).expect("room");
    }
}

#[test]
fn an_iterator_visits_what_is_left() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..10).map(|n| pool.insert(n)).collect();
    pool.remove(keys[0]);
    pool.remove(keys[9]);
    let mut iter = pool.iter();
    iter.next();
    assert_eq!(iter.count(), 7);
    for (key, value) in pool.iter_mut() {
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
fn a_pool_in_the_store_of_a_level_gives_its_blocks_back() {
    let mut level = FrameArenas::new(FrameArenaSettings {
        trim_after_periods: Some(0),
        ..Default::default()
    });
    let mut pool = Pool::with_store_of(&level);
    for n in 0..1000 {
        pool.insert([n; 8]);
    }
    let reserved_bytes = level.local().reserved_bytes();
    drop(pool);
    let mut next = Pool::with_store_of(&level);
    for n in 0..1000 {
        next.insert([n; 8]);
    }
    assert_eq!(
        level.local().reserved_bytes(),
        reserved_bytes,
        "the same blocks"
    );
    // The pool keeps its blocks when the level ends, and when its arenas are gone.
    let key = next.insert([7; 8]);
    for _ in 0..3 {
        level.local().share([0_u8; 1000]);
        level.swap();
        level.trim();
    }
    assert_eq!(next[key], [7; 8]);
    drop(level);
    assert_eq!((next[key], next.iter().count()), ([7; 8], 1001));
}

#[test]
fn slots_of_all_blocks_are_used_again_after_clear() {
    let mut pool = Pool::new();
    let mut fill = |count: usize| {
        let keys: Vec<_> = (0..count).map(|n| pool.insert([n; 40])).collect();
        assert!(pool.iter().map(|(_, value)| value[39]).eq(0..count));
        assert!(keys.iter().zip(0..).all(|(&key, n)| pool[key] == [n; 40]));
        let places: HashSet<_> = keys.iter().map(|&key| address(&pool[key])).collect();
        let capacity = pool.capacity();
        pool.clear();
        assert_eq!((pool.iter().count(), pool.iter().next()), (0, None));
        assert!(keys.iter().all(|&key| pool.get(key).is_none()));
        (places, capacity)
    };
    let (first, capacity) = fill(500);
    assert_eq!(fill(300).1, capacity);
    assert_eq!(fill(500), (first, capacity));
}

#[test]
fn visits_pass_over_vacant_slots_in_either_way_of_iterating() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..1000_u32).map(|n| pool.insert(n)).collect();
    for step in [1, 2, 3] {
        for key in keys.iter().skip(step - 1).step_by(step * 2) {
            pool.remove(*key);
        }
        let live = keys.iter().filter(|&&key| pool.get(key).is_some());
        let live: Vec<_> = live.copied().collect();
        let mut visited = Vec::new();
        for (key, _) in pool.iter() {
            visited.push(key);
        }
        assert_eq!(visited, live);
        visited.clear();
        pool.iter().for_each(|(key, _)| visited.push(key));
        assert_eq!(visited, live);
        visited.clear();
        pool.iter_mut().for_each(|(key, _)| visited.push(key));
        assert_eq!((visited.len(), &visited), (pool.len(), &live));
    }
}

#[test]
fn a_key_of_memory_that_is_gone_is_never_followed() {
    let arenas = FrameArenas::default();
    let old = Pool::with_store_of(&arenas).insert([1_u64; 4]);
    // Where the slot was: zeros, then nothing, then the slot of another pool.
    arenas.local().alloc([0_u64; 512]);
    let mut pool = Pool::new();
    let kept = pool.insert([2; 4]);
    assert_eq!(pool.get(old), None);
    assert_eq!(pool.remove(old), None);
    drop(arenas);
    assert_eq!(pool.get(old), None);
    assert_eq!(pool.get_mut(old), None);
    let mut third = Pool::with_store_of(&FrameArenas::default());
    third.insert([3; 4]);
    assert_eq!((third.get(old), pool.get(old)), (None, None));
    assert_eq!(pool.get(kept), Some(&[2; 4]));
}

#[test]
fn keys_follow_their_pool_when_it_moves() {
    let mut pools = vec![Pool::new(), Pool::new()];
    let keys: Vec<_> = pools.iter_mut().map(|pool| pool.insert(7)).collect();
    let mut last = pools.pop().expect("two");
    std::mem::swap(&mut pools[0], &mut last);
    assert_eq!(
        (pools[0].get(keys[1]), last.get(keys[0])),
        (Some(&7), Some(&7))
    );
    let taken = std::mem::take(&mut last);
    assert_eq!((last.get(keys[0]), taken.get(keys[0])), (None, Some(&7)));
    drop(taken);
    last.insert(8);
    assert_eq!((last.get(keys[0]), pools[0].get(keys[0])), (None, None));
}

#[test]
fn a_pool_goes_to_another_thread_and_is_read_by_many() {
    let mut pool = Pool::new();
    let keys: Vec<_> = (0..100).map(|n| pool.insert(n)).collect();
    let mut pool = std::thread::spawn(move || {
        pool.insert(100);
        pool
    })
    .join()
    .expect("no panic");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(keys.iter().zip(0..).all(|(&key, n)| pool[key] == n)));
        }
    });
    pool.clear();
    assert_eq!(pool.iter().count(), 0);
}

#[test]
fn destructors_that_panic_when_a_pool_is_dropped_keep_none_from_running() {
    let drops = Arc::new(AtomicUsize::new(0));
    assert!(panics(|| {
        let mut pool = Pool::new();
        for n in 0..10 {
            pool.insert(Droppy(Arc::clone(&drops), n % 3 == 0));
        }
    }));
    assert_eq!((drops.load(SeqCst), Arc::strong_count(&drops)), (10, 1));
}

#[test]
fn all_values_can_be_borrowed_exclusively_at_once() {
    let mut pool = Pool::new();
    for n in 0..300 {
        pool.insert(n);
    }
    let mut all: Vec<&mut i32> = pool.iter_mut().map(|(_, value)| value).collect();
    all.swap(0, 299);
    all.iter_mut().for_each(|value| **value += 1);
    assert_eq!(
        pool.iter().map(|(_, value)| value).sum::<i32>(),
        300 * 301 / 2
    );
}

#[test]
fn blocks_of_a_pool_leave_the_other_blocks_of_the_store_alone() {
    let arenas = FrameArenas::default();
    let arena = arenas.local();
    let mut pool = Pool::with_store_of(&arenas);
    let mut others = Vec::new();
    for n in 0..40 {
        others.push(arena.alloc([0xEE_u8; 24]));
        pool.insert([n; 600]);
    }
    assert!(others.iter().all(|bytes| **bytes == [0xEE; 24]));
    assert!(pool.iter().map(|(_, value)| value[599]).eq(0..40));
}
