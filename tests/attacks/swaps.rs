//! What destructors do to the store in the middle of a swap, and what the figures say of it; idle workers, and
//! many collectors.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use bevy_frame_arena::{FrameArenaSettings, FrameArenas, LivesFor, Pool, TaskArenas, WorkerUsage};

const ALL: [LivesFor; 3] = [
    LivesFor::OnePeriod,
    LivesFor::TwoPeriods,
    LivesFor::ThreePeriods,
];

fn living_for(lives_for: LivesFor, budget_bytes: Option<usize>) -> FrameArenas {
    FrameArenas::new(FrameArenaSettings {
        lives_for,
        budget_bytes,
        block_bytes: 1024,
        ..Default::default()
    })
}

/// The figures are those of the moment when the period ended, not of one after its recycling.
#[test]
fn results_that_a_swap_drops_were_held_when_the_period_ended() {
    for lives_for in ALL {
        let mut arenas = living_for(lives_for, None);
        for period in 0..6 {
            let task = arenas.task_arena();
            let result = task.share_slice_copy(&[1_u8; 5000]);
            let bytes_of_one = task.held_bytes();
            arenas.adopt(task.finish(result));
            arenas.swap();
            let (alive, usage) = (lives_for.periods().min(period + 1), arenas.usage());
            assert_eq!(
                usage.task_bytes,
                alive * bytes_of_one,
                "{lives_for:?}, {period}"
            );
            assert!(usage.held_bytes >= usage.task_bytes);
        }
    }
}

#[test]
fn pools_that_a_swap_drops_were_held_when_the_period_ended() {
    for lives_for in ALL {
        let mut arenas = living_for(lives_for, None);
        for period in 0..6 {
            let before = arenas.usage().reserved_bytes - arenas.usage().free_bytes;
            let mut pool = Pool::with_store_of(&arenas);
            pool.insert([1_u8; 9000]);
            arenas.local().share(Mutex::new(pool));
            arenas.swap();
            let (alive, usage) = (lives_for.periods().min(period + 1), arenas.usage());
            let bytes = usage.reserved_bytes - usage.free_bytes;
            assert!(
                bytes >= alive * 9000,
                "{lives_for:?}, {period}: {bytes} after {before}"
            );
        }
    }
}

/// Takes memory of the budget when it is dropped, and says whether there was some.
struct Takes(TaskArenas, Arc<AtomicUsize>);

impl Drop for Takes {
    fn drop(&mut self) {
        let task = self.0.arena();
        let is_refused = task.try_alloc_slice_fill_copy(60_000, 1_u8).is_err();
        self.1.fetch_add(usize::from(is_refused), SeqCst);
    }
}

/// Blocks on their way back to the store are returned before destructors run.
#[test]
fn a_destructor_in_a_swap_may_take_the_memory_that_the_swap_has_recycled() {
    let refused = Arc::new(AtomicUsize::new(0));
    let mut arenas = living_for(LivesFor::TwoPeriods, Some(100 << 10));
    arenas.local().share_slice_copy(&[1_u8; 60_000]);
    let lease = arenas.lease();
    arenas.swap();
    arenas.local().share(Takes(arenas.tasks(), refused.clone()));
    arenas.swap();
    drop(lease);
    // Recycles what was leased, and then what has the destructor.
    arenas.swap();
    assert_eq!((arenas.usage().parked, refused.load(SeqCst)), (0, 0));

    let mut arenas = living_for(LivesFor::OnePeriod, Some(100 << 10));
    arenas.local().share(Takes(arenas.tasks(), refused.clone()));
    thread::scope(|scope| {
        scope.spawn(|| _ = arenas.local().alloc_slice_fill_copy(60_000, 1_u8).len());
    });
    arenas.swap();
    assert_eq!(refused.load(SeqCst), 0);
}

/// More collectors than a thread remembers, in turn.
#[test]
fn an_element_takes_as_much_memory_however_many_collectors_there_are() {
    const EACH: u32 = 1000;
    for count in [1, 64, 65, 128, 200] {
        let arenas = FrameArenas::default();
        let collectors: Vec<_> = (0..count).map(|_| arenas.collector()).collect();
        for n in 0..EACH {
            collectors.iter().for_each(|collector| collector.push(n));
        }
        let bytes = arenas.used_bytes_so_far() / (count * EACH as usize);
        assert!(
            bytes <= 12,
            "{bytes} bytes for each of 4, in {count} collectors"
        );
        for collector in collectors {
            assert_eq!(arenas[collector.share()].len(), EACH as usize);
        }
    }
}

/// Lines of idle workers are reset only in periods in which not all workers were busy.
#[test]
fn idle_workers_go_after_600_periods_and_come_back() {
    let mut arenas = FrameArenas::default();
    let on = |arenas: &FrameArenas, name: &str| {
        thread::scope(|scope| {
            let builder = thread::Builder::new().name(name.to_owned());
            let worker = builder.spawn_scoped(scope, || _ = arenas.local().alloc(1));
            worker.expect("a thread starts");
        });
    };
    let names = |arenas: &FrameArenas| {
        let names = arenas.usage().workers.iter().map(|it| it.name.to_string());
        names.collect::<Vec<_>>()
    };
    on(&arenas, "a");
    on(&arenas, "b");
    arenas.local().alloc(5);
    arenas.swap();
    for n in 0..600 {
        if n % 2 == 0 {
            arenas.local().alloc(5);
        }
        if n == 300 {
            on(&arenas, "b");
        }
        arenas.swap();
        assert_eq!(arenas.usage().workers.len(), 3);
    }
    let is_a = |it: &&WorkerUsage| &*it.name == "a";
    let a = arenas.usage().workers.iter().find(is_a);
    assert_eq!(a.expect("it is listed").idle_periods, 600);
    on(&arenas, "c");
    arenas.swap();
    assert_eq!(
        (names(&arenas).len(), arenas.usage().active_workers),
        (3, 1)
    );
    assert!(!names(&arenas).contains(&"a".to_owned()));
    on(&arenas, "a");
    on(&arenas, "b");
    arenas.swap();
    assert_eq!(
        (names(&arenas).len(), arenas.usage().active_workers),
        (4, 2)
    );
    (0..601).for_each(|_| arenas.swap());
    assert_eq!(names(&arenas), [""; 0]);
}
