//! What a frame's extract costs: handing over a handle, against swapping and cloning `Vec`s.
//!
//! `cargo bench -p frame_arena_benches --bench extract`. All kinds of extract run in turns in one process, so that their
//! ratios hold where their times do not. Exits with an error if the hand-over allocates.
#![expect(unsafe_code, reason = "counts the calls of the global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bevy_app::{App, AppLabel, SubApp, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{ScheduleLabel, SingleThreadedExecutor};
use bevy_frame_arena::{
    ExtractedFrame, FrameArenaPlugin, FrameArenaSubAppPlugin, FrameArenas, FrameHandle,
};

/// Position and colour, as a renderer may want them.
type Instance = [f32; 8];

const FRAMES: usize = 500;
/// Longer than the history that Bevy keeps of a diagnostic, which grows until it is full.
const WARM_UP_FRAMES: usize = 200;

fn main() -> ExitCode {
    println!("The extract of a frame; medians of {FRAMES} frames, all kinds in turns\n");
    println!("                            time   handle is   allocator   payload");
    println!("instances  extract        a frame      faster       calls    copied");
    let allocations: u64 = [1_000, 10_000, 100_000].into_iter().map(compare).sum();
    println!("\nswap: of two `Vec`s, which takes the list away from the main world");
    if allocations > 0 {
        println!("\nthe hand-over called the allocator {allocations} times");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Prints a row for each kind of extract, and returns how often the hand-over allocated.
fn compare(instances: usize) -> u64 {
    let payload_bytes = instances * size_of::<Instance>();
    let mut kinds = [
        ("handle", 0, handle_over(instances), Samples::default()),
        (
            "swap",
            0,
            copy_over(instances, std::mem::swap),
            Samples::default(),
        ),
        (
            "clone_from",
            payload_bytes,
            copy_over(instances, reuse),
            Samples::default(),
        ),
        (
            "clone",
            payload_bytes,
            copy_over(instances, clone),
            Samples::default(),
        ),
    ];
    for frame in 0..WARM_UP_FRAMES + FRAMES {
        for (.., game, samples) in &mut kinds {
            let (time, calls) = game.frame();
            if frame >= WARM_UP_FRAMES {
                samples.times.push(time);
                samples.allocator_calls += calls;
            }
        }
    }
    let handle = kinds[0].3.median();
    for (name, copied_bytes, _, samples) in &mut kinds {
        let time = samples.median();
        let faster = time.as_secs_f64() / handle.as_secs_f64();
        let calls = samples.allocator_calls as f64 / FRAMES as f64;
        let time_us = time.as_secs_f64() * 1e6;
        println!(
            "{instances:9}  {name:<10} {time_us:9.2} us {faster:9.1} x {calls:11.2} {:6} KiB",
            *copied_bytes / 1024
        );
    }
    kinds[0].3.allocator_calls
}

/// A main world that makes instances, and a render world that reads them.
struct Game {
    main: App,
    render: SubApp,
}

#[derive(AppLabel, Clone, Debug, Hash, PartialEq, Eq)]
struct RenderApp;

impl Game {
    fn new(mut main: App, mut render: SubApp) -> Self {
        render.update_schedule = Some(Update.intern());
        main.edit_schedule(Update, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
        main.insert_sub_app(RenderApp, render);
        main.finish();
        let render = main
            .remove_sub_app(RenderApp)
            .expect("it was just inserted");
        Self { main, render }
    }

    /// Runs a frame and returns the time and the allocator calls of its extract.
    fn frame(&mut self) -> (Duration, u64) {
        self.main.update();
        let calls = ALLOCATOR.calls.load(Relaxed);
        let start = Instant::now();
        self.render.extract(self.main.world_mut());
        let time = start.elapsed();
        let calls = ALLOCATOR.calls.load(Relaxed) - calls;
        self.render.update();
        (time, calls)
    }
}

fn instance(index: usize) -> Instance {
    black_box([index as f32; 8])
}

/// Shares the instances in the frame arena, and extracts the handle.
fn handle_over(instances: usize) -> Game {
    #[derive(Resource, Clone, Copy)]
    struct Instances(FrameHandle<[Instance]>);

    let mut main = App::new();
    main.add_plugins((
        FrameArenaPlugin::default(),
        FrameArenaSubAppPlugin::new(RenderApp),
    ));
    let empty = FrameArenas::default().local().share_slice_copy(&[]);
    main.insert_resource(Instances(empty));
    main.add_systems(
        Update,
        move |arenas: Res<FrameArenas>, mut shared: ResMut<Instances>| {
            shared.0 = arenas.local().share_iter((0..instances).map(instance));
        },
    );
    let mut render = SubApp::new();
    render.insert_resource(Instances(empty));
    render.set_extract(|main, render| {
        *render.resource_mut::<Instances>() = *main.resource::<Instances>();
    });
    render.add_systems(
        Update,
        |frame: Res<ExtractedFrame>, instances: Res<Instances>| read(&frame[instances.0]),
    );
    Game::new(main, render)
}

#[derive(Resource, Clone, Default)]
struct Instances(Vec<Instance>);

/// Makes the instances in a `Vec`, and extracts that with `copy`.
fn copy_over(instances: usize, copy: fn(&mut Vec<Instance>, &mut Vec<Instance>)) -> Game {
    let mut main = App::new();
    main.init_resource::<Instances>();
    main.add_systems(Update, move |mut list: ResMut<Instances>| {
        list.0.clear();
        list.0.extend((0..instances).map(instance));
    });
    let mut render = SubApp::new();
    render.init_resource::<Instances>();
    render.set_extract(move |main, render| {
        let list = &mut main.resource_mut::<Instances>().0;
        copy(list, &mut render.resource_mut::<Instances>().0);
    });
    render.add_systems(Update, |list: Res<Instances>| read(&list.0));
    Game::new(main, render)
}

/// As most renderers do it.
#[expect(clippy::ptr_arg, reason = "all ways to copy have one signature")]
fn clone(source: &mut Vec<Instance>, target: &mut Vec<Instance>) {
    *target = source.clone();
}

/// As careful ones do it: into the memory of the last frame.
fn reuse(source: &mut Vec<Instance>, target: &mut Vec<Instance>) {
    target.clone_from(source);
}

fn read(instances: &[Instance]) {
    black_box(instances.iter().map(|instance| instance[0]).sum::<f32>());
}

#[derive(Default)]
struct Samples {
    times: Vec<Duration>,
    allocator_calls: u64,
}

impl Samples {
    fn median(&mut self) -> Duration {
        self.times.sort_unstable();
        self.times[self.times.len() / 2]
    }
}

struct CountingAllocator {
    calls: AtomicU64,
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator {
    calls: AtomicU64::new(0),
};

// SAFETY: all is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.calls.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        self.calls.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
