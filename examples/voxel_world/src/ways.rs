//! The ways to manage the memory of a frame. Each has the same systems, and calls the same game.

pub mod arena;
mod heap;
mod herd;
mod local;
mod reused;
mod vectors;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::system::ScheduleSystem;

use crate::game::paths::Goal;

/// A way, and the set of its systems.
#[derive(SystemSet, Resource, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    Heap,
    Local,
    Herd,
    Arena,
}

impl Way {
    pub const ALL: [Self; 4] = [Self::Heap, Self::Local, Self::Herd, Self::Arena];

    pub fn name(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::Local => "local",
            Self::Herd => "herd",
            Self::Arena => "arena",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            Self::Heap => "fresh Vecs and Strings",
            Self::Local => "reused Local and Parallel buffers",
            Self::Herd => "bumpalo-herd, and reused buffers",
            Self::Arena => "frame arenas",
        }
    }

    pub fn add_to(self, app: &mut App) {
        match self {
            Self::Heap => app.add_plugins(heap::HeapPlugin),
            Self::Local => app.add_plugins(local::LocalPlugin),
            Self::Herd => app.add_plugins(herd::HerdPlugin),
            Self::Arena => app.add_plugins(arena::ArenaPlugin),
        };
    }

    /// Adds the systems that each way has: in `First`, one after another in a fixed step, and in `Update`.
    fn add_systems<A, B, C>(
        self,
        app: &mut App,
        hand_over: impl IntoScheduleConfigs<ScheduleSystem, A>,
        step: impl IntoScheduleConfigs<ScheduleSystem, B>,
        frame: impl IntoScheduleConfigs<ScheduleSystem, C>,
    ) {
        app.init_resource::<Goal>()
            .add_systems(First, hand_over.in_set(self))
            .add_systems(FixedUpdate, step.chain().in_set(self))
            .add_systems(Update, frame.in_set(self));
    }

    /// Returns how many lines of code it takes, without imports and with those that it has in common with other
    /// ways.
    pub fn lines_of_code(self) -> usize {
        let vectors = include_str!("ways/vectors.rs");
        let reused = include_str!("ways/reused.rs");
        let sources = match self {
            Self::Heap => vec![include_str!("ways/heap.rs"), vectors],
            Self::Local => vec![include_str!("ways/local.rs"), vectors, reused],
            Self::Herd => vec![include_str!("ways/herd.rs"), vectors, reused],
            Self::Arena => vec![include_str!("ways/arena.rs")],
        };
        let mut is_import = false;
        let is_code = |line: &&str| {
            is_import |= line.starts_with("use ");
            let is_code = !is_import && !line.is_empty() && !line.starts_with("//");
            is_import &= !line.ends_with(';');
            is_code
        };
        let lines = sources.iter().flat_map(|source| source.lines());
        lines.map(str::trim).filter(is_code).count()
    }
}

/// Adds what several ways have in common, unless another way has done so.
fn add_once<P: Plugin>(app: &mut App, plugin: P) {
    if !app.is_plugin_added::<P>() {
        app.add_plugins(plugin);
    }
}
