//! Goal: react to objects that came into view or left since the last frame, without bookkeeping.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), FrameArenaPlugin::default()))
        .init_resource::<Visible>()
        .add_systems(Startup, spawn)
        .add_systems(Update, (cull, react).chain());
    app.finish();
    app.cleanup();
    for _ in 0..4 {
        app.update();
    }
}

#[derive(Component)]
struct Place(u64);

/// The objects in view, in this frame and the one before.
#[derive(Resource, Default)]
struct Visible(TwoFrames<Entity>);

fn spawn(mut commands: Commands) {
    commands.spawn_batch((0..1000).map(Place));
}

fn cull(arenas: Res<FrameArenas>, objects: Query<(Entity, &Place)>, mut visible: ResMut<Visible>) {
    let view = arenas.period() * 2..arenas.period() * 2 + 5;
    let list = arenas.collector();
    objects.par_iter().for_each_init(
        || list.batch(),
        |batch, (entity, place)| {
            if view.contains(&place.0) {
                batch.push(entity);
            }
        },
    );
    // The list of the last frame becomes the old one.
    visible.0.set(list.share_sorted());
}

fn react(arenas: Res<FrameArenas>, visible: Res<Visible>) {
    println!("frame {}:", arenas.period());
    // One pass over both lists, in place.
    for change in visible.0.changes(&arenas) {
        match change {
            Change::Added(entity) => println!("  {entity} came into view"),
            Change::Removed(entity) => println!("  {entity} left"),
            Change::Changed { .. } => {}
        }
    }
}
