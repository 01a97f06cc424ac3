//! Goal: play a real game's frame, with its memory managed in four ways, and see what that costs.
//!
//! A voxel world is generated, a camera flies over it, diggers change it, and thousands of walkers
//! look for their way. Every frame is culled, sorted, meshed, steered and labelled by parallel
//! systems, and read one frame later by a stand-in for the renderer. The game itself is in
//! `game.rs`; the systems are in `ways`, once for each way to manage memory, and `ways/arena.rs` is
//! the one to copy from. `-- --help` lists the options.

mod arguments;
mod plot;
mod report;

use std::env;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use voxel_world::counting::Counting;
use voxel_world::measure::{self, BLOCK_FRAMES, Player, WARM_UP_FRAMES, first_difference, threads};

use crate::arguments::{Comparison, HELP, Task};
use crate::report::Figures;

#[global_allocator]
static GLOBAL: Counting = Counting;

fn main() -> ExitCode {
    let done = match arguments::parse(env::args().skip(1)) {
        Ok(Task::Compare(comparison)) => compare(&comparison),
        Ok(Task::MeasureMemory(way, load)) => {
            let mut player = Player::new(way, load, threads());
            (0..WARM_UP_FRAMES + BLOCK_FRAMES).for_each(|_| player.play());
            if let Some(kib) = measure::peak_resident_kib() {
                println!("{kib}");
            }
            Ok(())
        }
        Ok(Task::CountRequests(way, load)) => {
            let requests = measure::count_requests(way, load);
            println!("{} {}", requests.calls, requests.bytes);
            Ok(())
        }
        Ok(Task::Help) => {
            println!("{HELP}");
            Ok(())
        }
        Err(error) => Err(format!("{error}\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Lets all ways play, in turns, and prints the report.
fn compare(comparison: &Comparison) -> Result<(), String> {
    let ways = comparison.ways.iter();
    let mut players: Vec<Player> = ways
        .map(|way| Player::new(*way, comparison.load.clone(), threads()))
        .collect();
    let frames = WARM_UP_FRAMES + comparison.rounds * BLOCK_FRAMES;
    let progress = progress_bar(frames * players.len());
    for player in &mut players {
        progress.set_message(format!("{} warms up", player.way.name()));
        for _ in 0..WARM_UP_FRAMES {
            player.play();
            progress.inc(1);
        }
    }
    for round in 0..comparison.rounds {
        // Another one begins each time, so that nobody always comes after the same.
        let turn = round % players.len();
        players.rotate_left(turn);
        for player in &mut players {
            progress.set_message(player.way.name());
            player.play_round();
            progress.inc(BLOCK_FRAMES as u64);
        }
        players.rotate_right(turn);
        if let Some((frame, one, other)) = first_difference(&players) {
            let [one, other] = [one, other].map(|way| way.name());
            return Err(format!(
                "frame {frame}: {one} and {other} are not the same world"
            ));
        }
    }
    progress.set_message("memory");
    let figures: Vec<Figures> = players
        .iter()
        .map(|player| Figures::new(player, &comparison.load))
        .collect();
    progress.finish_and_clear();
    println!("{} frames of each way, the same world in all\n", frames);
    println!("{}", report::write(&figures, &comparison.load));
    if let Some(file) = &comparison.plot {
        plot::draw(file, &players).map_err(|error| format!("{}: {error}", file.display()))?;
        println!("{} shows it", file.display());
    }
    Ok(())
}

fn progress_bar(frames: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} frames  {msg}");
    ProgressBar::new(frames as u64).with_style(style.expect("the template is right"))
}
