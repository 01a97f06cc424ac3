//! The core without Bevy: one arena, its containers, handles, all workers' arenas and leases.

mod allocator;
mod arena;
mod auto_traits;
mod handles;
mod leases;
mod memory;
mod panics;
mod trim;
