//! Runs a game whose arenas can be read from outside.
//!
//! `cargo run -p remote --ignore-rust-version`, and in another terminal
//!
//! ```sh
//! curl -s 127.0.0.1:15702 -d '{"jsonrpc": "2.0", "id": 1, "method": "world.get_resources",
//!     "params": {"resource": "bevy_frame_arena::FrameArenaReport"}}'
//! ```
#![forbid(unsafe_code)]

use std::time::Duration;

use bevy_app::{AppExit, ScheduleRunnerPlugin};
use bevy_remote::http::DEFAULT_PORT;

fn main() -> AppExit {
    let frame = Duration::from_millis(16);
    remote::game(DEFAULT_PORT)
        .add_plugins(ScheduleRunnerPlugin::run_loop(frame))
        .run()
}
