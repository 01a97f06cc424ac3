//! The ways to manage the memory of tasks: what each does for a mesh, and nothing else.

mod fresh;
mod nothing;
mod ours;
mod pool;

use bevy_tasks::Task;
use voxel_world::game::mesher::Vertex;

use crate::scene::{Chunk, Game, Play};

pub(crate) trait Way: 'static {
    type Mesh: Send + 'static;

    /// Meshes a chunk in a task.
    fn mesh(&mut self, chunk: Chunk) -> Task<Self::Mesh>;
    fn vertices(mesh: &Self::Mesh) -> &[Vertex];
    /// What a plugin does where there is an app.
    fn begin_frame(&mut self) {}
}

/// A way by its name.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) play: fn() -> Box<dyn Play>,
}

pub(crate) const WAYS: [Named; 4] = [
    Named {
        name: "empty tasks",
        source: "",
        play: || Box::new(Game::new(nothing::Nothing)),
    },
    Named {
        name: "fresh `Vec`s",
        source: include_str!("ways/fresh.rs"),
        play: || Box::new(Game::new(fresh::Fresh)),
    },
    Named {
        name: "a pool of buffers in channels",
        source: include_str!("ways/pool.rs"),
        play: || Box::new(Game::new(pool::Pool::default())),
    },
    Named {
        name: "task arenas",
        source: include_str!("ways/ours.rs"),
        play: || Box::new(Game::new(ours::Ours::default())),
    },
];

/// Returns the lines of code, without imports, comments and what every way needs for the benchmark.
pub(crate) fn lines_of_code(source: &str) -> usize {
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ")
    };
    source.lines().filter(is_code).count()
}
