//! Pictures of a run: how long frames take in each way, and how much of the arenas they use.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

use voxel_world::measure::Player;
use voxel_world::ways::Way;

const SIZE: (u32, u32) = (960, 720);
const BINS: usize = 80;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;
type Done = Result<(), Box<dyn Error>>;

/// Draws both pictures into one file.
pub(crate) fn draw(file: &Path, players: &[Player]) -> Done {
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (times, usage) = area.split_vertically(SIZE.1 / 2);
    draw_times(&times, players)?;
    if let Some(arena) = players.iter().find(|player| player.way == Way::Arena) {
        draw_usage(&usage, arena)?;
    }
    area.present()?;
    Ok(())
}

fn draw_times(area: &Area, players: &[Player]) -> Done {
    let times: Vec<Vec<f64>> = players
        .iter()
        .map(|player| {
            let times = player.sorted_times();
            times.iter().map(|time| time.as_secs_f64() * 1e3).collect()
        })
        .collect();
    // The few longest would make all others look the same: the table has them.
    let longest = times.iter().map(|all| all[all.len() * 95 / 100]);
    let right = longest.fold(0.0, f64::max);
    let shares: Vec<Vec<f64>> = times.iter().map(|all| histogram(all, right)).collect();
    let top = shares.iter().flatten().copied().fold(0.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(area)
        .caption(
            "Frame times, with and without a fixed step",
            ("sans-serif", 20),
        )
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("milliseconds")
        .y_desc("% of the frames")
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (player, shares) in players.iter().zip(&shares) {
        let color = color(player.way as usize);
        let bin = right / BINS as f64;
        let points = shares.iter().enumerate();
        let points = points.map(|(index, share)| ((index as f64 + 0.5) * bin, *share));
        chart
            .draw_series(
                AreaSeries::new(points, 0.0, color.mix(0.12)).border_style(color.stroke_width(2)),
            )?
            .label(player.way.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
    }
    draw_legend(&mut chart)
}

/// Returns the percentage of the times in each of [`BINS`] equal parts.
fn histogram(times: &[f64], right: f64) -> Vec<f64> {
    let mut shares = vec![0.0; BINS];
    for time in times {
        if let Some(share) = shares.get_mut((time / right * BINS as f64) as usize) {
            *share += 100.0 / times.len() as f64;
        }
    }
    shares
}

fn draw_legend<'a, 'b: 'a, X: Ranged, Y: Ranged>(chart: &mut Chart<'a, 'b, X, Y>) -> Done {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

fn draw_usage(area: &Area, arena: &Player) -> Done {
    let mut names: Vec<Arc<str>> = Vec::new();
    for (name, _) in arena.usage.iter().flatten() {
        if !names.contains(name) {
            names.push(Arc::clone(name));
        }
    }
    names.sort();
    let kib_of = |workers: &[(Arc<str>, usize)], names: &[Arc<str>]| {
        let used = workers.iter().filter(|(name, _)| names.contains(name));
        used.map(|(_, bytes)| *bytes as f64 / 1024.0).sum::<f64>()
    };
    let top = arena.usage.iter().map(|workers| kib_of(workers, &names));
    let top = top.fold(1.0, f64::max) * 1.3;
    let mut chart = ChartBuilder::on(area)
        .caption("Arena use, by worker", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0..arena.usage.len(), 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("frame")
        .y_desc("KiB used")
        .light_line_style(TRANSPARENT)
        .draw()?;
    // On top of each other: the sum of all first, which the others then cover in part.
    for count in (1..=names.len()).rev() {
        let color = color(count);
        let points = arena.usage.iter().enumerate();
        let points = points.map(|(frame, workers)| (frame, kib_of(workers, &names[..count])));
        chart
            .draw_series(AreaSeries::new(points, 0.0, color))?
            .label(&*names[count - 1])
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
    }
    draw_legend(&mut chart)
}

/// Returns one of a few colours that all eyes can tell apart (Okabe and Ito's).
fn color(index: usize) -> RGBColor {
    const COLORS: [RGBColor; 6] = [
        RGBColor(213, 94, 0),
        RGBColor(0, 114, 178),
        RGBColor(230, 159, 0),
        RGBColor(0, 158, 115),
        RGBColor(204, 121, 167),
        RGBColor(86, 180, 233),
    ];
    COLORS[index % COLORS.len()]
}
