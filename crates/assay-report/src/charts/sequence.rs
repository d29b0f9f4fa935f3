//! The relative QPS of a test over studies, in their order.

use assay_model::Estimate;
use assay_svg::{Anchor, Paper, SMALL, fitted, round_step};
use assay_verdict::ComparablePoint;

use super::file::{ChartFile, noted};
use crate::document::Block;
use crate::ratio::{Ratio, label};
use crate::scale::RatioScale;
use crate::words::began;

const WIDTH: f64 = 720.0;

const HEIGHT: f64 = 160.0;

const LABELS: f64 = 44.0;

const NAMES: f64 = 84.0;

const EDGE: f64 = 14.0;

const TALL: f64 = EDGE + HEIGHT + NAMES;

/// Space above and below the values, as a share of their range.
const ROOM: f64 = 0.08;

const APART: f64 = 13.0;

const ANGLE: f64 = -40.0;

/// A value in a sequence of versions.
pub struct SequencePoint<'a> {
    pub version: &'a str,
    pub rqps: Estimate,
    /// Empty if it is not known.
    when: String,
}

impl<'a> From<(&'a str, Estimate)> for SequencePoint<'a> {
    fn from((version, rqps): (&'a str, Estimate)) -> Self {
        Self { version, rqps, when: String::new() }
    }
}

impl<'a> From<&'a ComparablePoint> for SequencePoint<'a> {
    fn from(point: &'a ComparablePoint) -> Self {
        let when = began(point.started_ms, point.is_reported);
        Self { version: &point.version, rqps: point.rqps, when }
    }
}

fn is_drawn(points: &[SequencePoint]) -> bool {
    points.len() > 1 && ends(points).is_some()
}

fn ends_of(point: &SequencePoint) -> [f64; 2] {
    let rqps = point.rqps;
    if rqps.has_interval() { [rqps.low, rqps.high] } else { [rqps.value; 2] }
}

fn ends(points: &[SequencePoint]) -> Option<[f64; 2]> {
    let least = points.iter().map(|it| ends_of(it)[0]).reduce(f64::min)?;
    let most = points.iter().map(|it| ends_of(it)[1]).reduce(f64::max)?;
    let room = ROOM * (most - least).max(0.01);
    Some([least - room, most + room]).filter(|[least, most]| (most - least).is_finite())
}

/// Factor between values above which the scale is logarithmic.
const FAR: f64 = 10.0;

/// Maps values to a share of the chart's height; has the labels of its scale.
struct Axis {
    place: Box<dyn Fn(f64) -> f64>,
    labels: Vec<(f64, String)>,
}

impl Axis {
    fn new(points: &[SequencePoint], [least, most]: [f64; 2]) -> Self {
        let lowest = points.iter().map(|it| it.rqps.value).fold(f64::INFINITY, f64::min);
        if lowest > 0.0 && most > FAR * lowest {
            let values: Vec<Estimate> = points.iter().map(|it| it.rqps).collect();
            let scale = RatioScale::fitting(&values, 0.0);
            let labels = scale.labels(12.0).into_iter().map(|ratio| (ratio, label(ratio)));
            return Self {
                labels: labels.collect(),
                place: Box::new(move |ratio| scale.x(ratio) / 100.0),
            };
        }
        let ratios = labels(least, most);
        let is_fine = |ratio: &f64| (100.0 * ratio - (100.0 * ratio).round()).abs() > 0.01;
        let decimals = if ratios.iter().any(is_fine) { 3 } else { 2 };
        let labels = ratios.into_iter().map(|ratio| (ratio, format!("{ratio:.decimals$}")));
        let place = move |ratio: f64| (ratio - least) / (most - least);
        Self { labels: labels.collect(), place: Box::new(place) }
    }
}

pub struct SequenceChart<'a> {
    pub points: Vec<SequencePoint<'a>>,
    /// Numbers of the values that begin a new level.
    pub changes: Vec<usize>,
    pub note: String,
}

impl SequenceChart<'_> {
    /// `None` if there are too few values to draw.
    pub fn inline(&self) -> Option<Block<'static>> {
        let note = self.note.clone();
        is_drawn(&self.points).then(|| {
            let mut paper = Paper::new(WIDTH);
            draw(&mut paper, (0.0, 0.0), &self.points, &self.changes);
            Block::Drawing { class: "trend", svg: paper.inline(TALL, &note), note }
        })
    }

    /// `notes` precede that of the chart; `values` describe the points.
    pub fn file(
        &self,
        name: String,
        heading: String,
        mut notes: Vec<String>,
        values: &[String],
    ) -> Option<ChartFile> {
        notes.push(self.note.clone());
        is_drawn(&self.points).then(|| {
            noted(name, heading, &notes, (WIDTH, TALL), values, |paper, corner| {
                draw(paper, corner, &self.points, &self.changes);
            })
        })
    }
}

/// `left`, `top` is the corner of the line.
fn draw(paper: &mut Paper, (left, top): (f64, f64), points: &[SequencePoint], changes: &[usize]) {
    let Some(ends) = ends(points) else { return };
    let (left, right, top) = (left + LABELS, left + WIDTH, top + EDGE);
    let axis = Axis::new(points, ends);
    let y = |value: f64| top + HEIGHT * (1.0 - (axis.place)(value));
    for (ratio, label) in &axis.labels {
        let class = if *ratio == 1.0 { "one" } else { "grid" };
        paper.line(class, (left, y(*ratio)), (right, y(*ratio)));
        paper.text((left - 6.0, y(*ratio) + 3.5), Anchor::End, "small", label);
    }
    let step = (right - left) / points.len() as f64;
    let (mut named, mut last) = ("", f64::NEG_INFINITY);
    for (number, point) in points.iter().enumerate() {
        let x = left + (number as f64 + 0.5) * step;
        let [low, high] = ends_of(point).map(y);
        let name = format!("{} {}", point.version, point.when);
        let title = format!("{}: {}", name.trim_end(), Ratio(Some(point.rqps)).value());
        paper.with_title(&title, |paper| {
            if low > high {
                paper.line("span", (x, low), (x, high));
            }
            match changes.contains(&number) {
                true => paper.path(
                    "fill slower",
                    &format!("M{:.1} {:.1}l7-7 7 7-7 7z", x - 7.0, y(point.rqps.value)),
                ),
                false => paper.circle("dot", (x, y(point.rqps.value)), 3.0),
            }
        });
        // A version measured repeatedly is named once.
        if point.version != named && x - last >= APART {
            (named, last) = (point.version, x);
            let at = (x + 3.0, top + HEIGHT + 12.0);
            // A name extends down and to the left, where room may be scarce.
            let room = (NAMES - 16.0) / ANGLE.to_radians().sin().abs();
            let room = room.min((at.0 - left + LABELS) / ANGLE.to_radians().cos());
            paper.turned(at, ANGLE, Anchor::End, "small", &fitted(named, SMALL, room));
        }
    }
}

/// Round ratios between both ends, few enough for their labels.
fn labels(least: f64, most: f64) -> Vec<f64> {
    let step = round_step(((most - least) / 5.0).max(0.001));
    let first = (least / step).ceil();
    let count = ((most / step).floor() - first + 1.0).max(0.0) as u32;
    (0..count).map(|number| (first + f64::from(number)) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_round_and_few() {
        let told = |least, most| -> Vec<String> {
            labels(least, most).iter().map(|it| format!("{it:.2}")).collect()
        };
        assert_eq!(told(0.88, 1.03), ["0.90", "0.95", "1.00"]);
        assert_eq!(told(0.2, 3.1), ["1.00", "2.00", "3.00"]);
        for (least, most) in [(0.994, 1.006), (0.9981, 1.0101), (0.5, 40.0)] {
            assert!((2..=8).contains(&labels(least, most).len()), "{least} {most}");
            assert!(labels(least, most).iter().all(|it| (least..=most).contains(it)));
        }
    }
}
