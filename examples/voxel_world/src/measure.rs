//! Plays the game, and takes times.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy_app::{App, TaskPoolOptions, TaskPoolPlugin};
use bevy_ecs::schedule::{Schedules, SingleThreadedExecutor};
use bevy_frame_arena::{ArenasOf, FixedStep, FrameArenas};

use crate::counting::{Requests, requests_of};
use crate::game::{GamePlugin, Load};
use crate::gpu::Gpu;
use crate::ways::Way;

/// Frames until every buffer has its size.
pub const WARM_UP_FRAMES: usize = 260;
/// Frames that a way plays before it is the next one's turn.
pub const BLOCK_FRAMES: usize = 40;

/// A game that is played in one way.
pub struct Player {
    pub way: Way,
    app: App,
    /// The frame times of each round.
    pub rounds: Vec<Vec<Duration>>,
    /// The processor time of each round, on all threads, where the system tells.
    pub cpu: Vec<Duration>,
    /// What the world was like after each frame.
    pub sums: Vec<u64>,
    /// What each worker used in each frame, if the way is that of the arenas.
    pub usage: Vec<Vec<(Arc<str>, usize)>>,
}

impl Player {
    pub fn new(way: Way, load: Load, threads: TaskPoolOptions) -> Self {
        let mut app = App::new();
        app.add_plugins((
            TaskPoolPlugin {
                task_pool_options: threads,
            },
            GamePlugin { load },
        ));
        way.add_to(&mut app);
        app.finish();
        app.cleanup();
        Self {
            way,
            app,
            rounds: Vec::new(),
            cpu: Vec::new(),
            sums: Vec::new(),
            usage: Vec::new(),
        }
    }

    /// Plays a frame without taking its time.
    pub fn play(&mut self) {
        self.app.update();
        self.sums.push(self.app.world().resource::<Gpu>().sum());
    }

    /// Plays one round, and takes times.
    pub fn play_round(&mut self) {
        let mut times = Vec::with_capacity(BLOCK_FRAMES);
        let cpu_before = cpu_time();
        for _ in 0..BLOCK_FRAMES {
            let start = Instant::now();
            self.app.update();
            times.push(start.elapsed());
            self.sums.push(self.app.world().resource::<Gpu>().sum());
            self.note_usage();
        }
        self.rounds.push(times);
        let cpu = cpu_time().zip(cpu_before);
        self.cpu.extend(cpu.map(|(after, before)| after - before));
    }

    fn note_usage(&mut self) {
        if let Some(arenas) = self.app.world().get_resource::<FrameArenas>() {
            let workers = arenas.usage().workers.iter();
            let used = workers.map(|worker| (Arc::clone(&worker.name), worker.used_bytes));
            self.usage.push(used.collect());
        }
    }

    /// Returns all frame times, the shortest first.
    pub fn sorted_times(&self) -> Vec<Duration> {
        let mut times: Vec<Duration> = self.rounds.iter().flatten().copied().collect();
        times.sort_unstable();
        times
    }
}

/// Enough threads to have all systems run in parallel, on a small machine too.
pub fn threads() -> TaskPoolOptions {
    let mut options = TaskPoolOptions::default();
    options.compute.min_threads = 2;
    options
}

/// Returns the first frame in which the worlds were not the same, with the two ways.
pub fn first_difference(players: &[Player]) -> Option<(usize, Way, Way)> {
    let (first, others) = players.split_first()?;
    let differences = others.iter().filter_map(|other| {
        let mut sums = first.sums.iter().zip(&other.sums);
        let frame = sums.position(|(a, b)| a != b)?;
        Some((frame, first.way, other.way))
    });
    differences.min_by_key(|(frame, ..)| *frame)
}

/// Returns what the systems of a way ask of the allocator, in one hundred frames.
///
/// On one thread, where Bevy itself asks for nothing: with more, its tasks do.
pub fn count_requests(way: Way, load: Load) -> Requests {
    let mut threads = TaskPoolOptions::default();
    threads.compute.max_threads = 1;
    let mut player = Player::new(way, load, threads);
    let mut schedules = player.app.world_mut().resource_mut::<Schedules>();
    for (_, schedule) in schedules.iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    // A search that ends late has another generation made: let it be there before anything is counted.
    let world = player.app.world();
    let steps = world.get_resource::<ArenasOf<FixedStep>>();
    let lease = steps.map(|arenas| arenas.lease());
    player.app.update();
    drop(lease);
    for _ in 0..WARM_UP_FRAMES {
        player.app.update();
    }
    requests_of(|| {
        for _ in 0..100 {
            player.app.update();
        }
    })
}

/// Returns the peak of this process's resident memory, in KiB, where the system tells.
pub fn peak_resident_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns how long all threads have run so far, where the system tells.
fn cpu_time() -> Option<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir("/proc/self/task").ok()? {
        let path = task.ok()?.path().join("schedstat");
        let stat = fs::read_to_string(path).unwrap_or_default();
        let time = stat.split_whitespace().next();
        nanoseconds += time.and_then(|time| time.parse().ok()).unwrap_or(0);
    }
    Some(Duration::from_nanos(nanoseconds))
}
