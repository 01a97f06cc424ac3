//! The ways to manage the memory of a frame. Each has the same systems, and calls the same game.

pub(crate) mod arena;
mod heap;
mod herd;
mod local;

use bevy_app::App;
use bevy_ecs::prelude::*;

/// A way, and the set of its systems.
#[derive(SystemSet, Resource, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    Heap,
    Local,
    Herd,
    Arena,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Heap, Self::Local, Self::Herd, Self::Arena];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Local => "local",
            Self::Herd => "herd",
            Self::Arena => "arena",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Heap => "fresh Vecs and Strings",
            Self::Local => "reused Local and Parallel buffers",
            Self::Herd => "bumpalo-herd, and reused buffers",
            Self::Arena => "frame arenas",
        }
    }

    pub(crate) fn add_to(self, app: &mut App) {
        match self {
            Self::Heap => app.add_plugins(heap::HeapPlugin),
            Self::Local => app.add_plugins(local::LocalPlugin),
            Self::Herd => app.add_plugins(herd::HerdPlugin),
            Self::Arena => app.add_plugins(arena::ArenaPlugin),
        };
    }

    /// Returns how many lines of code it takes.
    pub(crate) fn lines_of_code(self) -> usize {
        let source = match self {
            Self::Heap => include_str!("ways/heap.rs"),
            Self::Local => include_str!("ways/local.rs"),
            Self::Herd => include_str!("ways/herd.rs"),
            Self::Arena => include_str!("ways/arena.rs"),
        };
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        source.lines().map(str::trim).filter(is_code).count()
    }
}
