//! Goal: make one list out of a `par_iter`, in the same order each frame, without the heap.
//!
//! All workers look at twenty thousand objects at once. Each adds what it sees to a batch of its
//! own, and the batches become one list, which is compared with that of the last frame.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

const OBJECTS: u32 = 20_000;
const FRAMES: usize = 10;

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .init_resource::<View>()
        .add_systems(Startup, spawn)
        .add_systems(Update, (cull, compare).chain());
    app.finish();
    app.cleanup();
    for _ in 0..FRAMES {
        app.update();
    }
    let appeared = app.world().resource::<View>().appeared;
    println!("{appeared} objects came into view in {FRAMES} frames");
    assert_eq!(appeared, 1000 + 100 * (FRAMES - 1));
}

#[derive(Component)]
struct Place(f32);

#[derive(Resource, Default)]
struct View {
    from: f32,
    visible: TwoFrames<Entity>,
    appeared: usize,
}

fn spawn(mut commands: Commands) {
    commands.spawn_batch((0..OBJECTS).map(|n| Place(n as f32)));
}

fn cull(arenas: Res<FrameArenas>, objects: Query<(Entity, &Place)>, mut view: ResMut<View>) {
    view.from += 100.0;
    let seen = view.from..view.from + 1000.0;

    let visible = arenas.collector();
    objects.par_iter().for_each_init(
        || visible.batch(),
        |batch, (entity, place)| {
            if seen.contains(&place.0) {
                batch.push(entity);
            }
        },
    );
    view.visible.set(visible.share_sorted());
}

fn compare(arenas: Res<FrameArenas>, mut view: ResMut<View>) {
    let added = view.visible.changes(&arenas).filter_map(Change::added);
    view.appeared += added.count();
}
