//! The core without Bevy: one arena, its containers, handles, all workers' arenas and leases.

#[path = "../common"]
mod common {
    pub(crate) mod address;
    pub(crate) mod droppy;
    pub(crate) mod limits;
    pub(crate) mod panics;
    pub(crate) mod settings;
}

mod allocator;
mod arena;
mod auto_traits;
mod blocks;
mod family;
mod handles;
mod leases;
mod memory;
mod panics;
mod task_threads;
mod tasks;
mod trim;
mod users_line;
