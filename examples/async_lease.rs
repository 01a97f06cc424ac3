//! Goal: let a task read a frame's data for as long as it takes, work in its own memory, and return its results
//! without a copy: one as a component, and one for a single frame.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .init_resource::<News>()
        .add_systems(Startup, start_search)
        .add_systems(Update, simulate)
        .add_systems(Last, (finish_search, report).chain());
    app.update();
    while app.world_mut().query::<&Search>().iter(app.world()).count() > 0 {
        app.update();
    }
    // By now the news is stale; the peaks are still readable.
    (0..3).for_each(|_| app.update());
    let usage = app.world().resource::<FrameArenas>().usage();
    println!(
        "{} generations were needed, {} result is alive",
        usage.generations, usage.task_results
    );
}

/// On an entity while its task runs.
#[derive(Component)]
struct Search(Task<(TaskResult<Peaks>, TaskResult<str>)>);

/// The result of the task: two lists in its memory.
struct Peaks {
    places: FrameHandle<[usize]>,
    heights: FrameHandle<[u64]>,
}

/// On the entity once the task has finished. When it is replaced or despawned, the memory is returned.
#[derive(Component)]
struct Found(TaskResult<Peaks>);

/// The second result of the task. When its frame is recycled, the memory is returned.
#[derive(Resource, Default)]
struct News(FrameHandle<str>);

fn start_search(arenas: Res<FrameArenas>, mut commands: Commands) {
    let heights = (0..1_000_000_u64).map(|n| n * n % 1009);
    let map = arenas.local().share_iter(heights);
    // The lease moves into the task. Until it ends, this frame's memory is not recycled.
    let map = arenas.lease_handle(map).expect("it was just made");
    // A ticket, because the task takes an arena for each result.
    let tasks = arenas.tasks();
    let search = async move { find_peaks(&map, &tasks) };
    commands.spawn(Search(AsyncComputeTaskPool::get().spawn(search)));
}

fn find_peaks(map: &[u64], tasks: &TaskArenas) -> (TaskResult<Peaks>, TaskResult<str>) {
    let arena = tasks.arena();
    let (mut places, mut heights) = (arena.vec(), arena.vec());
    for (place, &height) in map.iter().enumerate().filter(|(_, height)| **height > 1000) {
        places.push(place);
        heights.push(height);
    }
    let other = tasks.arena();
    let news = share_format!(other, "{} peaks", places.len());
    let peaks = arena.share(Peaks {
        places: places.share(),
        heights: heights.share(),
    });
    (arena.finish(peaks), other.finish(news))
}

fn simulate(arenas: Res<FrameArenas>) {
    arenas.local().alloc_slice_fill_copy(10_000, 1.0_f32);
}

fn finish_search(
    arenas: Res<FrameArenas>,
    mut searches: Query<(Entity, &mut Search)>,
    mut news: ResMut<News>,
    mut commands: Commands,
) {
    for (entity, mut search) in &mut searches {
        if let Some((peaks, text)) = check_ready(&mut search.0) {
            let mut entity = commands.entity(entity);
            entity.remove::<Search>().insert(Found(peaks));
            // An ordinary handle, like all others of this frame.
            news.0 = arenas.adopt(text);
        }
    }
}

fn report(arenas: Res<FrameArenas>, news: Res<News>, found: Query<&Found, Added<Found>>) {
    for Found(peaks) in &found {
        let memory = peaks.memory();
        let highest = memory[peaks.heights].iter().max();
        let first = memory[peaks.places].first();
        println!("the first at {first:?}, the highest {highest:?}");
    }
    if let Some(news) = arenas.get(news.0) {
        println!("frame {}: {news}", arenas.period());
    }
}
