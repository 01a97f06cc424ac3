//! Goal: compare this frame with the previous one, through a handle.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_frame_arena::prelude::*;

fn main() {
    let mut app = App::new();
    app.add_plugins(FrameArenaPlugin::default())
        .init_resource::<Nearby>()
        .add_systems(Update, find_nearby);
    for _ in 0..4 {
        app.update();
    }
}

/// Who was near, in the frame that wrote it last. Unset before the first.
#[derive(Resource, Default)]
struct Nearby(FrameHandle<[u64]>);

fn find_nearby(arenas: Res<FrameArenas>, mut nearby: ResMut<Nearby>) {
    let frame = arenas.frame();
    let mut now = arenas.local().vec();
    now.extend(frame..frame + 3);

    // Empty where the handle is unset or stale.
    let before = arenas.slice(nearby.0);
    let came: Vec<_> = now.iter().filter(|who| !before.contains(who)).collect();
    let left: Vec<_> = before.iter().filter(|who| !now.contains(who)).collect();
    println!("frame {frame}: near {now:?}, came {came:?}, left {left:?}");

    // Readable in this frame and the next; stale after that.
    nearby.0 = now.share();
}
