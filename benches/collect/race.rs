//! CPU times of ways that take turns.

use std::time::Duration;

use crate::cpu::cpu_time;

pub(crate) struct Racer<W> {
    pub(crate) way: W,
    times: Vec<Duration>,
}

impl<W> Racer<W> {
    pub(crate) fn new(way: W) -> Self {
        Self {
            way,
            times: Vec::new(),
        }
    }

    pub(crate) fn run_timed(&mut self, frame: impl FnOnce(&mut W)) {
        let start = cpu_time();
        frame(&mut self.way);
        self.times.push(cpu_time() - start);
    }

    /// Returns a time that the given part of the frames stayed within, in seconds.
    fn percentile(&mut self, part: f64) -> f64 {
        self.times.sort();
        let index = (part * (self.times.len() - 1) as f64).round() as usize;
        self.times[index].as_secs_f64()
    }
}

/// Prints the times of all, as ratios to the first.
pub(crate) fn print_table<W>(scene: &str, names: &[&str], racers: &mut [Racer<W>]) {
    let first = [0.5, 0.1].map(|part| racers[0].percentile(part));
    println!("| {scene} | p50 | p10 | p50, us |\n|---|--:|--:|--:|");
    for (name, racer) in names.iter().zip(racers) {
        let [p50, p10] = [0.5, 0.1].map(|part| racer.percentile(part));
        let ratios = [p50 / first[0], p10 / first[1]];
        println!(
            "| {name} | {:.2} | {:.2} | {:.0} |",
            ratios[0],
            ratios[1],
            p50 * 1e6
        );
    }
    println!();
}
