//! A run as a picture: what arenas, workers and sites used over time, as SVG.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::{Line, Subject};
use crate::app::Bytes;

/// Lines in a chart: more can't be told apart.
const MAX_SERIES: usize = 8;
const COLORS: [&str; MAX_SERIES] = [
    "#1971c2", "#d9480f", "#2f9e44", "#9c36b5", "#e8a90c", "#0c8599", "#c2255c", "#5c6b73",
];

const WIDTH: f64 = 960.0;
const CHART_HEIGHT: f64 = 220.0;
/// Where the lines are within a chart; beside them is the legend.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 180.0;

/// Returns a chart for each set of arenas, one for its workers, and one for its sites.
pub(super) fn picture(lines: &[(Duration, Line)]) -> String {
    let mut arenas: Vec<&str> = Vec::new();
    for (_, line) in lines {
        if !arenas.contains(&&*line.arenas) {
            arenas.push(&line.arenas);
        }
    }
    let charts = arenas.into_iter().flat_map(|it| charts_of(it, lines));
    let charts: Vec<Chart> = charts.collect();
    let height = CHART_HEIGHT * charts.len().max(1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (index, chart) in charts.iter().enumerate() {
        chart.draw(&mut svg, index as f64 * CHART_HEIGHT);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Lines over time that have one scale.
struct Chart {
    title: String,
    /// When each interval ended.
    ends: Vec<Duration>,
    series: Vec<Series>,
}

/// The name of a line, and its bytes in each interval.
struct Series {
    name: String,
    bytes: Vec<usize>,
}

fn charts_of(arenas: &str, lines: &[(Duration, Line)]) -> Vec<Chart> {
    let own = || {
        lines
            .iter()
            .filter(move |(_, line)| *line.arenas == *arenas)
    };
    let mut ends: Vec<Duration> = own().map(|(end, _)| *end).collect();
    ends.dedup();
    let (mut all, mut reserved_bytes) = (BTreeMap::new(), 0);
    let (mut workers, mut sites) = (BTreeMap::new(), BTreeMap::new());
    for (end, line) in own() {
        let at = ends.partition_point(|it| it < end);
        let note = |series: &mut BTreeMap<String, Vec<usize>>, name: String, bytes| {
            series.entry(name).or_insert_with(|| vec![0; ends.len()])[at] = bytes;
        };
        let name = line.subject.to_string();
        match line.subject {
            Subject::All => {
                // Not a line: it may be so much more that the others would be flat.
                reserved_bytes = reserved_bytes.max(line.held_bytes);
                note(&mut all, "peak".into(), line.peak_bytes);
                note(&mut all, "used".into(), line.used_bytes);
            }
            Subject::Worker(_) => note(&mut workers, name, line.peak_bytes),
            Subject::Site(_) => note(&mut sites, name, line.peak_bytes),
        }
    }
    let reserved = Bytes(reserved_bytes);
    let charts = [
        (format!("{arenas}, of up to {reserved} reserved"), all),
        (format!("{arenas}, peak of each worker"), workers),
        (format!("{arenas}, peak of each site"), sites),
    ];
    let charts = charts.into_iter().filter(|(_, series)| !series.is_empty());
    charts
        .map(|(title, series)| Chart::new(title, &ends, series))
        .collect()
}

impl Chart {
    fn new(title: String, ends: &[Duration], series: BTreeMap<String, Vec<usize>>) -> Self {
        let series = series.into_iter();
        let mut series: Vec<_> = series.map(|(name, bytes)| Series { name, bytes }).collect();
        series.sort_by_key(|it| std::cmp::Reverse(it.highest()));
        Self {
            title,
            ends: ends.to_vec(),
            series,
        }
    }

    fn draw(&self, svg: &mut String, above: f64) {
        let seconds = self.ends.last().map_or(0.0, Duration::as_secs_f64);
        let highest = self.series.first().map_or(0, Series::highest);
        let x = |at: f64| LEFT + (RIGHT - LEFT) * at / seconds.max(f64::MIN_POSITIVE);
        let y =
            |bytes: usize| above + BOTTOM - (BOTTOM - TOP) * bytes as f64 / highest.max(1) as f64;
        text(svg, (LEFT, above + 20.0), "start", &self.title);
        for part in [0, highest / 2, highest] {
            let (at, label) = (y(part), Bytes(part).to_string());
            line(svg, &format!("M{LEFT} {at:.1}H{RIGHT}"), "#ddd");
            text(svg, (LEFT - 6.0, at + 4.0), "end", &label);
        }
        for part in [0.0, 0.5, 1.0] {
            let label = format!("{:.1} s", seconds * part);
            let place = (x(seconds * part), above + BOTTOM + 16.0);
            text(svg, place, "middle", &label);
        }
        for (index, (series, color)) in self.series.iter().zip(COLORS).enumerate() {
            let mut path = format!("M{LEFT} {:.1}", y(series.bytes[0]));
            // A figure is the highest of its interval, and is as long.
            for (end, &bytes) in self.ends.iter().zip(&series.bytes) {
                // Writing to a string does not fail.
                let _ = write!(path, "V{:.1}H{:.1}", y(bytes), x(end.as_secs_f64()));
            }
            line(svg, &path, color);
            let (at, label) = (above + TOP + 17.0 * index as f64, series.label());
            line(svg, &format!("M{} {:.1}h16", RIGHT + 20.0, at - 4.0), color);
            text(svg, (RIGHT + 42.0, at), "start", &label);
        }
        if let Some(left_out) = self.series.len().checked_sub(MAX_SERIES + 1) {
            let place = (RIGHT + 42.0, above + TOP + 17.0 * MAX_SERIES as f64);
            text(svg, place, "start", &format!("and {} more", left_out + 1));
        }
    }
}

impl Series {
    fn highest(&self) -> usize {
        self.bytes.iter().copied().max().unwrap_or(0)
    }

    fn label(&self) -> String {
        format!("{}: up to {}", self.name, Bytes(self.highest()))
    }
}

fn line(svg: &mut String, path: &str, color: &str) {
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    // A name may contain anything.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}
