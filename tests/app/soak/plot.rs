//! The plot of a long run.

use std::fmt::Write;

use super::{Sample, mib};

/// The name, the colour and the value of a line.
type Line = (&'static str, &'static str, fn(&Sample) -> usize);

pub(super) fn svg(samples: &[Sample]) -> String {
    let most = samples
        .iter()
        .map(|sample| sample.resident_bytes.max(sample.reserved_bytes))
        .max()
        .unwrap_or(1)
        .max(1);
    let mut svg = String::from(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 660 240' font-family='sans-serif' \
         font-size='11'><rect width='660' height='240' fill='white'/>",
    );
    let lines: [Line; 3] = [
        ("resident", "#c33", |sample| sample.resident_bytes),
        ("reserved", "#36c", |sample| sample.reserved_bytes),
        ("used", "#393", |sample| sample.used_bytes),
    ];
    for (row, (name, colour, value)) in lines.into_iter().enumerate() {
        let mut points = String::new();
        for (index, sample) in samples.iter().enumerate() {
            let x = 10.0 + 640.0 * index as f64 / samples.len() as f64;
            let y = 230.0 - 190.0 * value(sample) as f64 / most as f64;
            write!(points, "{x:.1},{y:.1} ").expect("a string takes everything");
        }
        write!(
            svg,
            "<polyline fill='none' stroke='{colour}' points='{points}'/>\
             <text x='{}' y='16' fill='{colour}'>{name}</text>",
            10 + 80 * row
        )
        .expect("a string takes everything");
    }
    write!(
        svg,
        "<text x='260' y='16'>top: {:.1} MiB</text></svg>",
        mib(most)
    )
    .expect("a string takes everything");
    svg
}
