//! The game of the program `voxel_world`, and the ways to manage its memory: for the program, its tests, the window
//! and the benchmarks.
#![expect(missing_docs, reason = "a game, which nobody builds upon")]

pub mod counting;
pub mod game;
pub mod gpu;
pub mod measure;
pub mod ways;
