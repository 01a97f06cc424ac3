//! Scratch memory: whose it is, when it is free again, and what becomes of what was left in it.
#![expect(
    unsafe_code,
    reason = "a global allocator that counts is an unsafe impl"
)]

#[path = "counting/counting_allocator.rs"]
mod counting;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, LazyLock, OnceLock};
use std::thread;

use bevy_frame_arena::{
    ArenaError, FrameArena, FrameArenaSettings, FrameArenas, OverflowPolicy, Scratch,
};
use static_assertions::assert_not_impl_any;

use counting::calls_in;

// The arena belongs to the guard's thread, and goes back to a list of that thread.
assert_not_impl_any!(Scratch<'static>: Send, Sync, Clone);

const MANY: usize = if cfg!(miri) { 20 } else { 2_000 };

fn small() -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 4096,
        trim_after_frames: Some(4),
        ..FrameArenaSettings::default()
    })
}

fn address(arena: &FrameArena) -> usize {
    ptr::from_ref(arena).addr()
}

fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

/// Counts how often it is dropped.
struct Tracked(Arc<AtomicUsize>);

impl Drop for Tracked {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn the_same_memory_is_used_again_and_again() {
    let arenas = small();
    let places: HashSet<_> = (0..MANY)
        .map(|n| {
            let scratch = arenas.scratch();
            let value = scratch.alloc(n);
            assert_eq!((*value, scratch.used_bytes()), (n, 8));
            ptr::from_ref(value).addr()
        })
        .collect();
    assert_eq!(places.len(), 1);
    assert_eq!(arenas.used_bytes_so_far(), 0);
}

#[test]
fn nested_guards_have_arenas_of_their_own() {
    let arenas = small();
    let outer = arenas.scratch();
    let value = outer.alloc(1_u64);
    for _ in 0..3 {
        let inner = arenas.scratch();
        assert_ne!(address(&inner), address(&outer));
        inner.alloc(2_u64);
    }
    assert_eq!(*value, 1);
    assert_ne!(address(arenas.local()), address(&outer));
}

#[test]
fn guards_may_end_in_any_order() {
    let arenas = small();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let mut guards: [_; 3] = std::array::from_fn(|_| Some(arenas.scratch()));
        let places: HashSet<_> = guards.iter().flatten().map(|g| address(g)).collect();
        assert_eq!(places.len(), 3);
        for index in order {
            guards[index] = None;
        }
    }
}

#[test]
fn no_handle_resolves_after_its_guard() {
    let mut arenas = small();
    let scratch = arenas.scratch();
    let handle = scratch.share(7);
    assert_eq!(scratch.get(handle), Some(&7));
    assert_eq!(arenas.get(handle), None);
    let place = address(&scratch);
    drop(scratch);
    let again = arenas.scratch();
    assert_eq!(address(&again), place);
    again.share(8);
    assert_eq!(again.get(handle), None);
    drop(again);
    arenas.swap();
    assert_eq!(arenas.scratch().get(handle), None);
}

#[test]
fn a_handle_is_stale_after_as_many_guards_as_there_are_stamps_in_a_block() {
    if cfg!(miri) {
        return;
    }
    let arenas = small();
    let handle = arenas.scratch().share(7);
    for _ in 0..(1 << 16) + 2 {
        assert_eq!(arenas.scratch().get(handle), None);
    }
}

#[test]
fn a_reset_between_two_items_frees_and_drops() {
    let drops = Arc::new(AtomicUsize::new(0));
    let arenas = small();
    let mut scratch = arenas.scratch();
    for item in 0..5 {
        scratch.reset();
        assert_eq!((scratch.used_bytes(), drops.load(SeqCst)), (0, item));
        scratch.share(Tracked(Arc::clone(&drops)));
    }
    drop(scratch);
    assert_eq!(drops.load(SeqCst), 5);
}

#[test]
fn shared_values_are_dropped_once_also_when_the_scope_panics() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    assert!(panics(|| {
        let scratch = arenas.scratch();
        scratch.share(Tracked(Arc::clone(&drops)));
        panic!("expected");
    }));
    assert_eq!(drops.load(SeqCst), 1);
    assert_eq!(arenas.scratch().used_bytes(), 0);
    arenas.swap();
    drop(arenas);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_destructor_that_panics_does_not_keep_the_arena_from_going_back() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let scratch = arenas.scratch();
    let place = address(&scratch);
    scratch.share(Tracked(Arc::clone(&drops)));
    scratch.share(Bomb);
    scratch.share(Tracked(Arc::clone(&drops)));
    assert!(panics(|| drop(scratch)));
    assert_eq!(drops.load(SeqCst), 2);
    let again = arenas.scratch();
    assert_eq!((address(&again), again.used_bytes()), (place, 0));
    drop(again);
    arenas.swap();
}

#[test]
fn a_destructor_that_takes_scratch_gets_another_arena() {
    static ARENAS: LazyLock<FrameArenas> = LazyLock::new(small);
    thread_local! {
        static SEEN: Cell<usize> = const { Cell::new(0) };
    }
    struct TakesScratch;
    impl Drop for TakesScratch {
        fn drop(&mut self) {
            let scratch = ARENAS.scratch();
            scratch.alloc([1_u8; 64]);
            SEEN.set(address(&scratch));
        }
    }
    let scratch = ARENAS.scratch();
    let place = address(&scratch);
    scratch.share(TakesScratch);
    drop(scratch);
    assert_ne!(SEEN.get(), 0);
    assert_ne!(SEEN.get(), place);
}

#[test]
fn what_a_forgotten_guard_had_comes_back_at_the_swap() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let mut reserved = HashSet::new();
    for frame in 0..10 {
        for _ in 0..3 {
            let scratch = arenas.scratch();
            scratch.share(Tracked(Arc::clone(&drops)));
            mem::forget(scratch);
        }
        assert_eq!(drops.load(SeqCst), 3 * frame);
        arenas.swap();
        assert_eq!(drops.load(SeqCst), 3 * (frame + 1));
        reserved.insert(arenas.usage().reserved_bytes);
    }
    assert_eq!(reserved.len(), 1, "no new arenas: {reserved:?}");
}

#[test]
fn a_forgotten_guards_handles_are_stale_after_the_swap() {
    let mut arenas = small();
    let scratch = arenas.scratch();
    let handle = scratch.share(String::from("lost"));
    mem::forget(scratch);
    arenas.swap();
    assert_eq!(arenas.scratch().get(handle), None);
}

#[test]
fn what_a_forgotten_guard_had_is_dropped_with_the_arenas_also_when_some_panic() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            panic!("expected");
        }
    }
    for with_swap in [false, true] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut arenas = small();
        for _ in 0..3 {
            let scratch = arenas.scratch();
            scratch.share(Bomb(Arc::clone(&drops)));
            scratch.share(Tracked(Arc::clone(&drops)));
            mem::forget(scratch);
        }
        if with_swap {
            assert!(panics(|| arenas.swap()));
            assert_eq!(arenas.frame(), 1);
        } else {
            assert!(panics(|| drop(mem::take(&mut arenas))));
        }
        assert_eq!(drops.load(SeqCst), 6);
    }
}

#[test]
fn once_warm_nothing_comes_from_the_global_allocator() {
    let mut arenas = small();
    let frame = |arenas: &mut FrameArenas| {
        for _ in 0..10 {
            let outer = arenas.scratch();
            outer.alloc_slice_fill_copy(2000, 1_u8);
            let inner = arenas.scratch();
            inner.alloc_slice_fill_copy(9000, 1_u8);
        }
        arenas.swap();
    };
    frame(&mut arenas);
    frame(&mut arenas);
    assert_eq!(calls_in(|| (0..20).for_each(|_| frame(&mut arenas))), 0);
}

#[test]
fn memory_after_a_spike_is_given_back() {
    const SPIKE_BYTES: usize = if cfg!(miri) { 300 << 10 } else { 8 << 20 };
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        trim_after_frames: Some(4),
        fill_recycled: false,
        ..FrameArenaSettings::default()
    });
    let spike = arenas.scratch();
    spike.alloc_layout(std::alloc::Layout::array::<u8>(SPIKE_BYTES).unwrap());
    drop(spike);
    arenas.swap();
    assert!(arenas.usage().reserved_bytes >= SPIKE_BYTES);
    assert!(arenas.usage().scratch_high_watermark_bytes >= SPIKE_BYTES);
    for _ in 0..12 {
        arenas.scratch().alloc([0_u8; 100]);
        arenas.swap();
    }
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!(reserved_bytes < SPIKE_BYTES, "{reserved_bytes}");
    // And all of it once nobody uses any.
    (0..12).for_each(|_| arenas.swap());
    assert_eq!(arenas.usage().reserved_bytes, 0);
}

#[test]
fn scratch_starts_small_and_counts_in_the_budget() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(4 << 20),
        ..FrameArenaSettings::default()
    });
    arenas.scratch().alloc(1);
    arenas.swap();
    assert_eq!(arenas.usage().reserved_bytes, 64 << 10);
    let scratch = arenas.scratch();
    let error = scratch.try_alloc_slice_fill_copy(4 << 20, 0_u8);
    assert!(matches!(error, Err(ArenaError::Exhausted { .. })));
}

#[test]
fn under_a_hard_limit_scratch_has_the_capacity_of_a_worker() {
    let arenas = FrameArenas::new(FrameArenaSettings {
        worker_capacity_bytes: 256 << 10,
        overflow: OverflowPolicy::Fail,
        ..FrameArenaSettings::default()
    });
    let scratch = arenas.scratch();
    assert!(scratch.try_alloc([0_u8; 200 << 10]).is_ok());
    assert!(scratch.try_alloc([0_u8; 100 << 10]).is_err());
}

#[test]
fn arenas_may_move_and_change_places_between_guards() {
    let mut a = small();
    let mut b = small();
    let of = |arenas: &FrameArenas| address(&arenas.scratch());
    let (in_a, in_b) = (of(&a), of(&b));
    assert_ne!(in_a, in_b);
    mem::swap(&mut a, &mut b);
    assert_eq!((of(&a), of(&b)), (in_b, in_a));
    let moved = Box::new(a);
    assert_eq!(of(&moved), in_b);
    drop(moved);
    // Another one, perhaps at the same place, has nothing in common with it.
    let c = small();
    assert_eq!(c.scratch().used_bytes(), 0);
    assert_eq!(of(&b), in_a);
}

#[test]
fn nested_guards_of_two_arenas_do_not_mix() {
    let (a, b) = (small(), small());
    for _ in 0..3 {
        let in_a = a.scratch();
        let in_b = b.scratch();
        let also_in_a = a.scratch();
        let places = [&in_a, &in_b, &also_in_a].map(|guard| address(guard));
        assert_eq!(HashSet::from(places).len(), 3);
    }
}

#[test]
fn each_thread_has_its_own_and_swaps_hand_them_on() {
    let mut arenas = small();
    for _ in 0..if cfg!(miri) { 3 } else { 30 } {
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let arenas = &arenas;
                scope.spawn(move || {
                    for n in 0..50 {
                        let outer = arenas.scratch();
                        let a = outer.alloc_slice_fill_copy(10, n * thread);
                        let inner = arenas.scratch();
                        let b = inner.alloc_slice_fill_copy(10, n + thread);
                        assert_eq!((a[9], b[9]), (n * thread, n + thread));
                    }
                });
            }
        });
        arenas.swap();
    }
    // Threads came and went; their places are used again.
    let reserved_bytes = arenas.usage().reserved_bytes;
    assert!(reserved_bytes <= 30 * 2 * 4096, "{reserved_bytes}");
}

/// Goes on using its guard while the thread's other thread locals are gone.
struct UsesScratchOnExit {
    guard: RefCell<Option<Scratch<'static>>>,
    ended: RefCell<Option<Arc<Barrier>>>,
}

impl Drop for UsesScratchOnExit {
    fn drop(&mut self) {
        let guard = self.guard.take().expect("it was set");
        let barrier = self.ended.take().expect("it was set");
        barrier.wait();
        let value = guard.alloc(7_u64);
        // The new thread takes and uses scratch now.
        barrier.wait();
        assert_eq!(*value, 7);
        drop(guard);
    }
}

#[test]
fn a_guard_kept_in_a_thread_local_is_nobody_elses_while_the_thread_ends() {
    static ARENAS: OnceLock<FrameArenas> = OnceLock::new();
    thread_local! {
        static KEPT: UsesScratchOnExit = const {
            UsesScratchOnExit { guard: RefCell::new(None), ended: RefCell::new(None) }
        };
    }
    let arenas = ARENAS.get_or_init(small);
    for _ in 0..if cfg!(miri) { 2 } else { 20 } {
        let barrier = Arc::new(Barrier::new(2));
        let for_thread = Arc::clone(&barrier);
        let ending = thread::spawn(move || {
            KEPT.with(|kept| {
                kept.ended.replace(Some(for_thread));
                let guard = arenas.scratch();
                let free = arenas.scratch();
                let places = [address(&guard), address(&free)];
                kept.guard.replace(Some(guard));
                places
            })
        });
        barrier.wait();
        let new = thread::spawn(move || {
            let guards = [arenas.scratch(), arenas.scratch()];
            for n in 0..100_u64 {
                assert_eq!(*guards[0].alloc(n), n);
            }
            guards.map(|guard| address(&guard))
        });
        let new = new.join().unwrap();
        barrier.wait();
        let old = ending.join().unwrap();
        assert!(new.iter().all(|place| !old.contains(place)));
    }
}

#[test]
fn many_threads_that_end_within_a_frame_are_dropped_without_recursion() {
    let arenas = small();
    for _ in 0..MANY {
        thread::scope(|scope| scope.spawn(|| *arenas.scratch().alloc(1)).join()).unwrap();
    }
    let small_stack = thread::Builder::new().stack_size(256 << 10);
    let dropped = small_stack.spawn(move || drop(arenas)).unwrap();
    dropped.join().unwrap();
}

#[test]
fn values_that_are_not_send_stay_in_boxes_of_the_guard() {
    let arenas = small();
    let shared = Rc::new(1);
    {
        let scratch = arenas.scratch();
        let _boxed = scratch.boxed(Rc::clone(&shared));
        assert_eq!(Rc::strong_count(&shared), 2);
    }
    assert_eq!(Rc::strong_count(&shared), 1);
}

#[cfg(feature = "bevy")]
mod in_systems {
    use bevy_ecs::prelude::*;
    use bevy_ecs::system::{ReadOnlySystemParam, SystemState};
    use bevy_frame_arena::{FrameArenas, Scratch};
    use static_assertions::assert_impl_all;

    use super::address;

    assert_impl_all!(Scratch<'static>: ReadOnlySystemParam);

    #[test]
    fn a_system_asks_for_scratch_without_naming_the_resource() {
        fn two(a: Scratch, b: Scratch, arenas: Res<FrameArenas>) -> usize {
            assert_ne!(address(&a), address(&b));
            assert_ne!(address(&a), address(arenas.local()));
            a.alloc_slice_fill_with(4, |n| n * n).iter().sum()
        }
        let mut world = World::new();
        world.init_resource::<FrameArenas>();
        for _ in 0..3 {
            assert_eq!(world.run_system_cached(two).unwrap(), 14);
            let arenas = world.resource::<FrameArenas>();
            assert_eq!(arenas.scratch().used_bytes(), 0);
            world.resource_mut::<FrameArenas>().swap();
        }
    }

    #[test]
    fn without_the_resource_the_system_is_told_so() {
        fn one(_: Scratch) {}
        let mut world = World::new();
        let error = world.run_system_cached(one).unwrap_err().to_string();
        assert!(error.contains("FrameArenas"), "{error}");
    }

    #[test]
    #[should_panic(expected = "conflicts")]
    fn it_conflicts_with_a_system_that_changes_the_arenas() {
        fn swap(_: Scratch, _: ResMut<FrameArenas>) {}
        let mut world = World::new();
        world.init_resource::<FrameArenas>();
        let _conflict = world.run_system_cached(swap);
    }

    #[test]
    fn a_system_state_lends_it_for_as_long_as_the_world() {
        let mut world = World::new();
        world.init_resource::<FrameArenas>();
        let mut state = SystemState::<Scratch>::new(&mut world);
        let scratch = state.get(&world).unwrap();
        assert_eq!(*scratch.alloc(1), 1);
    }
}
