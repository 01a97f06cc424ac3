//! The voxel world. Its renderer reads each list one frame later, and its arenas use scratch.

use bevy_app::App;
use bevy_ecs::prelude::*;
use voxel_world::game::{GamePlugin, Load};
use voxel_world::gpu::Gpu;
use voxel_world::ways;

use crate::ways::Way;

pub(crate) fn app(way: Way) -> Option<App> {
    let way = match way {
        Way::Nothing => None,
        Way::ReuseTwice => Some(ways::Way::Local),
        Way::Herd => Some(ways::Way::Herd),
        Way::Scratch => Some(ways::Way::Arena),
        Way::Reuse | Way::Ours | Way::OnePeriod => return None,
    };
    let mut app = App::new();
    app.add_plugins(GamePlugin {
        load: Load::default(),
    });
    if let Some(way) = way {
        way.add_to(&mut app);
    }
    app.finish();
    app.cleanup();
    Some(app)
}

pub(crate) fn sum(world: &World) -> u64 {
    world.resource::<Gpu>().sum()
}
