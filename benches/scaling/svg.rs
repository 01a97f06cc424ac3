//! Small line plots as SVG.

use std::fmt::Write;

#[derive(Clone, Copy)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

/// A line of a plot: its name and its points.
pub(crate) type Series = (&'static str, Vec<(f64, f64)>);

pub(crate) struct Plot {
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    pub(crate) x: (&'static str, Scale),
    pub(crate) y: (&'static str, Scale),
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 300.0;
const COLOURS: [&str; 4] = ["#d9480f", "#1971c2", "#2f9e44", "#868e96"];

impl Plot {
    /// Prints the points as a table.
    pub(crate) fn print(&self) {
        println!("### {}\n", self.title);
        for (name, points) in &self.series {
            print!("{name}:");
            for (x, y) in points.iter().step_by(points.len().div_ceil(20).max(1)) {
                print!(" {x:.0}: {y:.2},");
            }
            println!();
        }
    }

    pub(crate) fn to_svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        text(&mut svg, WIDTH / 2.0, 22.0, "middle", self.title);
        text(
            &mut svg,
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 36.0,
            "middle",
            self.x.0,
        );
        text(&mut svg, 8.0, TOP - 10.0, "start", self.y.0);
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let x = Axis::new(self.x.1, points().map(|point| point.0), (LEFT, RIGHT));
        let y = Axis::new(self.y.1, points().map(|point| point.1), (BOTTOM, TOP));
        for tick in x.ticks() {
            let place = x.place(tick);
            line(&mut svg, (place, TOP), (place, BOTTOM));
            text(&mut svg, place, BOTTOM + 16.0, "middle", &short(tick));
        }
        for tick in y.ticks() {
            let place = y.place(tick);
            line(&mut svg, (LEFT, place), (RIGHT, place));
            text(&mut svg, LEFT - 6.0, place + 4.0, "end", &short(tick));
        }
        for (index, (name, points)) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let name = escaped(name);
            svg.push_str("<polyline fill=\"none\" stroke-width=\"2\" points=\"");
            for point in points {
                write!(svg, "{:.1},{:.1} ", x.place(point.0), y.place(point.1))
                    .expect("memory takes all text");
            }
            let at = LEFT + index as f64 * 140.0;
            write!(
                svg,
                "\" stroke=\"{colour}\"/>\n<text x=\"{at}\" y=\"{}\" fill=\"{colour}\">{name}</text>\n",
                HEIGHT - 8.0
            )
            .expect("memory takes all text");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    span: (f64, f64),
}

impl Axis {
    fn new(scale: Scale, values: impl Iterator<Item = f64> + Clone, span: (f64, f64)) -> Self {
        let high = values.clone().fold(f64::MIN, f64::max);
        let low = values.fold(f64::MAX, f64::min);
        let (low, high) = match scale {
            Scale::Linear => (0.0, high * 1.05),
            Scale::Logarithmic => (low * 0.8, high * 1.25),
        };
        Self {
            scale,
            low,
            high,
            span,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.span.0 + part * (self.span.1 - self.span.0)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let magnitude = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
                let step = step.into_iter().find(|step| *step >= rough);
                let step = step.unwrap_or(rough);
                (0..)
                    .map(|count| f64::from(count) * step)
                    .take_while(|tick| *tick <= self.high)
                    .collect()
            }
            Scale::Logarithmic => {
                let is_wide = self.high / self.low > 200.0;
                let steps: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
                (-3..9)
                    .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
                    .filter(|tick| (self.low..=self.high).contains(tick))
                    .collect()
            }
        }
    }
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e4 => format!("{} k", value / 1e3),
        value => format!("{}", (value * 1000.0).round() / 1000.0),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let text = escaped(text);
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#343a40\">{text}</text>"
    )
    .expect("memory takes all text");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#e9ecef\"/>",
        from.0, from.1, to.0, to.1
    )
    .expect("memory takes all text");
}
