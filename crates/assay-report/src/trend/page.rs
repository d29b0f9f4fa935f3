//! The page of a trend: a chart and a table for each line.

use askama::Template;
use assay_model::printable_lines;
use assay_verdict::{TrendLine, TrendPoint};

use super::words::{APART, COLUMNS, LEGEND, Trend, answer, changes, is_shift, row, terms};
use crate::html::{STYLE, policy};
use crate::words::sentence;

/// Size of a chart, in its units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 160.0;

/// Space above and below the values, as a part of their range.
const ROOM: f64 = 0.08;

#[derive(Template)]
#[template(path = "trend.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    test: &'a str,
    answer: String,
    apart: Option<String>,
    legend: String,
    columns: [&'static str; 5],
    lines: Vec<Line>,
}

struct Line {
    title: String,
    terms: Vec<String>,
    chart: Option<Chart>,
    rows: Vec<Row>,
    changes: Vec<String>,
}

struct Row {
    cells: [String; 5],
    is_change: bool,
}

/// Values from left to right. The axis does not start at 0.
struct Chart {
    bars: Vec<Bar>,
    /// Height of a ratio of 1, if it lies in the chart.
    one: Option<String>,
    caption: String,
}

/// A value, its interval, and whether it begins a new level.
struct Bar {
    x: String,
    y: String,
    low: String,
    high: String,
    is_change: bool,
    title: String,
}

/// Renders the page.
pub(super) fn render(trend: &Trend<'_>) -> String {
    let page = Page {
        policy: policy(),
        style: STYLE,
        test: trend.test,
        answer: answer(trend),
        apart: (trend.lines.len() > 1).then(|| sentence(APART)),
        legend: sentence(LEGEND),
        columns: COLUMNS,
        lines: trend.lines.iter().map(line).collect(),
    };
    let mut html = page.to_string();
    html.push('\n');
    printable_lines(&html).into_owned()
}

fn line(line: &TrendLine) -> Line {
    let [title, rest @ ..] = terms(line);
    let rows = line.points.iter().enumerate();
    let rows = rows.map(|(at, it)| Row { cells: row(it), is_change: is_shift(line, at) });
    Line {
        title,
        terms: rest.to_vec(),
        chart: chart(line),
        rows: rows.collect(),
        changes: changes(line),
    }
}

/// Both ends of a value's interval, or the value twice.
fn ends(point: &TrendPoint) -> (f64, f64) {
    let rqps = point.rqps;
    if rqps.has_interval() { (rqps.low, rqps.high) } else { (rqps.value, rqps.value) }
}

fn chart(line: &TrendLine) -> Option<Chart> {
    let least = line.points.iter().map(|it| ends(it).0).reduce(f64::min)?;
    let most = line.points.iter().map(|it| ends(it).1).reduce(f64::max)?;
    let room = ROOM * (most - least).max(0.01);
    let (least, most) = (least - room, most + room);
    if line.points.len() < 2 || !(most - least).is_finite() {
        return None;
    }
    let step = WIDTH / line.points.len() as f64;
    let y = |value: f64| format!("{:.1}", HEIGHT * (most - value) / (most - least));
    let bars = line.points.iter().enumerate().map(|(number, point)| {
        let (low, high) = ends(point);
        let [version, when, rqps, ..] = row(point);
        Bar {
            x: format!("{:.1}", (number as f64 + 0.5) * step),
            y: y(point.rqps.value),
            low: y(low),
            high: y(high),
            is_change: is_shift(line, number),
            title: format!("{version}, {when}: {rqps}"),
        }
    });
    Some(Chart {
        bars: bars.collect(),
        one: (least..=most).contains(&1.0).then(|| y(1.0)),
        caption: format!(
            "Relative QPS from {least:.2} to {most:.2} (the axis does not start at 0), in the order of the table; \
             bars are 95 % intervals, and a diamond marks the first value after a change."
        ),
    })
}
