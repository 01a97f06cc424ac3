//! The ways to manage the memory of a frame, each with the same three systems.

mod heap;
mod herd;
mod nothing;
mod ours;
mod reuse;
mod scratch;

use bevy_app::App;

/// One way: its name, and what it adds to the app.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) add_systems: fn(&mut App),
}

pub(crate) const WAYS: [Way; 7] = [
    Way {
        name: "nothing stored",
        add_systems: nothing::add_systems,
    },
    Way {
        name: "heap",
        add_systems: heap::add_systems,
    },
    Way {
        name: "`Local` and `Parallel`, reused",
        add_systems: reuse::add_systems,
    },
    Way {
        name: "bumpalo-herd",
        add_systems: herd::add_systems,
    },
    Way {
        name: "ours",
        add_systems: ours::add_systems,
    },
    Way {
        name: "ours, data lives for one frame",
        add_systems: ours::add_systems_for_one_frame,
    },
    Way {
        name: "ours, with scratch",
        add_systems: scratch::add_systems,
    },
];
