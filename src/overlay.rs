//! The figures of all arenas on the screen.
#![forbid(unsafe_code)]

mod block;
mod config;
mod graph;
mod grid;
mod history;
mod names;
mod painter;
mod parts;
mod plugin;
mod problem_list;
mod site_rows;
mod window;

pub use self::config::FrameArenaOverlayConfig;
pub use self::plugin::FrameArenaOverlayPlugin;
pub use self::window::FrameArenaOverlay;
