//! Goal: a task reads a frame's data for as long as it takes, works in memory of its own, and its result
//! comes back as a component, without a copy.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .add_systems(Startup, start_search)
        .add_systems(Update, simulate)
        .add_systems(Last, (finish_search, report).chain());
    app.update();
    while app.world_mut().query::<&Search>().iter(app.world()).count() > 0 {
        app.update();
    }
    let usage = app.world().resource::<FrameArenas>().usage();
    println!("{} generations were needed", usage.generations);
}

/// On an entity while its task runs.
#[derive(Component)]
struct Search(Task<TaskResult<Peaks>>);

/// What the task makes: two lists, in the task's memory.
struct Peaks {
    places: FrameHandle<[usize]>,
    heights: FrameHandle<[u64]>,
}

/// On the entity from then on. When it is replaced or despawned, the memory goes back.
#[derive(Component)]
struct Found(TaskResult<Peaks>);

fn start_search(arenas: Res<FrameArenas>, mut commands: Commands) {
    let map = arenas.local();
    let map = map.share_iter((0..1_000_000_u64).map(|n| n * n % 1009));
    // The lease moves into the task. Until it ends, this frame's memory is not recycled.
    let map = arenas.lease_handle(map).expect("it was just made");
    let arena = arenas.task_arena();
    let search = async move { find_peaks(&map, arena) };
    commands.spawn(Search(AsyncComputeTaskPool::get().spawn(search)));
}

fn find_peaks(map: &[u64], arena: TaskArena) -> TaskResult<Peaks> {
    let (mut places, mut heights) = (arena.vec(), arena.vec());
    for (place, &height) in map.iter().enumerate().filter(|(_, height)| **height > 1000) {
        places.push(place);
        heights.push(height);
    }
    let peaks = arena.share(Peaks {
        places: places.share(),
        heights: heights.share(),
    });
    arena.finish(peaks)
}

fn simulate(arenas: Res<FrameArenas>) {
    arenas.local().alloc_slice_fill_copy(10_000, 1.0_f32);
}

fn finish_search(mut searches: Query<(Entity, &mut Search)>, mut commands: Commands) {
    for (entity, mut search) in &mut searches {
        if let Some(peaks) = check_ready(&mut search.0) {
            commands
                .entity(entity)
                .remove::<Search>()
                .insert(Found(peaks));
        }
    }
}

fn report(arenas: Res<FrameArenas>, found: Query<&Found, Added<Found>>) {
    for Found(peaks) in &found {
        let memory = peaks.memory();
        let highest = memory[peaks.heights].iter().max();
        println!(
            "frame {}: {} peaks, the highest {highest:?}",
            arenas.frame(),
            memory[peaks.places].len(),
        );
    }
}
