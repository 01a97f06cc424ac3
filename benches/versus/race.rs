//! Runs contenders in turns and prints how they compare.

use std::time::{Duration, Instant};

/// A contender in one race: its name, and work that returns the time that counts.
pub(crate) struct Runner<'a> {
    name: String,
    work: Box<dyn FnMut() -> Duration + 'a>,
    best: Duration,
}

impl<'a> Runner<'a> {
    /// Creates a runner that measures by itself what counts.
    pub(crate) fn timed(name: &str, work: impl FnMut() -> Duration + 'a) -> Self {
        Self {
            name: name.into(),
            work: Box::new(work),
            best: Duration::MAX,
        }
    }

    /// Creates a runner whose whole work counts.
    pub(crate) fn new(name: &str, mut work: impl FnMut() + 'a) -> Self {
        Self::timed(name, move || {
            let start = Instant::now();
            work();
            start.elapsed()
        })
    }
}

/// How long a race takes.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) per_race: Duration,
}

/// The names under which ours and the bare limit run.
pub(crate) const OURS: &str = "ours";
pub(crate) const LIMIT: &str = "bare limit";

/// Times within this factor of each other are called level: that much is noise.
const NOISE: f64 = 1.05;

/// Lets the runners take turns, so that noise hits all alike, and keeps the best of each.
///
/// A round of each is `units` operations; the table gives one of them.
pub(crate) fn race(effort: Effort, title: &str, units: u32, mut runners: Vec<Runner<'_>>) {
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || start.elapsed() < effort.per_race {
        for runner in &mut runners {
            runner.best = runner.best.min((runner.work)());
        }
        rounds += 1;
    }
    let ours = runners
        .iter()
        .find(|runner| runner.name == OURS)
        .expect("ours runs in each race")
        .best;
    println!("\n### {title}\n");
    println!("| | ns | ratio to ours |");
    println!("|---|--:|--:|");
    for runner in &runners {
        let nanoseconds = runner.best.as_secs_f64() * 1e9 / f64::from(units);
        let ratio = runner.best.as_secs_f64() / ours.as_secs_f64();
        println!("| {} | {nanoseconds:.2} | {ratio:.2} |", runner.name);
    }
    println!("\n{} (best of {rounds} rounds)", verdict(&runners, ours));
}

fn verdict(runners: &[Runner<'_>], ours: Duration) -> String {
    let peers = runners
        .iter()
        .filter(|runner| runner.name != OURS && runner.name != LIMIT);
    let Some(best) = peers.min_by_key(|peer| peer.best) else {
        return String::from("No peer does this");
    };
    let ratio = best.best.as_secs_f64() / ours.as_secs_f64();
    let name = &best.name;
    if ratio > NOISE {
        format!("AHEAD of every peer; the next is {name}, {ratio:.2} times ours")
    } else if ratio * NOISE < 1.0 {
        format!("BEHIND {name}, which takes {ratio:.2} times ours")
    } else {
        format!("LEVEL with {name}, within the noise ({ratio:.2} times ours)")
    }
}
