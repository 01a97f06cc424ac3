//! CPU times of all ways of a workload, in turns.

use std::time::Duration;

use bevy_app::App;

use crate::cpu::cpu_time;
use crate::ways::{Way, Workload};

/// Frames of one way before it is another's turn.
const BLOCK_FRAMES: u32 = 10;

/// Frames until every buffer has its size.
const WARM_UP_FRAMES: u32 = 100;

struct Racer {
    way: Way,
    app: App,
    /// The time of each block, on all threads.
    times: Vec<Duration>,
}

/// A way, and its time as a ratio to that of reused buffers: 10th, 50th and 90th percentile of the turns.
pub(crate) type Row = (Way, [f64; 3]);

/// Measures and prints the CPU time of all ways.
pub(crate) fn measure(workload: &Workload, blocks: usize) -> Vec<Row> {
    let racer = |way| {
        let app = (workload.app)(way)?;
        let times = Vec::new();
        Some(Racer { way, app, times })
    };
    let ways = Way::ALL.into_iter().filter(|way| *way != Way::Nothing);
    let mut racers: Vec<Racer> = ways.filter_map(racer).collect();
    for racer in &mut racers {
        (0..WARM_UP_FRAMES).for_each(|_| racer.app.update());
    }
    for turn in 0..blocks {
        // Another one begins each time, so that nobody always comes after the same.
        let racers_count = racers.len();
        for place in 0..racers_count {
            let racer = &mut racers[(turn + place) % racers_count];
            // It fetches what the others have pushed out of the cache.
            racer.app.update();
            let start = cpu_time();
            (0..BLOCK_FRAMES).for_each(|_| racer.app.update());
            racer.times.push(cpu_time() - start);
        }
    }
    let sum = (workload.sum)(racers[0].app.world());
    let is_same = |racer: &Racer| (workload.sum)(racer.app.world()) == sum;
    assert!(
        racers.iter().all(is_same),
        "the ways computed different things"
    );
    print(workload, &racers)
}

fn print(workload: &Workload, racers: &[Racer]) -> Vec<Row> {
    // Where data is read in the next frame, reused buffers are there twice.
    let base = [Way::Reuse, Way::ReuseTwice].into_iter();
    let base = base
        .flat_map(|way| racers.iter().find(|racer| racer.way == way))
        .next();
    let base = base.expect("each workload has reused buffers");
    println!(
        "| {} | CPU ms a frame | to reused buffers, p50 | p10 to p90 |",
        workload.name
    );
    println!("|---|--:|--:|--:|");
    let mut rows = Vec::new();
    for racer in racers {
        let mut times = racer.times.clone();
        times.sort_unstable();
        let ms = times[times.len() / 2].as_secs_f64() * 1e3 / f64::from(BLOCK_FRAMES);
        let ratios = ratios(&racer.times, &base.times);
        let [p10, p50, p90] = ratios;
        println!(
            "| {} | {ms:.2} | {p50:.3} | {p10:.2} to {p90:.2} |",
            racer.way.name()
        );
        rows.push((racer.way, ratios));
    }
    println!();
    rows
}

/// Returns the 10th, 50th and 90th percentile of the ratios of blocks in the same turn.
fn ratios(times: &[Duration], base: &[Duration]) -> [f64; 3] {
    let pairs = times.iter().zip(base);
    let mut ratios: Vec<f64> = pairs
        .map(|(a, b)| a.as_secs_f64() / b.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    [0.1, 0.5, 0.9].map(|part| ratios[(part * (ratios.len() - 1) as f64).round() as usize])
}
