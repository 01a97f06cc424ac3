//! Task arenas: memory of a task's own, and results that come back.

use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use bevy_frame_arena::{
    ArenaError, FrameArenaSettings, FrameArenas, FrameHandle, TaskArena, TaskArenas, TaskResult,
};

use crate::common::droppy::Droppy;
use crate::common::panics::panics;
use crate::common::settings::blocks_of;

pub(crate) const BLOCK_BYTES: usize = 4096;

pub(crate) fn small() -> FrameArenas {
    FrameArenas::new(blocks_of(BLOCK_BYTES))
}

/// Counts drops, and hands out values that are counted.
#[derive(Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn value(&self, panics: bool) -> Droppy {
        Droppy(Arc::clone(&self.0), panics)
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// Fills a few blocks and finishes.
pub(crate) fn squares(arena: TaskArena, len: u64) -> TaskResult<[u64]> {
    let mut list = arena.vec();
    list.extend((0..len).map(|n| n * n));
    let list = list.share();
    arena.finish(list)
}

/// Swaps once, and checks the sum that the docs promise.
#[track_caller]
pub(crate) fn swap(arenas: &mut FrameArenas) {
    arenas.swap();
    let usage = arenas.usage();
    let sum = usage.held_bytes + usage.kept_bytes + usage.free_bytes;
    assert_eq!(sum, usage.reserved_bytes);
    assert!(usage.task_bytes <= usage.held_bytes);
}

#[test]
fn a_result_is_read_on_many_threads_after_all_arenas_are_gone() {
    let arenas = small();
    let tasks = arenas.tasks();
    let task = thread::spawn(move || squares(tasks.arena(), 100));
    let result = task.join().expect("the task returns");
    drop(arenas);
    let result = &result;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                assert_eq!(result[9], 81);
                assert_eq!(result.memory().get(FrameHandle::<u8>::default()), None);
            });
        }
    });
}

#[test]
fn a_result_does_not_move_when_its_owner_does() {
    let arenas = small();
    let result = squares(arenas.task_arena(), 100);
    let before = result.as_ptr();
    let mut moved = vec![result];
    moved.reserve(100);
    assert_eq!(moved[0].as_ptr(), before);
    assert_eq!(moved[0][9], 81);
}

#[test]
fn handles_of_other_arenas_do_not_resolve_in_a_result() {
    let mut arenas = small();
    let others = small();
    let (arena, other_task) = (arenas.task_arena(), arenas.task_arena());
    let own = arena.share(1);
    let foreign = [
        arenas.local().share(2),
        others.local().share(3),
        other_task.share(4),
        FrameHandle::default(),
    ];
    let result = arena.finish(own);
    assert_eq!(*result, 1);
    for handle in foreign {
        assert_eq!(result.memory().get(handle), None);
        assert!(panics(|| assert_eq!(result.memory()[handle], 0)));
    }
    assert_eq!(arenas.get(own), None);
    swap(&mut arenas);
    assert_eq!(arenas.usage().stale_lookups, 3 * 2 + 1);

    let error = arenas.resolve(own).expect_err("it is the task's");
    assert!(error.to_string().contains("`TaskArena`"), "{error}");
}

#[test]
fn a_task_finishes_with_a_handle_of_its_own_only() {
    let mut arenas = small();
    let drops = Drops::default();
    let foreign = arenas.task_arena().share(1);
    for handle in [FrameHandle::default(), foreign, arenas.local().share(2)] {
        let arena = arenas.task_arena();
        arena.share(drops.value(false));
        assert!(panics(|| drop(arena.finish(handle))));
    }
    assert_eq!(drops.count(), 3);
    swap(&mut arenas);
    let usage = arenas.usage();
    assert_eq!((usage.task_arenas, usage.task_results), (0, 0));
    assert_eq!(usage.task_bytes, 0);
}

#[test]
fn shared_values_are_dropped_once_with_the_result() {
    let arenas = small();
    let drops = Drops::default();
    let arena = arenas.task_arena();
    let list = arena.share_iter((0..3).map(|_| drops.value(false)));
    arena.share(drops.value(false));
    let result = arena.finish(list);
    assert_eq!(drops.count(), 0);
    drop(arenas);
    assert_eq!((drops.count(), result.len()), (0, 3));
    thread::spawn(|| drop(result)).join().expect("it drops");
    assert_eq!(drops.count(), 4);
}

#[test]
fn a_destructor_that_panics_keeps_neither_others_nor_memory() {
    let mut arenas = small();
    let drops = Drops::default();
    let arena = arenas.task_arena();
    let first = arena.share(drops.value(false));
    arena.share(drops.value(true));
    arena.share(drops.value(false));
    let result = arena.finish(first);
    assert!(panics(|| drop(result)));
    assert_eq!(drops.count(), 3);
    swap(&mut arenas);
    assert_eq!(arenas.usage().task_bytes, 0);
    assert_eq!(arenas.usage().task_results, 0);
}

#[test]
fn tasks_that_panic_or_never_run_give_their_memory_back() {
    let mut arenas = small();
    let drops = Drops::default();
    let (arena, value) = (arenas.task_arena(), drops.value(false));
    let task = thread::spawn(move || {
        arena.share(value);
        arena.alloc([0_u8; 3 * BLOCK_BYTES]);
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(task.join().is_err());
    assert_eq!(drops.count(), 1);

    let arena = arenas.task_arena();
    arena.share(drops.value(false));
    let never_run = async move { squares(arena, 10) };
    swap(&mut arenas);
    assert_ne!(arenas.usage().task_bytes, 0);
    drop(never_run);
    assert_eq!(drops.count(), 2);
    swap(&mut arenas);
    assert_eq!(
        (arenas.usage().task_bytes, arenas.usage().task_arenas),
        (0, 0)
    );
    assert_eq!(arenas.usage().held_bytes, 0);
}

#[test]
fn tasks_go_on_when_their_arenas_are_dropped() {
    let arenas = small();
    let tasks = arenas.tasks();
    let both = Arc::new(Barrier::new(2));
    let barrier = Arc::clone(&both);
    let task = thread::spawn(move || {
        let arena = tasks.arena();
        let first = arena.share_str("first");
        barrier.wait();
        barrier.wait();
        // The store is closed: blocks are made, and freed as they come back.
        arena.alloc([0_u8; 2 * BLOCK_BYTES]);
        drop(squares(tasks.arena(), 1000));
        let reserved_bytes = arena.reserved_bytes();
        assert_eq!(reserved_bytes, arena.held_bytes());
        arena.finish(first)
    });
    both.wait();
    drop(arenas);
    both.wait();
    assert_eq!(&*task.join().expect("the task returns"), "first");
}

#[test]
fn a_result_that_cannot_be_adopted_is_dropped() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        worker_limit_bytes: Some(64),
        ..blocks_of(BLOCK_BYTES)
    });
    let others = small();
    let drops = Drops::default();
    let arena = others.task_arena();
    let value = arena.share(drops.value(true));
    let result = arena.finish(value);
    // The value panics as well, while the first panic goes on.
    assert!(panics(|| {
        arenas.adopt(result);
    }));
    assert_eq!(drops.count(), 1);
    swap(&mut arenas);
    assert_eq!(arenas.usage().refusals, 1);
    arenas.local().alloc([0_u8; 32]);
}

#[test]
fn tasks_share_the_budget() {
    let mut arenas = FrameArenas::new(FrameArenaSettings {
        budget_bytes: Some(64 << 10),
        ..blocks_of(1024)
    });
    let holder = arenas.task_arena();
    holder.alloc_slice_fill_copy(40 << 10, 0_u8);
    let error = arenas.local().try_alloc([0_u8; 40 << 10]);
    assert!(matches!(error, Err(ArenaError::Exhausted { .. })));
    let task = arenas.task_arena();
    assert!(task.try_share([0_u8; 40 << 10]).is_err());
    swap(&mut arenas);
    assert_eq!(arenas.usage().refusals, 2);
    drop(holder);
    assert!(task.try_share([0_u8; 40 << 10]).is_ok());
}

#[test]
fn an_adopted_result_lives_as_long_as_its_frame() {
    let mut arenas = small();
    let drops = Drops::default();
    let arena = arenas.task_arena();
    let list = arena.share_iter((0..3).map(|_| drops.value(false)));
    let list = arenas.adopt(arena.finish(list));
    assert_eq!(arenas[list].len(), 3);
    swap(&mut arenas);
    assert_eq!((arenas[list].len(), arenas.usage().task_results), (3, 1));
    let lease = arenas.lease_handle(list).expect("it is a frame old");
    for _ in 0..5 {
        swap(&mut arenas);
    }
    assert_eq!(arenas.get(list).map(<[_]>::len), None);
    assert_eq!((lease.len(), drops.count()), (3, 0));
    drop(lease);
    swap(&mut arenas);
    assert_eq!(drops.count(), 3);
    swap(&mut arenas);
    assert_eq!(
        (arenas.usage().task_results, arenas.usage().task_bytes),
        (0, 0)
    );
}

#[test]
fn results_of_other_arenas_can_be_adopted() {
    let mut arenas = small();
    let others = small();
    let list = arenas.adopt(squares(others.task_arena(), 100));
    drop(others);
    swap(&mut arenas);
    assert_eq!(arenas[list][9], 81);
    swap(&mut arenas);
    assert_eq!(arenas.slice(list), []);
}

#[test]
fn a_shared_result_resolves_its_own_handles() {
    let mut arenas = small();
    let arena = arenas.task_arena();
    let words = [arena.share_str("to"), arena.share_str("you")];
    let words = arena.share_slice_copy(&words);
    let words = arenas.local().share(arena.finish(words));
    swap(&mut arenas);
    let words = &arenas[words];
    assert_eq!(&words.memory()[words[1]], "you");
}

#[test]
fn the_oldest_task_is_found_by_age_and_line() {
    let mut arenas = small();
    swap(&mut arenas);
    assert_eq!(arenas.usage().oldest_task, None);
    let (old, line) = (arenas.task_arena(), line!());
    swap(&mut arenas);
    let (_young, tasks) = (arenas.task_arena(), arenas.tasks());
    swap(&mut arenas);
    let _youngest = tasks.arena();
    swap(&mut arenas);
    let usage = arenas.usage();
    let oldest = usage.oldest_task.expect("there are three");
    assert_eq!((usage.task_arenas, oldest.age_in_periods), (3, 2));
    assert_eq!(
        (oldest.made_at.file(), oldest.made_at.line()),
        (file!(), line)
    );

    // A result may be as old as it likes.
    let done = old.share(1);
    let _result = old.finish(done);
    swap(&mut arenas);
    let usage = arenas.usage();
    assert_eq!((usage.task_arenas, usage.task_results), (2, 1));
    assert_eq!(usage.oldest_task.map(|task| task.age_in_periods), Some(2));
}

#[test]
fn destructors_of_a_result_may_use_the_arenas() {
    /// Takes a task arena, finishes it, and drops results, all while it is dropped itself.
    struct Reentrant {
        tasks: TaskArenas,
        inner: Option<TaskResult<[u64]>>,
        seen: Arc<AtomicUsize>,
    }

    impl Drop for Reentrant {
        fn drop(&mut self) {
            let made = squares(self.tasks.arena(), 600);
            self.seen.fetch_add(made.len(), SeqCst);
            drop(self.inner.take());
        }
    }

    let seen = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    let make = |arenas: &FrameArenas| {
        let arena = arenas.task_arena();
        let value = arena.share(Reentrant {
            tasks: arenas.tasks(),
            inner: Some(squares(arenas.task_arena(), 600)),
            seen: Arc::clone(&seen),
        });
        arena.finish(value)
    };
    drop(make(&arenas));
    assert_eq!(seen.load(SeqCst), 600);
    // In the middle of a swap, and of the end of the arenas.
    let adopted = arenas.adopt(make(&arenas));
    swap(&mut arenas);
    assert!(arenas.get(adopted).is_some());
    swap(&mut arenas);
    assert_eq!(seen.load(SeqCst), 1200);
    arenas.adopt(make(&arenas));
    drop(arenas);
    assert_eq!(seen.load(SeqCst), 1800);
}

#[test]
fn a_panic_of_an_adopted_result_keeps_no_other_from_being_dropped() {
    let mut arenas = small();
    let drops = Drops::default();
    for panics in [true, false, true] {
        let arena = arenas.task_arena();
        let value = arena.share(drops.value(panics));
        arenas.adopt(arena.finish(value));
    }
    arenas.swap();
    assert!(panics(|| arenas.swap()));
    assert_eq!(drops.count(), 3);
    swap(&mut arenas);
    let usage = arenas.usage();
    assert_eq!((usage.task_results, usage.task_bytes), (0, 0));
}
