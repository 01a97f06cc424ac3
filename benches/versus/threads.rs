//! Several threads that allocate at once, and the frame's end for all of them.

use std::hint::black_box;
use std::sync::{Barrier, Mutex, RwLock};
use std::time::{Duration, Instant};

use bevy_frame_arena::FrameArenas;
use bumpalo::Bump;
use bumpalo_herd::Herd;
use thread_local::ThreadLocal;

use crate::contender::Contender;
use crate::limit::Limit;
use crate::race::{Effort, LIMIT, OURS, Runner, race};
use crate::workloads::{Mixed, Workload};

pub(crate) fn run_all(effort: Effort) {
    two_threads(effort);
    for workers in [1, 8, 64] {
        swaps(effort, workers);
    }
}

/// Threads that do the same work at the same time, whenever they are told to.
struct Team<'a> {
    turns: &'a Barrier,
    slowest: &'a Mutex<Duration>,
}

impl Team<'_> {
    /// Has all threads work once, and returns the time of the slowest.
    fn work_once(&self) -> Duration {
        *self.slowest.lock().expect("no thread panics") = Duration::ZERO;
        self.turns.wait();
        self.turns.wait();
        *self.slowest.lock().expect("no thread panics")
    }
}

/// Runs `race` with a team that does `work` until the race is over.
fn with_team(threads: usize, work: impl Fn() + Sync, race: impl FnOnce(&Team<'_>)) {
    let turns = &Barrier::new(threads + 1);
    let slowest = &Mutex::new(Duration::ZERO);
    let over = &RwLock::new(false);
    let work = &work;
    std::thread::scope(|scope| {
        for number in 0..threads {
            let member = move || loop {
                turns.wait();
                if *over.read().expect("no thread panics") {
                    break;
                }
                let start = Instant::now();
                work();
                let elapsed = start.elapsed();
                let mut slowest = slowest.lock().expect("no thread panics");
                *slowest = (*slowest).max(elapsed);
                drop(slowest);
                turns.wait();
            };
            std::thread::Builder::new()
                .name(format!("worker {number}"))
                .spawn_scoped(scope, member)
                .expect("a thread");
        }
        race(&Team { turns, slowest });
        *over.write().expect("no thread panics") = true;
        turns.wait();
    });
}

/// What a team does next.
#[derive(Clone, Copy)]
enum Task {
    Limit,
    Ours,
    ThreadLocal,
    Herd,
}

thread_local! {
    static OWN_LIMIT: std::cell::RefCell<Limit> =
        std::cell::RefCell::new(Limit::with_capacity(16 << 20));
}

fn two_threads(effort: Effort) {
    let workload = &Mixed::<10_000>::new();
    let task = &RwLock::new(Task::Limit);
    let arenas = &RwLock::new(FrameArenas::default());
    let locals = &RwLock::new(ThreadLocal::<Bump>::new());
    let herd = &RwLock::new(Herd::new());
    let work = || match *task.read().expect("no thread panics") {
        Task::Limit => OWN_LIMIT.with(|limit| {
            let mut limit = limit.borrow_mut();
            workload.allocate(black_box(&*limit));
            limit.reset();
        }),
        Task::Ours => {
            let arenas = arenas.read().expect("no thread panics");
            workload.allocate(arenas.local());
        }
        Task::ThreadLocal => {
            let locals = locals.read().expect("no thread panics");
            workload.allocate(locals.get_or_default());
        }
        Task::Herd => {
            let herd = herd.read().expect("no thread panics");
            workload.allocate(herd.get().as_bump());
        }
    };
    with_team(2, work, |team| {
        let run = |next| {
            *task.write().expect("no thread panics") = next;
            team.work_once()
        };
        let runners = vec![
            Runner::timed(LIMIT, move || run(Task::Limit)),
            Runner::timed(OURS, move || {
                let elapsed = run(Task::Ours);
                arenas.write().expect("no thread panics").swap();
                elapsed
            }),
            Runner::timed("`ThreadLocal<Bump>`", move || {
                let elapsed = run(Task::ThreadLocal);
                let mut locals = locals.write().expect("no thread panics");
                locals.iter_mut().for_each(Bump::reset);
                elapsed
            }),
            Runner::timed("bumpalo-herd", move || {
                let elapsed = run(Task::Herd);
                herd.write().expect("no thread panics").reset();
                elapsed
            }),
        ];
        let title = "10,000 mixed on each of two threads, the slower one";
        race(effort, title, 10_000, runners);
    });
}

fn swaps(effort: Effort, workers: usize) {
    let arenas = &RwLock::new(FrameArenas::default());
    let locals = &RwLock::new(ThreadLocal::<Bump>::new());
    let work = || {
        let arenas = arenas.read().expect("no thread panics");
        arenas.local().alloc(7_u64);
        let locals = locals.read().expect("no thread panics");
        locals.get_or_default().alloc(7_u64);
    };
    with_team(workers, work, |team| {
        let runners = vec![
            Runner::timed(OURS, move || {
                team.work_once();
                let mut arenas = arenas.write().expect("no thread panics");
                let start = Instant::now();
                arenas.swap();
                start.elapsed()
            }),
            Runner::timed("`ThreadLocal<Bump>`, each reset", move || {
                team.work_once();
                let mut locals = locals.write().expect("no thread panics");
                let start = Instant::now();
                locals.iter_mut().for_each(Bump::reset);
                start.elapsed()
            }),
        ];
        race(
            effort,
            &format!("frame's end with {workers} workers"),
            1,
            runners,
        );
    });
}
