//! Task arenas and their results in the wrong hands, and destructors that take task arenas themselves.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use bevy_frame_arena::{FrameArenas, FrameHandle, TaskArenas, TaskResult};

use crate::common::droppy::Droppy;
use crate::common::panics::panics;
use crate::common::settings::blocks_of;

fn small() -> FrameArenas {
    FrameArenas::new(blocks_of(256))
}

fn result_of(arenas: &FrameArenas, n: u64) -> TaskResult<[u64]> {
    let arena = arenas.task_arena();
    let list = arena.share_iter((0..100).map(|_| n));
    arena.finish(list)
}

#[test]
fn a_task_is_finished_with_handles_of_its_own_only() {
    let mut arenas = small();
    let of_frame = arenas.local().share(1);
    let other = result_of(&arenas, 2);
    let of_other = other.memory().get(FrameHandle::<u64>::default());
    assert_eq!(of_other, None);
    let adopted = arenas.adopt(other);
    let attacks: [fn(&FrameArenas) -> FrameHandle<u64>; 3] = [
        |_| FrameHandle::default(),
        |arenas| arenas.task_arena().share(3),
        |arenas| arenas.scratch().share(4),
    ];
    for attack in attacks {
        let arena = arenas.task_arena();
        arena.alloc([0_u8; 999]);
        let handle = attack(&arenas);
        assert!(panics(|| drop(arena.finish(handle))));
    }
    let arena = arenas.task_arena();
    assert!(panics(|| drop(arena.finish(of_frame))));
    let arena = arenas.task_arena();
    assert!(panics(|| drop(arena.finish(adopted))));
    arenas.swap();
    assert_eq!((arenas.usage().task_arenas, arenas[adopted][99]), (0, 2));
}

#[test]
fn results_may_be_swapped_moved_and_adopted_by_strangers() {
    let (mut ours, mut theirs) = (small(), small());
    let (mut one, mut two) = (result_of(&ours, 1), result_of(&theirs, 2));
    mem::swap(&mut one, &mut two);
    let [two, one] = [ours.adopt(one), theirs.adopt(two)];
    mem::swap(&mut ours, &mut theirs);
    assert_eq!((theirs[two][99], ours[one][99]), (2, 1));
    assert_eq!((theirs.get(one), ours.get(two)), (None, None));
    // The task's own store is gone; its memory is not.
    let lease = theirs.lease_handle(two).expect("it is of this frame");
    drop((ours, theirs));
    assert_eq!(lease[..], [2; 100]);
}

/// Takes task arenas when it is dropped, finishes one, and keeps nothing.
struct Busy(TaskArenas, Droppy);

impl Drop for Busy {
    fn drop(&mut self) {
        let arena = self.0.arena();
        let text = arena.share_str("nested");
        arena.share(self.1.clone());
        assert_eq!(&*arena.finish(text), "nested");
        drop(self.0.arena().boxed([7_u8; 1000]));
    }
}

#[test]
fn destructors_may_take_task_arenas_wherever_they_run() {
    let drops = Droppy(Arc::default(), false);
    let count = || drops.0.load(SeqCst);
    let busy = |arenas: &FrameArenas| Busy(arenas.tasks(), drops.clone());
    let mut arenas = small();
    // At a swap, in a forgotten scratch, within a task arena that is dropped, or adopted.
    arenas.local().share(busy(&arenas));
    arenas.scratch().share(busy(&arenas));
    mem::forget({
        let scratch = arenas.scratch();
        scratch.share(busy(&arenas));
        scratch
    });
    let arena = arenas.task_arena();
    arena.share(busy(&arenas));
    let handle = arena.share(busy(&arenas));
    let adopted = arenas.adopt(arena.finish(handle));
    assert!(arenas.get(adopted).is_some());
    arenas.trim();
    (0..3).for_each(|_| arenas.swap());
    assert_eq!(count(), 2 * 5);
    // With the last lease, after the arenas are gone.
    arenas.local().share(busy(&arenas));
    let lease = arenas.lease();
    drop(arenas);
    assert_eq!(count(), 2 * 5);
    thread::spawn(move || drop(lease)).join().expect("no panic");
    assert_eq!(count(), 2 * 6);
}

/// Results are read by several threads and dropped by any of them, while the arenas swap and trim.
#[test]
fn results_end_on_any_thread_while_the_arenas_go_on() {
    let rounds = if cfg!(miri) { 3 } else { 60 };
    let drops = Arc::new(AtomicUsize::new(0));
    let mut arenas = small();
    for round in 0..rounds {
        let arena = arenas.task_arena();
        arena.share(Droppy(Arc::clone(&drops), false));
        let list = arena.share_iter((0..50).map(|n| n + round));
        let result = Arc::new(arena.finish(list));
        let adopted = arenas.adopt(result_of(&arenas, round as u64));
        let lease = arenas.lease_handle(adopted).expect("it is of this frame");
        let start = Arc::new(Barrier::new(3));
        thread::scope(|scope| {
            for _ in 0..2 {
                let (result, start, lease) = (Arc::clone(&result), start.clone(), lease.clone());
                scope.spawn(move || {
                    start.wait();
                    assert_eq!((result[49], lease[99]), (49 + round, round as u64));
                });
            }
            drop((result, lease));
            start.wait();
            arenas.swap();
            if round % 3 == 0 {
                arenas.trim();
            }
            arenas.swap();
        });
        assert_eq!(drops.load(SeqCst), round + 1);
    }
    // What was parked is recycled by the first, and measured by the second.
    (0..2).for_each(|_| arenas.swap());
    assert_eq!(arenas.usage().task_bytes, 0);
}
