//! The example `voxel_world`: its systems ask nothing of the global allocator, with arenas.
//!
//! A binary of its own: the counter is the process's, and so is the number of threads.
// Miri needs minutes for each frame of an app. With `sites`, a line that is new among the largest gets a
// diagnostic, whose history takes memory until it is full.
#![cfg(not(any(miri, feature = "sites")))]

#[path = "../examples/voxel_world"]
mod voxel_world {
    pub(crate) mod counting;
    pub(crate) mod game;
    pub(crate) mod gpu;
    #[expect(dead_code, reason = "times are for the report")]
    pub(crate) mod measure;
    #[expect(
        dead_code,
        reason = "the words and figures of a way are for the report"
    )]
    pub(crate) mod ways;
}

use voxel_world::{counting, game, gpu, measure, ways};

use self::game::Load;
use self::ways::Way;

#[test]
fn a_warm_frame_of_the_world_asks_nothing_of_the_global_allocator() {
    let load = Load {
        columns: 4,
        layers: 2,
        walkers: 200,
        diggers: 2,
        label_distance: 60.0,
    };
    // The task of a path search is Bevy's, and there is at most one of them in these frames.
    assert!(measure::count_requests(Way::Arena, load.clone()).calls <= 1);
    // It would see them.
    assert!(measure::count_requests(Way::Heap, load).calls > 10_000);
}
