//! With arenas, the systems of the game ask nothing of the global allocator.
//!
//! A binary of its own: the counter is the process's, and so is the number of threads.
// Miri needs minutes for each frame of an app.
#![cfg(not(miri))]

use voxel_world::counting::Counting;
use voxel_world::game::Load;
use voxel_world::measure;
use voxel_world::ways::Way;

#[global_allocator]
static GLOBAL: Counting = Counting;

#[test]
fn a_warm_frame_of_the_world_asks_nothing_of_the_global_allocator() {
    let load = Load {
        columns: 4,
        layers: 2,
        walkers: 200,
        diggers: 2,
        label_distance: 60.0,
        meshes_in_tasks: false,
    };
    // The task of a path search is Bevy's, and there is at most one of them in these frames.
    assert!(measure::count_requests(Way::Arena, load.clone()).calls <= 1);
    // It would see them.
    assert!(measure::count_requests(Way::Heap, load).calls > 10_000);
}
