//! The Bevy side: the plugin, its diagnostics, the log, sub-apps, and a long run of it all.

#[path = "../common"]
mod common {
    pub(crate) mod log;
    pub(crate) mod panics;
}

mod diagnostics;
mod log;
mod paces;
mod plugin;
mod recorder;
mod soak;
mod sub_app;
mod task_arenas;
mod unswapped;
mod warnings;
