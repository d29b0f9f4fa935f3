//! Charts with error bars as SVG files, readable on light and on dark pages.

use assay_svg::{Anchor, Paper, round_step, width as text_width};

/// Pixels.
const WIDTH: f64 = 720.0;

/// Height of the area of a chart with two axes, pixels.
const HEIGHT: f64 = 320.0;

const ROW: f64 = 26.0;

/// Margins of the area: above for title and legend, below and left for labels.
const TOP: f64 = 64.0;
/// Height of each further line of the legend.
const LEGEND: f64 = 18.0;
const BOTTOM: f64 = 52.0;
const RIGHT: f64 = 24.0;

/// Colours that people with any colour vision can distinguish (Okabe and Ito 2008), for light and dark pages.
const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#333}.t{font-weight:600;font-size:14px}.paper{fill:none}\
.g{stroke:#ddd}.a{stroke:#888}.r{stroke:#888;stroke-dasharray:4 3}\
.l{fill:none;stroke-width:2}.e{stroke-width:1.5}\
.c0{stroke:#0072b2}.f0{fill:#0072b2}.c1{stroke:#d55e00}.f1{fill:#d55e00}\
.c2{stroke:#009e73}.f2{fill:#009e73}.c3{stroke:#cc79a7}.f3{fill:#cc79a7}\
.c4{stroke:#e69f00}.f4{fill:#e69f00}.c5{stroke:#56b4e9}.f5{fill:#56b4e9}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.a,.r{stroke:#999}\
.c0{stroke:#4aa8e0}.f0{fill:#4aa8e0}.c1{stroke:#f08a3c}.f1{fill:#f08a3c}}";

const COLOURS: usize = 6;

#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Includes the unit.
    pub(super) title: String,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) is_log: bool,
}

impl Axis {
    /// An axis that contains all values and begins at zero or below.
    pub(super) fn from_zero(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = ends(values);
        let step = round_step((high.max(0.0) - low.min(0.0)).max(1e-9) / 6.0);
        let title = title.to_owned();
        Self {
            title,
            low: (low.min(0.0) / step).floor() * step,
            high: (high / step).ceil() * step,
            is_log: false,
        }
    }

    /// A logarithmic axis that contains all values, which are above 0.
    pub(super) fn logarithmic(title: &str, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = ends(values.filter(|value| *value > 0.0));
        Self { title: title.to_owned(), low: 0.9 * low, high: 1.1 * high, is_log: true }
    }

    /// A position on the axis, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            let step = round_step((self.high - self.low) / 6.0);
            let (first, last) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9) as i64);
            return (first..=last).map(|number| number as f64 * step).collect();
        }
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let is_wide = self.high > 50.0 * self.low;
        let steps: &[f64] =
            if is_wide { &[1.0, 2.0, 5.0] } else { &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0] };
        let all = (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

/// The smallest and the largest finite value; 0 and 1 without any.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    match finite.is_empty() {
        true => (0.0, 1.0),
        false => (
            finite.iter().copied().fold(f64::INFINITY, f64::min),
            finite.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ),
    }
}

fn shown(value: f64) -> String {
    let text = format!("{value:.4}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A value with its interval, at a position on the other axis or in a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) at: f64,
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

pub(super) fn lines(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    chart(title, x, y, series, true)
}

/// A chart of values over a quantity, without lines between the points.
pub(super) fn points(title: &str, x: &Axis, y: &Axis, series: &[Series]) -> String {
    chart(title, x, y, series, false)
}

fn chart(title: &str, x: &Axis, y: &Axis, series: &[Series], is_joined: bool) -> String {
    let left = 64.0;
    let (mut paper, top) = begun(title, series);
    let (width, bottom) = (WIDTH - left - RIGHT, top + HEIGHT);
    let at_x = |value: f64| left + width * x.share(value);
    let at_y = |value: f64| bottom - HEIGHT * y.share(value);
    for tick in y.ticks() {
        let (at, right) = (at_y(tick), left + width);
        paper.line("g", (left, at), (right, at));
        paper.text((left - 8.0, at + 4.0), Anchor::End, "", &shown(tick));
    }
    for tick in x.ticks() {
        paper.line("a", (at_x(tick), bottom), (at_x(tick), bottom + 5.0));
        paper.text((at_x(tick), bottom + 20.0), Anchor::Middle, "", &shown(tick));
    }
    paper.line("a", (left, bottom), (left + width, bottom));
    paper.text((left + width / 2.0, bottom + 42.0), Anchor::Middle, "", &x.title);
    paper.text((left - 56.0, top - 8.0), Anchor::Start, "", &y.title);
    for (number, series) in series.iter().enumerate() {
        let place = |point: &Point| format!("{:.1} {:.1}", at_x(point.at), at_y(point.value));
        let places: Vec<String> = series.points.iter().map(place).collect();
        if is_joined && !places.is_empty() {
            paper.path(&class("l", number), &format!("M{}", places.join("L")));
        }
        for point in &series.points {
            let at = at_x(point.at);
            paper.line(&class("e", number), (at, at_y(point.low)), (at, at_y(point.high)));
            dot(&mut paper, number, (at, at_y(point.value)), &tooltip(series, point));
        }
    }
    paper.file(bottom + BOTTOM, STYLE, title, &told(series))
}

/// A chart of rows, such as tests: in each of them, values with error bars along a common axis. [`Point::at`] is the
/// number of the row. A dashed line marks each of `rules`.
pub(super) fn rows(
    title: &str,
    names: &[String],
    x: &Axis,
    series: &[Series],
    rules: &[f64],
) -> String {
    let longest = names.iter().map(|name| text_width(name, 12.0)).fold(0.0, f64::max);
    let left = 24.0 + longest;
    let width = WIDTH - left - RIGHT;
    let (mut paper, top) = begun(title, series);
    let bottom = top + ROW * names.len() as f64;
    let at_x = |value: f64| left + width * x.share(value);
    for tick in x.ticks() {
        paper.line("g", (at_x(tick), top), (at_x(tick), bottom));
        paper.text((at_x(tick), bottom + 18.0), Anchor::Middle, "", &shown(tick));
    }
    for rule in rules {
        paper.line("r", (at_x(*rule), top), (at_x(*rule), bottom));
    }
    paper.text((left + width / 2.0, bottom + 40.0), Anchor::Middle, "", &x.title);
    for (row, name) in names.iter().enumerate() {
        let at = (left - 8.0, top + ROW * (row as f64 + 0.5) + 4.0);
        paper.text(at, Anchor::End, "", name);
    }
    let lane = 0.8 * ROW / series.len().max(1) as f64;
    for (number, series) in series.iter().enumerate() {
        for point in &series.points {
            let at = top + ROW * (point.at + 0.1) + lane * (number as f64 + 0.5);
            paper.line(&class("e", number), (at_x(point.low), at), (at_x(point.high), at));
            dot(&mut paper, number, (at_x(point.value), at), &tooltip(series, point));
        }
    }
    paper.file(bottom + BOTTOM, STYLE, title, &told(series))
}

fn told(series: &[Series]) -> String {
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    names.join("; ")
}

fn class(mark: &str, series: usize) -> String {
    format!("{mark} c{}", series % COLOURS)
}

fn tooltip(series: &Series, point: &Point) -> String {
    format!("{}: {} [{}, {}]", series.name, shown(point.value), shown(point.low), shown(point.high))
}

/// The beginning of a chart: its title and its legend. Returns the upper end of the area below them.
fn begun(title: &str, series: &[Series]) -> (Paper, f64) {
    let mut paper = Paper::new(WIDTH);
    paper.text((8.0, 20.0), Anchor::Start, "t", title);
    let (mut x, mut y) = (8.0, 36.0);
    for (number, series) in series.iter().enumerate() {
        let width = 30.0 + text_width(&series.name, 12.0);
        if x + width > WIDTH && x > 8.0 {
            (x, y) = (8.0, y + LEGEND);
        }
        if !series.name.is_empty() {
            dot(&mut paper, number, (x + 4.0, y), &series.name);
            paper.text((x + 13.0, y + 4.0), Anchor::Start, "", &series.name);
        }
        x += width;
    }
    (paper, y - 36.0 + TOP)
}

fn dot(paper: &mut Paper, series: usize, at: (f64, f64), words: &str) {
    let class = format!("f{}", series % COLOURS);
    paper.with_title(words, |paper| paper.circle(&class, at, 3.5));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str) -> Series {
        let point = |at: f64| Point { at, value: at, low: 0.5 * at, high: 2.0 * at };
        Series { name: name.to_owned(), points: [1.0, 5.0, 10.0].map(point).into() }
    }

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let axis = Axis::from_zero("%", [0.3, 3.7].into_iter());
        assert_eq!((axis.low, axis.high), (0.0, 4.0));
        assert_eq!(axis.ticks(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        let axis = Axis::logarithmic("min", [2.5, 40.0].into_iter());
        assert_eq!(axis.ticks(), [3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 30.0, 40.0]);
        let below = Axis::from_zero("%", [-1.2, 0.4].into_iter());
        assert!(below.low <= -1.2 && below.high >= 0.4, "{below:?}");
        assert!(Axis::from_zero("%", [].into_iter()).ticks().len() > 3);
    }

    #[test]
    fn charts_hold_every_point_its_bar_and_the_names() {
        let x = Axis::logarithmic("time, minutes", [1.0, 10.0].into_iter());
        let y = Axis::from_zero("half-width, %", [0.0, 20.0].into_iter());
        let svg = lines("a < b", &x, &y, &[series("one"), series("two & more")]);
        assert_eq!(svg.matches("<circle").count(), 2 * 3 + 2);
        assert_eq!(svg.matches("class=\"e c1\"").count(), 3);
        for text in ["a &lt; b", "two &amp; more", "time, minutes", "half-width, %"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let names = [
            "a long name of some quantity, in many words, and then some more of them",
            "another one",
            "the third of them all",
        ];
        let wrapped = lines("", &x, &y, &[series(names[0]), series(names[1]), series(names[2])]);
        assert!(wrapped.contains("cy=\"54.0\"") && !svg.contains("cy=\"54.0\""), "{wrapped}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        let names = ["r1", "r2"].map(str::to_owned);
        let svg = rows("rows", &names, &y, &[series("")], &[5.0]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("class=\"r\"").count(), 1);
    }
}
